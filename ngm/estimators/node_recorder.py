"""Sees the nodes before and after training, so that a run folder can tell what became of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm.estimators.validation import HeldOut
from ngm.graph import Graph
from ngm.io.node_records import LABELED, MOST, UNLABELED, VALIDATION, Evidence, edges_between, kept_nodes, shortened
from ngm.networks.tap import LAST_HIDDEN, OUTPUT, check_layer, tap
from ngm.rows import Inputs, Rows, num_rows
from ngm.text.readers import Texts

if TYPE_CHECKING:
    from ngm.estimators.base import NGMEstimator


LEAST_APART = 1_000  # validation rows given apart that are kept, however many nodes are


class Witness:
    """Looks at up to `ngm.io.node_records.MOST` nodes; made before training, asked after it.

    Of validation rows given apart from the nodes it keeps as many as there is room for, or `LEAST_APART`.

    Args:
        estimator: Its network is new.
        inputs: Rows of all nodes.
        targets: (n, ...) their encoded targets.
        labeled: (n,) mask of those whose target is known, validation rows among them.
        held_out: Validation rows.
        graphs: Graphs over the nodes.
    """

    def __init__(
        self,
        estimator: NGMEstimator,
        inputs: Inputs,
        targets: Tensor,
        labeled: Tensor,
        held_out: HeldOut,
        graphs: Sequence[Graph],
    ) -> None:
        self.estimator, self.inputs, self.graphs = estimator, inputs, graphs
        self.targets, self.labeled, self.held_out = targets, labeled, held_out
        self.nodes = kept_nodes(graphs, labeled.numpy(), estimator.seed)
        self.layer = _layer(estimator)
        self.apart = self._apart()
        self.before = self._seen()[0]

    def evidence(self) -> Evidence:
        """The nodes as they are now, beside what they were."""
        hidden, outputs = self._seen()
        known = torch.from_numpy(self.nodes)
        label = self.estimator._say_targets(self.targets[known])
        label[~self.labeled[known].numpy()] = None
        role = np.full(len(self.nodes), UNLABELED, dtype=object)
        role[self.labeled[known].numpy()] = VALIDATION
        role[self.held_out.labeled[known].numpy()] = LABELED
        row = self.nodes
        if len(self.apart):
            count = len(self.apart)
            row = np.concatenate([row, np.full(count, -1)])
            role = np.concatenate([role, np.full(count, VALIDATION, dtype=object)])
            label = np.concatenate([label, self.estimator._say_targets(self.held_out.y[self.apart])])
        probability, margin = self.estimator._certainty(outputs)
        edges, weight, graph = edges_between(self.nodes, self.graphs)
        return Evidence(
            row=row,
            role=role,
            label=label,
            predicted=self.estimator._say(outputs),
            probability=probability,
            margin=margin,
            hidden=hidden,
            before=self.before,
            edges=edges,
            weight=weight,
            graph=graph,
            num_nodes=num_rows(self.inputs),
            num_edges=sum(graph.num_edges for graph in self.graphs),
            texts=self._texts(),
        )

    def _apart(self) -> Tensor:
        """(a,) validation rows that are no nodes, by their numbers in `held_out`: all, or a sample of them."""
        held_out = self.held_out
        if not held_out.any or not bool((held_out.labeled == self.labeled).all()):
            return torch.empty(0, dtype=torch.int64)
        count, most = len(held_out.y), max(LEAST_APART, MOST - len(self.nodes))
        some = np.random.default_rng(self.estimator.seed).permutation(count)[:most]
        return torch.from_numpy(np.sort(some))

    def _seen(self) -> tuple[NDArray[np.float32], Tensor]:
        """(h (n, d), outputs (n, c)) of the kept nodes and, below them, of validation rows that are no nodes."""

        def read(rows: Rows) -> Tensor:
            logits, hidden = tap(self.estimator.network_, rows, [self.layer])
            return torch.cat([hidden[self.layer], logits], dim=1).float()

        both = self.estimator._batched(self.inputs, read, torch.from_numpy(self.nodes))
        if len(self.apart):
            both = torch.cat([both, self.estimator._batched(self.held_out.x, read, self.apart)])
        width = both.shape[1] - self.estimator._widths[1]
        return both[:, :width].numpy(), both[:, width:]

    def _texts(self) -> NDArray[np.object_] | None:
        if not isinstance(self.inputs, Texts):
            return None
        texts = [self.inputs.strings[node] for node in self.nodes.tolist()]
        if isinstance(self.held_out.x, Texts):
            texts += [self.held_out.x.strings[row] for row in self.apart.tolist()]
        return np.array([shortened(text) for text in texts], dtype=object)


def _layer(estimator: NGMEstimator) -> str:
    """The estimator's layer; the output where the network has no layer that could be its last."""
    if estimator.layer is not None:
        return estimator.layer
    try:
        check_layer(estimator.network_, LAST_HIDDEN)
    except ValueError:
        return OUTPUT
    return LAST_HIDDEN
