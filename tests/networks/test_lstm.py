"""The recurrent network: equal to `nn.LSTM` run on one unpadded text at a time, forwards and backwards."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from ngm.networks.lstm import LSTMModule, _Recurrence
from ngm.networks.tap import tap
from ngm.text.tokens import Vocabulary

LENGTHS = [3, 1, 7, 7, 2, 5, 1]
depths = pytest.mark.parametrize("layers", [1, 2, 3], ids=["layers1", "layers2", "layers3"])


def seeded_lstm(layers: int = 2, dropout: float = 0.0) -> LSTMModule:
    """Twelve words, six wide, to three logits; its biases are drawn, so that each of them shows."""
    with torch.random.fork_rng():
        torch.manual_seed(0)
        network = LSTMModule(12, 3, width=6, hidden=5, layers=layers, dropout=dropout).double()
        for _, _, *biases in network.hidden.all_weights:
            for bias in biases:
                nn.init.normal_(bias)
    return network


def texts(lengths: list[int] = LENGTHS) -> list[Tensor]:
    generator = torch.Generator().manual_seed(1)
    return [torch.randint(1, 12, (length,), generator=generator) for length in lengths]


def padded(rows: list[Tensor], more: int = 0) -> Tensor:
    width = max(map(len, rows)) + more
    return torch.stack([torch.cat([row, row.new_zeros(width - len(row))]) for row in rows])


def plain(network: LSTMModule, layers: int) -> nn.LSTM:
    """A network of torch with the same weights."""
    other = nn.LSTM(6, 5, layers, batch_first=True).double()
    other.load_state_dict(network.hidden.state_dict())
    return other


def one_at_a_time(network: LSTMModule, layers: int) -> tuple[Tensor, list[Tensor]]:
    """(h (n, 5), gradients of the sum of squares of the logits): torch's own loop, no padding, one text after another.

    The gradients are those of the recurrent weights, then that of the table of words.
    """
    other = plain(network, layers)
    table = network.words.weight.detach().clone().requires_grad_()
    h = torch.cat([other(table[row][None])[0][:, -1] for row in texts()])
    network.output(h).square().sum().backward()
    gradients = [p.grad for p in (*other.parameters(), table)]
    return h.detach(), [g for g in gradients if g is not None]


@depths
def test_a_padded_batch_equals_each_text_alone_in_value_and_gradient(layers: int) -> None:
    network = seeded_lstm(layers)
    h, gradients = one_at_a_time(network, layers)
    logits, hidden = tap(network, padded(texts()), ["last_hidden"])
    torch.testing.assert_close(hidden["last_hidden"], h, atol=1e-12, rtol=0)
    torch.testing.assert_close(logits, network.output(h), atol=1e-12, rtol=0)
    network.zero_grad()
    logits.square().sum().backward()
    found = [p.grad for p in (*network.hidden.parameters(), network.words.weight)]
    assert len(found) == len(gradients) == 4 * layers + 1
    torch.testing.assert_close(found, gradients, atol=1e-10, rtol=0)


@depths
def test_without_gradients_the_outputs_are_the_same(layers: int) -> None:
    network, x = seeded_lstm(layers).float(), padded(texts())
    with torch.inference_mode():
        found = network(x)
    torch.testing.assert_close(found, network(x).detach(), atol=1e-6, rtol=0)
    alone = torch.cat([network(row[None]) for row in texts()])
    torch.testing.assert_close(found, alone.detach(), atol=1e-6, rtol=0)


def test_the_state_follows_the_equations_of_long_short_term_memory() -> None:
    network, row = seeded_lstm(layers=1), texts()[2]
    weight = {name: p.detach().numpy() for name, p in network.named_parameters()}

    def sigmoid(z: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-z))

    h = c = np.zeros(5)
    for token in row.tolist():
        z = weight["hidden.weight_ih_l0"] @ weight["words.weight"][token] + weight["hidden.bias_ih_l0"]
        z = z + weight["hidden.weight_hh_l0"] @ h + weight["hidden.bias_hh_l0"]
        i, f, g, o = sigmoid(z[:5]), sigmoid(z[5:10]), np.tanh(z[10:15]), sigmoid(z[15:])
        c = f * c + i * g
        h = o * np.tanh(c)
    expected = weight["output.weight"] @ h + weight["output.bias"]
    np.testing.assert_allclose(network(row[None])[0].detach().numpy(), expected, rtol=1e-12)


def test_gradients_are_those_of_small_differences() -> None:
    network, x = seeded_lstm(), padded(texts())
    embedded = network.words.weight.detach().clone().requires_grad_()

    def logits(table: Tensor) -> Tensor:
        return torch.func.functional_call(network, {"words.weight": table}, (x,))

    assert torch.autograd.gradcheck(logits, (embedded,), eps=1e-6, atol=1e-7)


def test_the_way_back_leaves_the_gradient_that_comes_in_as_it_was() -> None:
    inward = torch.ones(5, 8, requires_grad=True)
    states = _Recurrence.apply(inward, torch.ones(8, 2), [2, 2, 1])
    gradient = torch.ones(5, 2)
    assert torch.autograd.grad(states, inward, gradient)[0].any()
    assert torch.equal(gradient, torch.ones(5, 2))


def test_more_padding_changes_nothing() -> None:
    network = seeded_lstm()
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            assert torch.equal(network(padded(texts(), more=9)), network(padded(texts())))


def test_a_batch_in_any_order_gives_the_same_rows() -> None:
    network, x = seeded_lstm(), padded(texts())
    order = torch.tensor([4, 0, 6, 3, 1, 5, 2])
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            torch.testing.assert_close(network(x[order]), network(x)[order], atol=1e-12, rtol=0)


@pytest.mark.parametrize("dtype", [torch.uint8, torch.int16, torch.int32, torch.int64], ids=str)
def test_tokens_may_be_whole_numbers_of_any_type(dtype: torch.dtype) -> None:
    network, x = seeded_lstm(), padded(texts())
    assert torch.equal(network(x.to(dtype)), network(x))
    with torch.no_grad():
        assert torch.equal(network(x.to(dtype)), network(x))


def test_tokens_beyond_a_byte_are_told_apart() -> None:
    network = LSTMModule(400, 2, width=4, hidden=3)
    assert not torch.equal(network(torch.tensor([[300]])), network(torch.tensor([[300 - 256]])))


def test_the_order_of_the_words_counts() -> None:
    network = seeded_lstm()
    assert not torch.allclose(network(torch.tensor([[2, 3, 4]])), network(torch.tensor([[4, 3, 2]])))


def test_a_row_of_padding_alone_is_one_blank() -> None:
    network = seeded_lstm()
    blank = plain(network, 2)(torch.zeros(1, 1, 6, dtype=torch.float64))[0][:, -1]
    x = padded([torch.zeros(0, dtype=torch.int64), *texts()])
    for mode in (torch.enable_grad, torch.no_grad):
        with mode():
            torch.testing.assert_close(network(x)[:1], network.output(blank), atol=1e-12, rtol=0)
            torch.testing.assert_close(network(x)[1:], network(x[1:]), atol=1e-12, rtol=0)


def test_no_rows_give_no_logits_and_no_gradient() -> None:
    network = seeded_lstm()
    logits, hidden = tap(network, torch.zeros(0, 1, dtype=torch.int32), ["last_hidden"])
    assert (logits.shape, hidden["last_hidden"].shape) == ((0, 3), (0, 5))
    logits.sum().backward()
    assert all(p.grad is None or not p.grad.any() for p in network.parameters())


def test_the_padding_row_stays_zero_while_training() -> None:
    network = seeded_lstm()
    steps = torch.optim.Adam(network.parameters(), lr=0.1, weight_decay=0.1)
    x = padded([torch.zeros(0, dtype=torch.int64), *texts()])
    for _ in range(3):
        steps.zero_grad()
        network(x).square().sum().backward()
        assert network.words.weight.grad is not None
        assert network.words.weight.grad[0].tolist() == [0.0] * 6
        assert network.words.weight.grad[1:].any()
        steps.step()
    assert network.words.weight[0].tolist() == [0.0] * 6


def test_training_twice_gives_the_same_bits() -> None:
    found = []
    for _ in range(2):
        network = seeded_lstm(dropout=0.3).float()
        steps = torch.optim.Adam(network.parameters(), lr=0.01)
        with torch.random.fork_rng():
            torch.manual_seed(5)
            for _ in range(4):
                steps.zero_grad()
                network(padded(texts())).square().sum().backward()
                steps.step()
        found.append(network.state_dict())
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])


def test_the_default_is_the_papers_two_layers_of_a_hundred() -> None:
    per_layer = 4 * 100 * (100 + 100 + 2)  # four gates; weights from below and from before, and two biases
    assert sum(p.numel() for p in LSTMModule(50, 20).parameters()) == 50 * 100 + 2 * per_layer + 101 * 20


def test_biases_start_at_zero_but_for_the_gate_that_keeps_the_cell() -> None:
    parts = LSTMModule(12, 3).hidden.all_weights
    for _, _, bias, other in parts:
        assert (bias + other).tolist() == [0.0] * 100 + [1.0] * 100 + [0.0] * 200
    weights = [weight for part in parts for weight in part[:2]]
    assert [round(weight.detach().abs().max().item(), 3) for weight in weights] == [0.1] * 4  # 1 / sqrt(100)


# Dropout


def test_dropout_acts_in_training_only_and_after_h() -> None:
    x = padded(texts())
    expected = seeded_lstm()(x)
    network = seeded_lstm(dropout=0.5)
    torch.testing.assert_close(network.eval()(x), expected)
    network.train()
    torch.manual_seed(0)
    logits, hidden = tap(network, x, ["last_hidden"])
    assert not torch.allclose(logits, expected)
    assert bool((hidden["last_hidden"] != 0).all())  # no unit of h itself is dropped
    assert not torch.allclose(logits, network.output(hidden["last_hidden"]))


@depths
def test_with_all_dropped_only_the_way_through_time_is_left(layers: int) -> None:
    network = seeded_lstm(layers, dropout=1.0).train()
    logits, hidden = tap(network, padded(texts()), ["last_hidden"])
    torch.testing.assert_close(logits, network.output.bias.expand(len(LENGTHS), -1))
    top = nn.LSTM(6 if layers == 1 else 5, 5).double()  # gets nothing but zeros, from the words or from the layer below
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    top.load_state_dict({f"{name}_l0": getattr(network.hidden, f"{name}_l{layers - 1}") for name in names})
    states = top(torch.zeros(7, 1, top.input_size, dtype=torch.float64))[0][:, 0]  # after 1, 2, ... 7 tokens
    torch.testing.assert_close(hidden["last_hidden"], states[torch.tensor(LENGTHS) - 1])


def test_one_layer_drops_without_a_warning() -> None:
    network = seeded_lstm(layers=1, dropout=0.5)
    torch.manual_seed(0)
    assert not torch.allclose(network(padded(texts())), network(padded(texts())))


# Word vectors


def test_the_table_starts_from_the_vectors_given_and_is_its_own() -> None:
    vectors = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    before = vectors.clone()
    network = LSTMModule(12, 3, hidden=5, vectors=vectors)
    assert network.words.weight[0].tolist() == [0.0] * 4  # padding, whatever it is given
    assert torch.equal(network.words.weight[1:], vectors[1:])
    network(padded(texts())).square().sum().backward()
    torch.optim.SGD(network.parameters(), lr=1.0).step()
    assert not torch.equal(network.words.weight[1:], vectors[1:])
    assert torch.equal(vectors, before)


def test_a_table_that_is_not_trained_stays_and_the_rest_learns() -> None:
    vectors = torch.randn(12, 4, generator=torch.Generator().manual_seed(0))
    network = LSTMModule(12, 3, hidden=5, vectors=vectors, train_vectors=False)
    network(padded(texts())).square().sum().backward()
    untrained = [name for name, p in network.named_parameters() if p.grad is None]
    assert untrained == ["words.weight"]
    assert "words.weight" in network.state_dict()  # so that a run folder holds it


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: LSTMModule(12, 3, vectors=torch.ones(11, 4)),
            "vectors has shape (11, 4), num_words is 12; give a row per word",
        ),
        (
            lambda: LSTMModule(12, 3, vectors=torch.ones(12)),
            "vectors has shape (12,), num_words is 12; give a row per word",
        ),
        (
            lambda: LSTMModule(12, 3, width=100, vectors=torch.ones(12, 50)),
            "the word vectors are 50 wide, not 100; give vectors 100 wide",
        ),
        (
            lambda: LSTMModule(12, 3, train_vectors=False),
            "train_vectors is False and no vectors are given; give vectors, or train them",
        ),
    ],
)
def test_vectors_that_do_not_fit_are_refused(make: Callable[[], object], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        make()


def test_fractions_are_no_tokens() -> None:
    with pytest.raises(TypeError, match=r"^x is torch.float32; give whole numbers, as Vocabulary.read does$"):
        seeded_lstm()(torch.ones(2, 3))


# With the rest


def test_texts_go_from_the_vocabulary_into_the_network() -> None:
    said = ["Is it?", "It is!", "", "no"]
    vocabulary = Vocabulary.of(said[:2])
    network = LSTMModule(len(vocabulary), 2, width=4, hidden=3)
    rows = vocabulary.read(said)
    together = network(rows[torch.arange(4)])
    alone = torch.cat([network(rows[[i]]) for i in range(4)])
    torch.testing.assert_close(together, alone, atol=1e-6, rtol=0)
    torch.testing.assert_close(together[2], together[3])  # nothing and an unknown word are both one unknown token


def test_bfloat16_is_close_to_full_precision() -> None:
    network, x = seeded_lstm().float(), padded(texts())
    expected = network(x)
    with torch.autocast("cpu", torch.bfloat16):
        found = network(x)
    torch.testing.assert_close(found.float(), expected, atol=0.02, rtol=0)
    found.float().square().sum().backward()
    with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
        torch.testing.assert_close(network(x).float(), expected, atol=0.02, rtol=0)


def test_a_copy_has_the_same_outputs() -> None:
    network, x = seeded_lstm(), padded(texts())
    assert torch.equal(copy.deepcopy(network)(x), network(x))
