"""Reads hidden layers: h of Eq. 3 is the output of any named layer of any `nn.Module`.

Two names work for every network: `"output"`, its logits, and `"last_hidden"`, what goes into its last layer
(or, where the network has an attribute `hidden_layer`, the output of the layer named there).
"""

from __future__ import annotations

from collections.abc import Collection

from torch import Tensor, nn
from torch.utils.hooks import RemovableHandle

from ngm._spelling import nearest
from ngm.rows import Rows

OUTPUT = "output"
LAST_HIDDEN = "last_hidden"


def tap(network: nn.Module, x: Rows, layers: Collection[str]) -> tuple[Tensor, dict[str, Tensor]]:
    """Runs the network once and reads layers on the way.

    Args:
        network: Maps a batch of inputs to (b, c) logits.
        x: Inputs of b nodes.
        layers: Names out of `layer_names(network)`, `"output"` and `"last_hidden"`.

    Returns:
        (logits (b, c), {name: h (b, d)}); a layer with more than two dimensions is flattened, of a layer that
        returns several things the first counts.
    """
    hidden: dict[str, Tensor] = {}
    handles: list[RemovableHandle] = []
    try:
        for name in layers:
            if name != OUTPUT:
                handles.append(_watch(network, name, hidden))
        logits: Tensor = network(x)
    finally:
        for handle in handles:
            handle.remove()
    if OUTPUT in layers:
        hidden[OUTPUT] = logits.flatten(1)
    missing = sorted(set(layers) - set(hidden))
    if missing:
        raise ValueError(f"layer {missing[0]!r} was not used when the network ran, so it has no h to compare")
    return logits, hidden


def layer_names(network: nn.Module) -> list[str]:
    """Names of all layers in the network, outermost first."""
    return [name for name, _ in network.named_modules() if name]


def check_layer(network: nn.Module, layer: str) -> None:
    """Refuses a layer that the network does not have, and names those it has."""
    names = layer_names(network)
    if layer not in (OUTPUT, LAST_HIDDEN, *names):
        choices = [OUTPUT, LAST_HIDDEN, *(n for n in names if n != OUTPUT)]
        raise ValueError(
            f"network has no layer {layer!r}{nearest(layer, choices)}; its layers are {', '.join(choices)}"
        )
    if layer == LAST_HIDDEN and not hasattr(network, "hidden_layer"):
        _last_layer(network)


def _watch(network: nn.Module, name: str, hidden: dict[str, Tensor]) -> RemovableHandle:
    """Notes h under `name` when the network runs."""

    def note_output(module: nn.Module, inputs: tuple[object, ...], output: object) -> None:
        hidden[name] = _vector(output, name)

    def note_input(module: nn.Module, inputs: tuple[object, ...]) -> None:
        hidden[name] = _vector(inputs, name)

    declared = getattr(network, "hidden_layer", None)
    if name != LAST_HIDDEN:
        return network.get_submodule(name).register_forward_hook(note_output)
    if declared is not None:
        return network.get_submodule(str(declared)).register_forward_hook(note_output)
    return _last_layer(network).register_forward_pre_hook(note_input)


def _last_layer(network: nn.Module) -> nn.Module:
    """The layer with weights of its own that the network lists last."""
    with_parameters: list[nn.Module] = [
        m for _, m in network.named_modules() if any(True for _ in m.parameters(recurse=False))
    ]
    if not with_parameters or with_parameters[-1] is network:
        raise ValueError(
            "network has no layer that could be its last one, so 'last_hidden' means nothing; "
            f"name the layer to compare: {', '.join([OUTPUT, *layer_names(network)])}"
        )
    return with_parameters[-1]


def _vector(value: object, name: str) -> Tensor:
    while isinstance(value, tuple | list) and value:
        value = value[0]
    if not isinstance(value, Tensor):
        raise ValueError(f"layer {name!r} gives a {type(value).__name__}, not a tensor; choose another layer")
    return value.flatten(1)
