"""The paper's feed-forward network, and hidden layers read off any network."""

from __future__ import annotations

import re
from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from ngm.networks import FFNN, NETWORKS, FFNNModule
from ngm.networks.tap import check_layer, layer_names, tap
from ngm.rows import take_rows


def seeded_ffnn(hidden: tuple[int, ...], dropout: float = 0.0, input_dropout: float = 0.0) -> FFNNModule:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return FFNNModule(12, 3, hidden, dropout, input_dropout).double()


def inputs(rows: int = 6) -> tuple[Tensor, Tensor]:
    """The same (rows, 12) numbers, dense and as sparse rows; row 1 is empty."""
    rng = np.random.default_rng(0)
    x = np.where(rng.random((rows, 12)) < 0.4, rng.normal(size=(rows, 12)), 0.0)
    x[1] = 0
    sparse = take_rows(sp.csr_array(x), torch.arange(rows), torch.float64)
    assert isinstance(sparse, Tensor)
    return torch.from_numpy(x), sparse


depths = pytest.mark.parametrize("hidden", [(), (7,), (7, 5, 4)], ids=["depth0", "depth1", "depth3"])


# FFNN


@depths
def test_the_output_is_plain_matrix_algebra(hidden: tuple[int, ...]) -> None:
    network, (x, _) = seeded_ffnn(hidden), inputs()
    weight = {name: p.detach().numpy() for name, p in network.named_parameters()}
    h = x.numpy()
    for i in range(len(hidden)):
        h = np.maximum(h @ weight[f"hidden.{i}.linear.weight"].T + weight[f"hidden.{i}.linear.bias"], 0)
    expected = h @ weight["output.weight"].T + weight["output.bias"]
    np.testing.assert_allclose(network(x).detach().numpy(), expected, rtol=1e-12)


@depths
def test_there_are_as_many_parameters_as_the_widths_say(hidden: tuple[int, ...]) -> None:
    widths = [12, *hidden, 3]
    expected = sum((a + 1) * b for a, b in pairwise(widths))
    assert sum(p.numel() for p in seeded_ffnn(hidden).parameters()) == expected


def test_the_default_is_the_papers_network_on_pubmed() -> None:
    assert sum(p.numel() for p in FFNNModule(500, 3).parameters()) == 501 * 250 + 251 * 100 + 101 * 3
    assert NETWORKS["ffnn"] is FFNN


@depths
def test_sparse_rows_give_the_value_and_gradient_of_dense_rows(hidden: tuple[int, ...]) -> None:
    network = seeded_ffnn(hidden)
    found = []
    for x in inputs():
        network.zero_grad()
        logits = network(x)
        logits.square().sum().backward()
        gradients = [p.grad.clone() for p in network.parameters() if p.grad is not None]
        assert len(gradients) == 2 * (len(hidden) + 1)
        found.append([logits.detach(), *gradients])
    torch.testing.assert_close(found[1], found[0])


def test_no_sparse_rows_give_no_logits() -> None:
    empty = take_rows(sp.csr_array((3, 12)), torch.zeros(0, dtype=torch.int64), torch.float64)
    assert seeded_ffnn((7,))(empty).shape == (0, 3)


@depths
@pytest.mark.parametrize("which", [0, 1], ids=["dense", "sparse"])
def test_dropout_acts_in_training_only(hidden: tuple[int, ...], which: int) -> None:
    x = inputs()[which]
    plain = seeded_ffnn(hidden)(x)
    network = seeded_ffnn(hidden, dropout=0.5, input_dropout=0.5)
    torch.testing.assert_close(network.eval()(x), plain)
    network.train()
    torch.manual_seed(0)
    one, other = network(x), network(x)
    assert not torch.allclose(one, plain)
    assert not torch.allclose(one, other)


class _Seen:
    """What goes into a layer."""

    def __init__(self, layer: nn.Module) -> None:
        self.x = torch.empty(0)
        layer.register_forward_pre_hook(self._note)

    def _note(self, module: nn.Module, args: tuple[Tensor]) -> None:
        self.x = args[0]


@pytest.mark.parametrize("hidden", [(), (7,)], ids=["depth0", "depth1"])
def test_sparse_dropout_drops_stored_entries_and_scales_the_rest(hidden: tuple[int, ...]) -> None:
    network = seeded_ffnn(hidden, input_dropout=0.75).train()
    seen = _Seen(network.hidden[0].linear if hidden else network.output)
    x = torch.ones(400, 12, dtype=torch.float64).tril().to_sparse_csr()
    torch.manual_seed(0)
    network(x)
    assert seen.x.layout == torch.sparse_csr
    values = seen.x.values()
    assert set(values.tolist()) == {0.0, 4.0}  # 1 / (1 - 0.75)
    assert torch.equal(seen.x.col_indices(), x.col_indices())
    assert float((values == 0).double().mean()) == pytest.approx(0.75, abs=0.03)
    assert set(x.values().tolist()) == {1.0}  # the caller's rows are left as they were


