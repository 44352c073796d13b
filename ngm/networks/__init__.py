"""Networks that the paper uses, as specifications with their own settings; any other `nn.Module` works as well.

`FFNN`, `CharCNN` and `LSTM` are what `NGMClassifier(network=...)` takes; the modules that they make are `FFNNModule`,
`CharCNNModule` and `LSTMModule`. Names are imported when they are first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

import ngm.rows  # noqa: F401  keeps torch from saying that sparse rows are in beta

if TYPE_CHECKING:
    from ngm.networks.charcnn import CharCNNModule
    from ngm.networks.ffnn import FFNNModule
    from ngm.networks.lstm import LSTMModule
    from ngm.networks.specifications import FFNN, LSTM, NETWORKS, CharCNN, Network, TextNetwork

__all__ = [
    "FFNN",
    "LSTM",
    "NETWORKS",
    "CharCNN",
    "CharCNNModule",
    "FFNNModule",
    "LSTMModule",
    "Network",
    "TextNetwork",
]
_MODULES = {
    "CharCNNModule": "ngm.networks.charcnn",
    "FFNNModule": "ngm.networks.ffnn",
    "LSTMModule": "ngm.networks.lstm",
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """A public name, imported when it is first asked for."""
        if name not in __all__:
            raise AttributeError(f"module 'ngm.networks' has no attribute {name!r}")
        found = getattr(import_module(_MODULES.get(name, "ngm.networks.specifications")), name)
        globals()[name] = found
        return found
