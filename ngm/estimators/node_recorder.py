"""Records the nodes before and after training, so that a run folder can tell what became of them."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm.estimators.batch_prediction import in_batches
from ngm.io.node_records import LABELED, MOST, UNLABELED, VALIDATION, NodeRecords, edges_between, kept_nodes, shortened
from ngm.networks.tap import LAST_HIDDEN, OUTPUT, check_layer, tap
from ngm.partition.local_part import LocalPart
from ngm.recipes.problem import Problem
from ngm.rows import Rows, num_rows

MIN_VALIDATION = 1_000  # validation rows given apart that are recorded, however many nodes are


class NodeRecorder:
    """Records up to `ngm.io.node_records.MOST` nodes; made before training, asked after it.

    Of validation rows given apart from the nodes it records as many as there is room for, or `MIN_VALIDATION`.

    Args:
        network: Not trained yet; it is the same object that is trained.
        problem: As it was given, before a recipe changed its targets.
        layer: Layer whose output is h; the last hidden one where None.
        dtype: Of the rows that the network takes.
        device: Where the network is.
        seed: Draws the nodes.
    """

    def __init__(
        self, network: nn.Module, problem: Problem, layer: str | None, dtype: torch.dtype, device: str, seed: int
    ) -> None:
        self.network, self.problem, self.dtype, self.device, self.seed = network, problem, dtype, device, seed
        self.nodes = kept_nodes(problem.graphs, problem.known.numpy(), seed)
        self.layer = _last_layer(network) if layer is None else layer
        self.apart = self._apart()
        self.before = self._outputs()[0]

    def node_records(self) -> NodeRecords:
        """The nodes as they are now, beside what they were."""
        problem, task, held_out = self.problem, self.problem.task, self.problem.held_out
        hidden, outputs = self._outputs()
        ids = torch.from_numpy(self.nodes)
        label = task.target_names(problem.targets[ids])
        label[~problem.known[ids].numpy()] = None
        role = np.full(len(self.nodes), UNLABELED, dtype=object)
        role[problem.known[ids].numpy()] = VALIDATION
        role[held_out.labeled[ids].numpy()] = LABELED
        row, part = self.nodes, problem.part
        if part is not None:
            row = part.nodes[row]
        if len(self.apart):
            count = len(self.apart)
            row = np.concatenate([row, np.full(count, -1)])
            role = np.concatenate([role, np.full(count, VALIDATION, dtype=object)])
            label = np.concatenate([label, task.target_names(held_out.y[self.apart])])
        probability, margin = task.certainty(outputs)
        edges, weight, graph = edges_between(self.nodes, problem.graphs)
        return NodeRecords(
            row=row,
            role=role,
            label=label,
            predicted=task.prediction_names(outputs),
            probability=probability,
            margin=margin,
            hidden=hidden,
            before=self.before,
            edges=edges,
            weight=weight,
            graph=graph,
            num_nodes=num_rows(problem.inputs) if part is None else part.header.num_nodes,
            num_edges=sum(g.num_edges for g in problem.graphs) if part is None else part.header.num_edges,
            ids=None if part is None else _part_ids(part, self.nodes),
            texts=self._texts(),
        )

    def _apart(self) -> Tensor:
        """(a,) validation rows that are no nodes, by their numbers in `held_out`: all, or a sample of them."""
        held_out = self.problem.held_out
        in_graph = held_out.shared or not bool((held_out.labeled == self.problem.known).all())
        if not held_out.any or in_graph:
            return torch.empty(0, dtype=torch.int64)
        count, most = len(held_out.y), max(MIN_VALIDATION, MOST - len(self.nodes))
        some = np.random.default_rng(self.seed).permutation(count)[:most]
        return torch.from_numpy(np.sort(some))

    def _outputs(self) -> tuple[NDArray[np.float32], Tensor]:
        """(h (n, d), outputs (n, c)) of the recorded nodes and, below them, of validation rows that are no nodes."""

        def read(rows: Rows) -> Tensor:
            logits, hidden = tap(self.network, rows, [self.layer])
            return torch.cat([hidden[self.layer], logits], dim=1).float()

        self.network.eval()
        both = in_batches(self.problem.inputs, read, self.dtype, self.device, torch.from_numpy(self.nodes))
        if len(self.apart):
            below = in_batches(self.problem.held_out.x, read, self.dtype, self.device, self.apart)
            both = torch.cat([both, below])
        width = both.shape[1] - self.problem.task.out_features
        return both[:, :width].numpy(), both[:, width:]

    def _texts(self) -> NDArray[np.object_] | None:
        inputs, held_out = self.problem.texts, self.problem.held_out.texts
        if inputs is None:
            return None
        texts = [inputs.strings[node] for node in self.nodes.tolist()]
        if held_out is not None:
            texts += [held_out.strings[row] for row in self.apart.tolist()]
        return np.array([shortened(text) for text in texts], dtype=object)


def _part_ids(part: LocalPart, nodes: NDArray[np.int64]) -> NDArray[np.object_]:
    """What the users call some nodes of a part; their numbers in the whole graph where they have no names."""
    names = (part.nodes if part.ids is None else part.ids)[nodes].tolist()
    return np.array([str(name) for name in names], dtype=object)


def _last_layer(network: nn.Module) -> str:
    """The last hidden layer; the output where the network has no layer that could be its last."""
    try:
        check_layer(network, LAST_HIDDEN)
    except ValueError:
        return OUTPUT
    return LAST_HIDDEN