def test_rows_of_unit_length_are_what_the_first_layer_gets_dense_and_sparse() -> None:
    network = FFNNModule(4, 2, hidden=(3,), input_scaling="unit_rows").eval()
    plain = FFNNModule(4, 2, hidden=(3,)).eval()
    plain.load_state_dict(network.state_dict())
    x = torch.tensor([[3.0, 0.0, 4.0, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, -2.0, 0.0, 0.0]])
    scaled = torch.tensor([[0.6, 0.0, 0.8, 0.0], [0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 0.0]])
    torch.testing.assert_close(network(x), plain(scaled))
    torch.testing.assert_close(network(x.to_sparse_csr()), plain(scaled))


def test_scaling_rows_leaves_the_inputs_alone() -> None:
    x = torch.tensor([[3.0, 4.0]]).to_sparse_csr()
    FFNNModule(2, 2, hidden=(3,), input_scaling="unit_rows")(x)
    assert x.values().tolist() == [3.0, 4.0]


def test_each_layer_has_its_own_dropout() -> None:
    network = seeded_ffnn((50, 40), dropout=0.5, input_dropout=0.25).train()
    assert [block.dropout.p for block in network.hidden] == [0.25, 0.5]
    assert network.dropout.p == 0.5
    seen = _Seen(network.output)
    _, hidden = tap(network, inputs()[0], ["last_hidden"])
    h = hidden["last_hidden"]
    assert set((seen.x[h > 0] / h[h > 0]).round(decimals=9).tolist()) == {0.0, 2.0}  # h is read before its dropout


# tap


class Branches(nn.Module):
    """A network with a side branch that never runs and an LSTM, on (b, t, 4) sequences."""

    def __init__(self) -> None:
        super().__init__()
        self.lstm = nn.LSTM(4, 5, batch_first=True)
        self.unused = nn.Linear(2, 2)
        self.head = nn.Linear(5, 3)

    def forward(self, x: Tensor) -> Tensor:
        steps, _ = self.lstm(x)
        logits: Tensor = self.head(F.relu(steps[:, -1]))
        return logits


def branches() -> tuple[Branches, Tensor]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return Branches(), torch.randn(6, 7, 4)


def hooks(network: nn.Module) -> int:
    return sum(len(m._forward_hooks) + len(m._forward_pre_hooks) for m in network.modules())


def test_named_layers_are_read_in_the_one_run() -> None:
    network, (x, _) = seeded_ffnn((7, 5)), inputs()
    runs = []
    handle = network.register_forward_hook(lambda *_: runs.append(1))
    logits, hidden = tap(network, x, ["hidden.0", "hidden.1.linear", "output"])
    handle.remove()
    assert len(runs) == 1
    torch.testing.assert_close(logits, network(x))
    assert set(hidden) == {"hidden.0", "hidden.1.linear", "output"}
    torch.testing.assert_close(hidden["hidden.0"], network.hidden[0](x))
    torch.testing.assert_close(hidden["hidden.1.linear"], network.hidden[1].linear(network.hidden[0](x)))
    assert hidden["output"] is logits or torch.equal(hidden["output"], logits)
    assert hooks(network) == 0


def test_no_layers_may_be_asked_for() -> None:
    network, (x, _) = seeded_ffnn((7,)), inputs()
    logits, hidden = tap(network, x, [])
    assert hidden == {}
    torch.testing.assert_close(logits, network(x))


@pytest.mark.parametrize(("hidden", "layer"), [((7,), "hidden.0"), ((7, 5), "hidden.1"), ((), "output")])
def test_last_hidden_is_the_layer_that_the_network_declares(hidden: tuple[int, ...], layer: str) -> None:
    network, (x, _) = seeded_ffnn(hidden), inputs()
    _, found = tap(network, x, ["last_hidden", layer])
    assert network.hidden_layer == layer
    assert torch.equal(found["last_hidden"], found[layer])


def test_last_hidden_is_otherwise_what_goes_into_the_last_layer_with_weights() -> None:
    network = nn.Sequential(nn.Linear(12, 5), nn.Tanh(), nn.Linear(5, 3), nn.LogSoftmax(dim=1)).double()
    x, _ = inputs()
    _, hidden = tap(network, x, ["last_hidden"])
    torch.testing.assert_close(hidden["last_hidden"], torch.tanh(network[0](x)))


