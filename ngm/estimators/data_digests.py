"""Which data a run was trained on, as digests in its `config.json`; going on with other data is refused."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from ngm.graph import Graph
from ngm.io.hashing import digest
from ngm.io.run_folder import JSON
from ngm.networks.input_scaling import Table
from ngm.partition.local_part import LocalPart
from ngm.recipes.problem import HeldOut
from ngm.rows import Inputs, num_rows

Ids = NDArray[np.int64]
_PARTS = {
    "x": "other inputs (x)",
    "y": "other labels (y)",
    "validation": "other validation rows",
    "sample_weight": "another sample_weight",
    "thesaurus": "another thesaurus",
    "views": "other views",
}
_REMEDY = "resume with the same data, or train anew: overwrite=True (--overwrite), or another folder"


def data_digests(
    x: Inputs,
    y: tuple[Tensor, Tensor, object],
    held_out: HeldOut,
    sample_weight: ArrayLike | None,
    graphs: Sequence[Graph],
    thesaurus: object,
    recomputed: Collection[str] = (),
    views: Mapping[str, Table] | None = None,
) -> dict[str, JSON]:
    """What `config.json` keeps under `data`.

    Args:
        x: Inputs, a row per node.
        y: (encoded targets (n, ...), (n,) mask of the labelled ones, classes or None).
        held_out: Validation rows.
        sample_weight: (n,) or None.
        graphs: Over the rows.
        thesaurus: As the setting is.
        recomputed: Parts ("x", "graphs") that were made from others that are checked; their last digits may depend on
            the machine, so they are noted but not compared.
        views: Further tables, a row per node in each.
    """
    apart = digest(held_out.x, held_out.y, held_out.labeled) if held_out.any else None
    return {
        "rows": num_rows(x),
        "x": digest(x),
        "y": digest(*y),
        "validation": apart,
        "sample_weight": None if sample_weight is None else digest(np.asarray(sample_weight)),
        "thesaurus": None
        if thesaurus is None
        else digest(Path(thesaurus) if isinstance(thesaurus, str) else thesaurus),
        "graphs": [
            {"edges": g.num_edges, "digest": digest(g.num_nodes, g.directed, g.edges, g.weight)} for g in graphs
        ],
        **({"views": digest(dict(views))} if views else {}),
        "recomputed": cast(JSON, sorted(recomputed)),
    }


def part_digests(part: LocalPart, validation: Ids) -> dict[str, JSON]:
    """The same of a graph in parts, whose digests were made when it was cut.

    Args:
        part: Of this process; has those of the whole.
        validation: (v,) global ids of the nodes to validate on.
    """
    whole = part.header.digests
    return {
        "rows": part.header.num_nodes,
        "x": whole["x"],
        "y": whole["y"],
        "validation": digest(validation) if len(validation) else None,
        "sample_weight": whole["sample_weight"],
        "thesaurus": None,
        "graphs": [{"edges": part.header.num_edges, "digest": whole["graph"]}],
        "recomputed": [],
    }


def check_same_data(before: JSON, now: Mapping[str, JSON], folder: Path) -> None:
    """Refuses data that differs from what the run in the folder was trained on, and says which part of it does.

    Args:
        before: `data` of its `config.json`.
        now: From `data_digests`.
        folder: For messages.
    """
    if not isinstance(before, dict) or "y" not in before:
        warnings.warn(
            f"{folder} was written by a release that kept no digests of its data, so it was not checked that x, y and "
            "graph are the same",
            UserWarning,
            stacklevel=2,
        )
        return
    recomputed = {*cast("list[str]", before.get("recomputed", [])), *cast("list[str]", now["recomputed"])}
    if before["rows"] != now["rows"]:
        raise _refused(folder, f"{before['rows']:,} rows, now there are {now['rows']:,}")
    for name, other in _PARTS.items():
        if before.get(name) != now.get(name) and name not in recomputed:
            raise _refused(folder, other)
    if before["graphs"] != now["graphs"] and "graphs" not in recomputed:
        raise _refused(folder, _other_graph(before["graphs"], cast("list[dict[str, JSON]]", now["graphs"])))


def _other_graph(before: JSON, now: Sequence[Mapping[str, JSON]]) -> str:
    """How the graphs differ, in words."""
    old = cast("list[dict[str, JSON]]", before)
    if len(old) != len(now):
        return f"{len(old)} graphs, now there are {len(now)}"
    which = next(i for i, (a, b) in enumerate(zip(old, now, strict=True)) if a != b)
    name = "graph" if len(now) == 1 else f"graph {which}"
    had, has = old[which]["edges"], now[which]["edges"]
    if had != has:
        return f"a {name} with {had:,} edges, now it has {has:,}"
    return f"another {name} (edges, weights or direction differ)"


def _refused(folder: Path, other: str) -> ValueError:
    return ValueError(f"{folder} was trained on {other}; {_REMEDY}")
