"""Quantisation as Zhang et al. describe it, against a plain loop; ragged rows; texts cut anew in each epoch."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch

from ngm.text.characters import ALPHABET, blank_rows, quantize
from ngm.text.crop_augmentation import CroppedTexts
from ngm.text.ragged import Ragged
from ngm.text.synonym_augmentation import SynonymTexts
from ngm.text.thesaurus import Thesaurus

TEXTS = ["Hello, World!", "", "é ü 漢字 𝄞", "a-b_c\n\t<b>&lt;#36;", "\ud800 lone surrogate", "x" * 50, " "]


def by_a_plain_loop(text: str, length: int) -> list[int]:
    place = {character: code for code, character in enumerate(ALPHABET, start=1)}
    codes = []
    for character in reversed(text):
        if len(codes) == length:
            break
        codes.append(place.get(character.lower(), 0) if character.isascii() else 0)
    return codes


def rows_of(codes: Ragged) -> list[list[int]]:
    return [codes.values[a:b].tolist() for a, b in zip(codes.offsets[:-1], codes.offsets[1:], strict=True)]


def test_the_alphabet_has_70_characters_of_which_the_hyphen_is_there_twice() -> None:
    assert len(ALPHABET) == 70
    assert len(set(ALPHABET)) == 69
    assert quantize(["-"]).values.tolist() == [ALPHABET.rindex("-") + 1]


@pytest.mark.parametrize("length", [1014, 10, 1])
def test_quantisation_equals_a_plain_loop_over_characters(length: int) -> None:
    assert rows_of(quantize(TEXTS, length)) == [by_a_plain_loop(text, length) for text in TEXTS]


def test_many_texts_are_read_as_each_by_itself() -> None:
    many = [f"{i} {'ü' if i % 5000 == 7 else ''}{i % 13 * 'text '}" for i in range(20_000)]  # several pieces
    codes = quantize(many)
    for i in (0, 7, 8191, 8192, 19_999):
        assert codes[[i]].tolist() == quantize([many[i]])[[0]].tolist()


def test_a_text_takes_a_byte_per_character() -> None:
    codes = quantize(TEXTS)
    assert codes.values.dtype == torch.uint8
    assert len(codes.values) == sum(map(len, TEXTS))


def test_more_than_a_hundred_thousand_texts_are_read_in_a_second() -> None:
    texts = ["Wall St. Bears Claw Back Into the Black, say short-sellers. " * 4] * 20_000
    best = min(_seconds(texts) for _ in range(5))
    assert len(texts) / best > 100_000


def _seconds(texts: list[str]) -> float:
    started = time.process_time()
    quantize(texts)
    return time.process_time() - started


def test_texts_without_a_known_character_are_named() -> None:
    assert blank_rows(quantize(TEXTS)).tolist() == [1, 2, 6]


def test_a_length_of_0_is_refused() -> None:
    with pytest.raises(ValueError, match="length is 0; read at least 1 character of a text"):
        quantize(["a"], 0)


def test_ragged_rows_are_padded_to_the_longest_of_those_asked_for() -> None:
    rows = Ragged(torch.tensor([5, 6, 7, 8], dtype=torch.uint8), torch.tensor([0, 3, 3, 4]))
    assert rows[torch.tensor([2, 0])].tolist() == [[8, 0, 0], [5, 6, 7]]
    assert rows[[2]].tolist() == [[8]]
    assert rows[[1]].tolist() == [[0]]
    assert rows[1:].tolist() == [[0], [8]]
    assert rows[[]].shape == (0, 1)
    assert rows[[-1, -3]].tolist() == [[8, 0, 0], [5, 6, 7]]
    assert rows[torch.tensor([False, False, True])].tolist() == [[8]]
    assert rows.take(torch.tensor([-1])).values.tolist() == [8]


def test_ragged_rows_taken_in_another_order_are_the_same_rows() -> None:
    codes = quantize(TEXTS)
    order = torch.tensor([5, 1, 0, 0])
    assert rows_of(codes.take(order)) == [rows_of(codes)[i] for i in order.tolist()]


def test_a_cut_text_is_a_piece_of_the_text_that_lacks_one_end() -> None:
    rows = Ragged(torch.arange(1, 101, dtype=torch.uint8).repeat(200), torch.arange(0, 20_001, 100))
    cut = CroppedTexts(rows, share=0.3, seed=1)
    beginnings = ends = 0
    for i, kept in enumerate(cut.lengths.tolist()):
        found = cut[[i]][0].tolist()
        assert len(found) == kept > 70
        assert found in (list(range(1, kept + 1)), list(range(101 - kept, 101)))
        beginnings += found[0] == 1
        ends += found[-1] == 100
    assert min(beginnings, ends) > 60
    assert abs(np.mean(100 - cut.lengths.numpy()) - 14.5) < 1.5  # evenly between 0 and 30, rounded down


def test_cuts_are_the_same_for_the_same_seed_and_epoch_and_new_in_each_epoch() -> None:
    rows = quantize(["one two three four five six"] * 50)
    first, again = CroppedTexts(rows, 0.5, seed=3), CroppedTexts(rows, 0.5, seed=3)
    again.set_epoch(1)
    assert first.lengths.tolist() != again.lengths.tolist()
    again.set_epoch(0)
    assert torch.equal(first[:], again[:])


def test_without_a_share_to_leave_out_texts_stay_whole() -> None:
    rows = quantize(TEXTS)
    assert torch.equal(CroppedTexts(rows, 0.0)[:], rows[:])


def test_rewritten_texts_can_be_cut(thesaurus: Thesaurus) -> None:
    texts = ["a big house and a big garden"] * 40
    cut = CroppedTexts(SynonymTexts(texts, thesaurus, quantize, seed=0), share=0.0)
    cut.set_epoch(5)
    alone = SynonymTexts(texts, thesaurus, quantize, seed=0)
    alone.set_epoch(5)
    assert torch.equal(cut[:], alone[:])
    assert len(set(cut.lengths.tolist())) > 1


@pytest.mark.parametrize("share", [-0.1, 1.0])
def test_a_share_that_leaves_nothing_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match=f"share is {share}; it must be at least 0 and below 1"):
        CroppedTexts(quantize(["a"]), share)


@pytest.fixture
def thesaurus(tmp_path_factory: pytest.TempPathFactory) -> Thesaurus:
    file = tmp_path_factory.mktemp("words") / "th.dat"
    file.write_text("UTF-8\nbig|1\n(adj)|large|enormous\nhouse|1\n(noun)|home|dwelling\n", encoding="utf-8")
    return Thesaurus.read(file)