def test_gradients_flow_through_what_is_read() -> None:
    network, (x, _) = seeded_ffnn((7, 5)), inputs()
    _, hidden = tap(network, x, ["hidden.0"])
    hidden["hidden.0"].sum().backward()
    assert network.hidden[0].linear.weight.grad is not None
    assert network.hidden[0].linear.weight.grad.abs().sum() > 0
    assert network.hidden[1].linear.weight.grad is None


def test_layers_of_more_dimensions_are_flattened() -> None:
    network = nn.Sequential(nn.Conv1d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(40, 3)).double()
    x = inputs()[0][:, None]
    _, hidden = tap(network, x, ["0", "last_hidden"])
    assert torch.equal(hidden["0"], network[0](x).reshape(6, 40))
    assert hidden["last_hidden"].shape == (6, 40)


def test_logits_of_more_dimensions_are_flattened_as_a_layer_only() -> None:
    logits, hidden = tap(nn.Conv1d(1, 4, 3).double(), inputs()[0][:, None], ["output"])
    assert logits.shape == (6, 4, 10)
    assert torch.equal(hidden["output"], logits.reshape(6, 40))


def test_of_a_layer_that_returns_several_things_the_first_counts() -> None:
    network, x = branches()
    _, hidden = tap(network, x, ["lstm", "last_hidden"])
    steps = network.lstm(x)[0]
    torch.testing.assert_close(hidden["lstm"], steps.reshape(6, 35))
    torch.testing.assert_close(hidden["last_hidden"], F.relu(steps[:, -1]))


def test_a_layer_that_does_not_run_is_an_error() -> None:
    network, x = branches()
    message = r"^layer 'unused' was not used when the network ran, so it has no h to compare$"
    with pytest.raises(ValueError, match=message):
        tap(network, x, ["lstm", "unused"])
    assert hooks(network) == 0


def test_a_layer_that_gives_no_tensor_is_an_error() -> None:
    class Wrapper(nn.Module):
        def forward(self, x: Tensor) -> dict[str, Tensor]:
            return {"x": x}

    class Network(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wrapper = Wrapper()

        def forward(self, x: Tensor) -> Tensor:
            out: Tensor = self.wrapper(x)["x"]
            return out

    network = Network()
    with pytest.raises(ValueError, match=r"^layer 'wrapper' gives a dict, not a tensor; choose another layer$"):
        tap(network, torch.ones(2, 2), ["wrapper"])
    assert hooks(network) == 0


def test_hooks_are_removed_even_if_the_network_fails() -> None:
    network, (x, _) = seeded_ffnn((7,)), inputs()
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        tap(network, x[:, :5], ["hidden.0", "last_hidden"])
    assert hooks(network) == 0


def test_hooks_are_removed_even_if_a_later_layer_is_unknown() -> None:
    network, (x, _) = seeded_ffnn((7,)), inputs()
    with pytest.raises(AttributeError, match="nowhere"):
        tap(network, x, ["hidden.0", "nowhere"])
    assert hooks(network) == 0


def test_layer_names_leave_out_the_network_itself() -> None:
    assert layer_names(branches()[0]) == ["lstm", "unused", "head"]


def test_layers_that_exist_are_accepted() -> None:
    for layer in ("output", "last_hidden", "hidden.0", "hidden.0.linear"):
        check_layer(seeded_ffnn((7,)), layer)
    check_layer(branches()[0], "last_hidden")


def test_an_unknown_layer_is_refused_with_a_guess_and_the_choice() -> None:
    layers = "output, last_hidden, lstm, unused, head"
    message = f"network has no layer 'hed' (did you mean 'head'?); its layers are {layers}"
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_layer(branches()[0], "hed")
    with pytest.raises(ValueError, match=r"its layers are output, last_hidden, hidden, hidden\.0, .*, dropout$"):
        check_layer(seeded_ffnn((7,)), "embedding")  # `output`, a name for every network, is listed once


def test_a_network_without_layers_has_no_last_hidden_one() -> None:
    message = (
        "network has no layer that could be its last one, so 'last_hidden' means nothing; "
        "name the layer to compare: output, 0"
    )
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        check_layer(nn.Sequential(nn.ReLU()), "last_hidden")
    with pytest.raises(ValueError, match=r"^network has no layer that could be its last one"):
        check_layer(nn.Linear(2, 2), "last_hidden")
