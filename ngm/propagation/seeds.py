"""What label propagation starts from: seeds, prior, and the shares in which a node takes from each (Eq. 2)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm._arguments import as_array
from ngm.propagation.compact_rows import CompactShares
from ngm.propagation.kernel import Shares, scale_rows
from ngm.targets import TaskName, encode_classes

_ROWS_AT_ONCE = 1 << 16  # of labels and prior


@dataclass(frozen=True, eq=False)
class Seeds:
    """Known labels.

    Args:
        values: (n, C) sparse float32 label distributions, or zeros and ones; empty rows where unlabelled.
        labeled: (n,) mask.
        task: See `Encoded`.
        classes: (C,) what the columns stand for.
    """

    values: sp.csr_array
    labeled: NDArray[np.bool_]
    task: TaskName
    classes: NDArray[np.generic]

    @property
    def missing(self) -> NDArray[np.generic]:
        """Classes that no seed has."""
        unseen: NDArray[np.generic] = self.classes[np.asarray(self.values.sum(axis=0)).ravel() == 0]
        return unseen


def read_seeds(y: ArrayLike | sp.csr_array, rows: int) -> Seeds:
    """Reads y as `encode_classes` does, or sparse (n, L), where rows without an entry are unlabelled."""
    if sp.issparse(y):
        return _sparse_seeds(sp.csr_array(y, dtype=np.float32), rows)
    encoded = encode_classes(cast(ArrayLike, y), rows)
    return encoded_seeds(encoded.targets, encoded.labeled, encoded.task, encoded.classes)


def encoded_seeds(targets: Tensor, labeled: Tensor, task: TaskName, classes: NDArray[np.generic]) -> Seeds:
    """Seeds of labels that are encoded already.

    Args:
        targets: (n,) class numbers, or (n, C) shares, or zeros and ones.
        labeled: (n,) mask.
        task: See `Encoded`.
        classes: (C,) what the columns stand for.
    """
    mask = labeled.numpy()
    if task != "classes":
        return Seeds(sp.csr_array(targets.numpy()), mask, task, classes)
    ids = np.flatnonzero(mask)
    entries = np.ones(len(ids), dtype=np.float32), (ids, targets.numpy()[ids])
    return Seeds(sp.csr_array(entries, shape=(len(mask), len(classes))), mask, "classes", classes)


def _sparse_seeds(y: sp.csr_array, rows: int) -> Seeds:
    if y.shape[0] != rows:
        raise ValueError(f"y has {y.shape[0]} rows for {rows} nodes; give a row per node, empty where unlabelled")
    labeled = np.diff(y.indptr) > 0
    if not labeled.any():
        raise ValueError(f"none of the {rows} rows of y has an entry, so none is labelled; label some")
    sums = np.asarray(y.sum(axis=1)).ravel()
    off_one = labeled & ~(np.abs(sums - 1) <= 1e-3)  # true of NaN as well
    if not off_one.any() and not (y.data < 0).any():
        return Seeds(y, labeled, "soft", np.arange(y.shape[1]))
    if not np.isin(y.data, (0, 1)).all():
        negative_rows = np.repeat(np.arange(rows), np.diff(y.indptr))[y.data < 0]  # rows with an entry below 0
        row = int(negative_rows[0]) if len(negative_rows) else int(np.flatnonzero(off_one)[0])
        entries = [round(float(e), 3) for e in y.data[y.indptr[row] : y.indptr[row + 1]][:6]]
        raise ValueError(
            f"row {row} of y has entries {entries}; give ones (several labels) or shares that add up to 1 (soft labels)"
        )
    return Seeds(y, labeled, "labels", np.arange(y.shape[1]))


def read_prior(prior: ArrayLike | None, seeds: Seeds) -> NDArray[np.float32]:
    """U as (C,) or (n, C): as given; else uniform or, for several labels per row, how frequent each is."""
    nodes, num_classes = seeds.values.shape
    if prior is None:
        if seeds.task == "labels":
            frequency: NDArray[np.float32] = np.asarray(seeds.values.sum(axis=0), dtype=np.float32).ravel()
            return frequency / np.float32(seeds.labeled.sum())
        return np.full(num_classes, 1 / num_classes, dtype=np.float32)
    shares = as_array("prior", prior, "give a share for each class")
    if shares.dtype.kind not in "iufb":
        raise ValueError(f"prior holds {shares.dtype}, not numbers; give a share for each class")
    values = shares.astype(np.float32)
    if values.shape not in ((num_classes,), (nodes, num_classes)):
        raise ValueError(
            f"prior has shape {values.shape}; give ({num_classes},) or ({nodes}, {num_classes}): a share for each of "
            f"the {num_classes} classes of y"
        )
    rows = np.atleast_2d(values)
    is_invalid = ((rows < 0) | (rows > 1 + 1e-3) | ~np.isfinite(rows)).any(axis=1)
    if seeds.task != "labels":
        is_invalid |= ~(np.abs(rows.sum(axis=1) - 1) <= 1e-3)
    if is_invalid.any():
        row = int(is_invalid.argmax())
        listed = ", ".join(f"{share:.3g}" for share in rows[row][:6])
        raise ValueError(f"row {row} of prior is [{listed}]; it must hold shares of classes, which add up to 1")
    return values


@dataclass(frozen=True, eq=False)
class Pulls:
    """In which shares a node takes from its neighbours, its label and the prior; the three add up to 1.

    Args:
        total: (n,) sum of all that pulls at each node.
        inverse: (n,) one over it; 0 where nothing is taken from neighbours.
        label_share: (n,) what it takes from its label.
        prior_share: (n,) what it takes from the prior.
        fixed: (n,) nodes that take nothing from neighbours.
    """

    total: NDArray[np.float64]
    inverse: NDArray[np.float64]
    label_share: NDArray[np.floating]
    prior_share: NDArray[np.floating]
    fixed: NDArray[np.bool_]

    def anchor_and_start(self, values: sp.csr_array, prior: NDArray[np.float32]) -> tuple[Tensor, Tensor]:
        """((n, C) what each node adds of its own, (n, C) where the solver starts).

        Args:
            values: (n, C) labels of the seeds.
            prior: (C,) or (n, C).
        """
        anchor = Anchor(self, values, prior).rows(0, len(self.fixed))
        start = np.broadcast_to(prior, anchor.shape).copy()
        start[self.fixed] = anchor[self.fixed]
        return torch.from_numpy(anchor), torch.from_numpy(start)


@dataclass(frozen=True, eq=False)
class Anchor:
    """What each node adds of its own, a few rows at a time: see `RowAnchor`.

    Args:
        pulls: In which shares a node takes from its label and the prior.
        values: (n, C) labels of the seeds.
        prior: (C,) or (n, C).
    """

    pulls: Pulls
    values: sp.csr_array
    prior: NDArray[np.float32]

    @property
    def dtype(self) -> torch.dtype:
        """Of the numbers."""
        return torch.float64 if self.pulls.label_share.dtype == np.float64 else torch.float32

    def rows(self, first: int, last: int) -> NDArray[np.floating]:
        """(last - first, C) of some nodes."""
        own = slice(first, last)
        prior = self.prior if self.prior.ndim == 1 else self.prior[own]
        labels = self.pulls.label_share[own, None] * self.values[own].toarray()
        anchor: NDArray[np.floating] = labels + self.pulls.prior_share[own, None] * prior
        return anchor

    def add_to(self, z: Tensor) -> Tensor:
        """(n, C) z with all rows added, in place."""
        for first in range(0, len(z), _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, len(z))
            z[first:last] += torch.from_numpy(self.rows(first, last))
        return z

    def start(self) -> Tensor:
        """(n, C) where the solver starts: at the prior, or at the anchor where nothing comes from neighbours."""
        start = np.empty(self.values.shape, dtype=np.float32)
        start[:] = self.prior
        for first in range(0, len(start), _ROWS_AT_ONCE):
            last = min(first + _ROWS_AT_ONCE, len(start))
            fixed = np.flatnonzero(self.pulls.fixed[first:last])
            start[first + fixed] = self.rows(first, last)[fixed]
        return torch.from_numpy(start)


@dataclass(frozen=True, eq=False)
class PropagationSystem:
    """Eq. 2's Jacobi step: Y^ = shares @ Y^ + label_share * Y + prior_share * U.

    Args:
        shares: (n, n) what each node takes from its neighbours.
        pulls: What it takes from its label and from the prior.
    """

    shares: Shares | CompactShares
    pulls: Pulls

    def anchor_and_start(self, values: sp.csr_array, prior: NDArray[np.float32]) -> tuple[Tensor | Anchor, Tensor]:
        """(what each node adds of its own, (n, C) where the solver starts); see `Pulls.anchor_and_start`."""
        if isinstance(self.shares, Shares):
            return self.pulls.anchor_and_start(values, prior)
        anchor = Anchor(self.pulls, values, prior)
        return anchor, anchor.start()


def system(
    weight: sp.csr_array, labeled: NDArray[np.bool_], reached: NDArray[np.bool_], mu1: float, mu3: float
) -> PropagationSystem:
    """Divides what pulls at each node by their sum.

    Args:
        weight: (n, n) pull of each node (column) on each (row), mu2 included; what comes out has its type.
        labeled: (n,) mask.
        reached: (n,) mask of the nodes that labels can reach; where mu3 = 0, the others stay at the prior.
        mu1: Pull of a label; infinite ones leave nothing to the neighbours.
        mu3: Pull of the prior.
    """
    sums = np.asarray(weight.sum(axis=1), dtype=np.float64).ravel()
    pulls = divide_pulls(sums, labeled, reached, mu1, mu3, weight.dtype)
    return PropagationSystem(Shares(scale_rows(weight, pulls.inverse), pulls.total), pulls)


def divide_pulls(
    sums: NDArray[np.float64],
    labeled: NDArray[np.bool_],
    reached: NDArray[np.bool_],
    mu1: float,
    mu3: float,
    dtype: np.dtype[np.floating],
) -> Pulls:
    """The same without the neighbours themselves.

    Args:
        sums: (n,) pull of all neighbours of each node together, mu2 included.
        labeled: As for `system`, like the next three.
        reached: Likewise.
        mu1: Likewise.
        mu3: Likewise.
        dtype: Of the shares.
    """
    clamped = labeled & (mu1 == math.inf)
    unreached = ~reached & (mu3 == 0)
    total = np.where(labeled & ~clamped, mu1 if mu1 < math.inf else 0.0, 0.0) + sums + mu3
    total[clamped | unreached | (total == 0)] = 1.0
    inverse = np.where(clamped | unreached, 0.0, 1 / total)
    label_share = np.where(clamped, 1.0, np.where(labeled, mu1 if mu1 < math.inf else 0.0, 0.0) * inverse)
    prior_share = np.where(unreached, 1.0, mu3 * inverse)
    fixed = (inverse == 0) | (sums == 0)
    return Pulls(total, inverse, label_share.astype(dtype), prior_share.astype(dtype), fixed)


def reached_by(labeled: NDArray[np.bool_], weight: sp.csr_array) -> NDArray[np.bool_]:
    """(n,) mask of the nodes to which some label can find its way.

    Args:
        labeled: (n,) mask.
        weight: (n, n) pull of each node (column) on each (row).
    """
    n = len(labeled)
    pulling = sp.csr_array((weight.data > 0, weight.indices, weight.indptr), shape=weight.shape)
    source = sp.csr_array(labeled[:, None].astype(bool))  # one more node, which pulls at every seed
    flow = sp.vstack([sp.hstack([pulling, source]), sp.csr_array((1, n + 1), dtype=bool)], format="csr").T.tocsr()
    flow.eliminate_zeros()
    visited = sp.csgraph.breadth_first_order(flow.astype(np.float32), n, return_predecessors=False)
    mask = np.zeros(n + 1, dtype=bool)
    mask[visited] = True
    return mask[:n]
