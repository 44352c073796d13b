"""Did neighbours come closer? Distances of h across edges against random pairs, before and after training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.distances import BETWEEN_OUTPUTS, DISTANCES, symmetrized
from ngm.io.node_records import NodeRecords
from ngm.io.run_folder import JSON
from ngm.report.page import Figure, ReportTable, Section
from ngm.report.plotting import DASHES, PALETTE, axis, percent, round_significant
from ngm.report.run_reader import RunData, edge_kinds

KEY, TITLE = "closer", "Did neighbours come closer?"
_MAX_EDGES = 20_000  # edges looked at
_POINTS = 101  # of a curve
_CHUNK_PAIRS = 4_096  # pairs
KINDS = ("LL", "LU", "UU")


def distances_section(run: RunData) -> Section:
    """Compares by share: how often an edge is shorter than a random pair, whatever the length of h."""
    records = run.nodes
    if not len(records.edges):
        return Section(KEY, TITLE, "There is no edge between recorded nodes, so there is nothing to compare.")
    name, notes = distance_of(run)
    sampled = _sample_edges(records)
    ends, pairs = records.edges[sampled], _random_pairs(records.edges[sampled])
    moments = {"before": records.before, "after": records.hidden}
    edges = {moment: distances(h, ends, name) for moment, h in moments.items()}
    random = {moment: distances(h, pairs, name) for moment, h in moments.items()}
    shorter = {moment: fraction_shorter(edges[moment], random[moment]) for moment in moments}
    ratio = {moment: _ratio(edges[moment], random[moment]) for moment in moments}
    if not np.median(random["after"]) > 0:
        answer = "Unknown: after training all nodes have the same hidden vector. Lower the alphas."
        return Section(KEY, TITLE, answer, notes, verdict="bad")
    came_closer = ratio["after"] < ratio["before"]
    answer = (
        f"{'Yes' if came_closer else 'No'}: the median distance across an edge is {ratio['after']:.2f} of that of a "
        f"random pair after training, and was {ratio['before']:.2f} of it before. An edge is shorter than a random "
        f"pair {percent(shorter['after'])} of the time, before training {percent(shorter['before'])} (50 % if h "
        "knew nothing of the edges)."
    )
    if len(sampled) < len(records.edges):
        notes.append(f"{len(sampled):,} edges of {len(records.edges):,}, drawn at random, were looked at.")
    notes.append(
        "A random pair joins the end of one edge to that of another. Training may lengthen all of h, so the plot "
        "divides by the median of the random pairs of the same moment."
    )
    table = _table(edges, random, edge_kinds(records)[sampled], records.graph[sampled], name)
    clear = came_closer and shorter["after"] >= shorter["before"]  # good news only where both figures say so
    return Section(KEY, TITLE, answer, notes, [_figure(edges, random)], [table], verdict="good" if clear else None)


def distance_of(run: RunData) -> tuple[str, list[str]]:
    """Name of the distance to measure, and a note if it is not the run's own."""
    run_distance = str(run.settings.get("distance"))
    if run_distance not in DISTANCES:
        return "l2", [f"The run's distance is a {run_distance}; l2 is measured here."]
    if run_distance in BETWEEN_OUTPUTS and run.settings.get("layer") is None:
        return "l2", [f"The run's distance, {run_distance}, compares outputs; here it is l2 between hidden vectors."]
    return run_distance, []


def distances(h: NDArray[np.float32], pairs: NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """(m,) distance by name between the rows of h that the (m, 2) pairs name."""
    vectors, distance = torch.from_numpy(np.ascontiguousarray(h)).double(), symmetrized(name)
    chunks = torch.split(torch.from_numpy(np.ascontiguousarray(pairs)), _CHUNK_PAIRS)
    result: NDArray[np.float64] = torch.cat(
        [distance(vectors[chunk[:, 0]], vectors[chunk[:, 1]]) for chunk in chunks]
    ).numpy()
    return result


def fraction_shorter(edges: NDArray[np.float64], random: NDArray[np.float64]) -> float:
    """How often an edge is shorter than a random pair; ties count half.

    >>> fraction_shorter(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    order = np.sort(random)
    longer = len(order) - np.searchsorted(order, edges, side="right")
    equal = len(order) - np.searchsorted(order, edges, side="left") - longer
    return float((longer + 0.5 * equal).mean() / len(order))


def _ratio(edges: NDArray[np.float64], random: NDArray[np.float64]) -> float:
    middle = float(np.median(random))
    return float(np.median(edges)) / middle if middle > 0 else float("nan")


def _sample_edges(records: NodeRecords) -> NDArray[np.int64]:
    if len(records.edges) <= _MAX_EDGES:
        return np.arange(len(records.edges))
    return np.sort(np.random.default_rng(0).choice(len(records.edges), _MAX_EDGES, replace=False))


def _random_pairs(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same ends joined anew, twice over so that few edges give a steady figure too; no node with itself."""
    rng = np.random.default_rng(1)
    shuffled = [np.stack([ends[:, 0], rng.permutation(ends[:, 1])], axis=1) for _ in range(max(2, 2_000 // len(ends)))]
    pairs = np.concatenate(shuffled)[: max(_MAX_EDGES, len(ends))]
    distinct = pairs[pairs[:, 0] != pairs[:, 1]]
    return distinct if len(distinct) else pairs


Moments = dict[str, NDArray[np.float64]]


def _table(
    edges: Moments, random: Moments, kinds: NDArray[np.int64], graph: NDArray[np.int64], name: str
) -> ReportTable:
    """Medians: of all edges, by kind, by graph where there are several, and of random pairs."""
    masks: dict[str, NDArray[np.bool_]] = {"all edges": np.ones(len(kinds), dtype=bool)}
    masks |= {f"edges {kind}": kinds == i for i, kind in enumerate(KINDS)}
    if len(graphs := np.unique(graph)) > 1:
        masks |= {f"graph {g}": graph == g for g in graphs.tolist()}
    rows: list[Sequence[str | int | float | None]] = []
    for name_of_mask, mask in masks.items():
        if mask.any():
            medians = {moment: float(np.median(edges[moment][mask])) for moment in edges}
            shares = {moment: fraction_shorter(edges[moment][mask], random[moment]) for moment in edges}
            middles = medians["before"], medians["after"]
            rows.append([name_of_mask, int(mask.sum()), *middles, percent(shares["before"]), percent(shares["after"])])
    middle = {moment: float(np.median(random[moment])) for moment in random}
    rows.append(["random pairs", len(random["after"]), middle["before"], middle["after"], None, None])
    columns = ("pairs of nodes", "number", "median before", "median after", "shorter before", "shorter after")
    caption = f"Distances ({name}) of hidden vectors, and how often they are shorter than a random pair"
    return ReportTable("closeness", caption, columns, rows, 4)


def _figure(edges: Moments, random: Moments) -> Figure:
    """Four curves: the share of pairs up to a distance."""
    data: list[dict[str, JSON]] = []
    shares = np.linspace(0, 1, _POINTS)
    descriptions = []
    for pair_kind, lengths in (("edges", edges), ("random pairs", random)):
        for moment in ("after", "before"):
            middle = float(np.median(random[moment])) or 1.0
            curve = np.quantile(lengths[moment], shares) / middle
            number = 0 if pair_kind == "edges" else 1
            style: JSON = {
                "color": PALETTE[number],
                "width": 3 if moment == "after" else 2,
                "dash": DASHES[0 if moment == "after" else 2],
            }
            name = f"{pair_kind}, {moment} training"
            data.append(
                {"type": "scatter", "mode": "lines", "name": name, "line": style, "x": round_significant(curve, 4)}
            )
            data[-1]["y"] = round_significant(shares, 3)
            descriptions.append(f"{name}: half below {curve[_POINTS // 2]:.2f}")
    furthest = max(float(np.quantile(edges[m], 0.99) / (np.median(random[m]) or 1.0)) for m in edges)
    x: dict[str, JSON] = {"range": [0, round(max(2.0, min(furthest, 4.0)), 2)]}
    layout: dict[str, JSON] = {
        "xaxis": axis("distance, as a part of the median random pair", x),
        "yaxis": axis("share of the pairs up to there", {"tickformat": ".0%"}),
        "height": 400,
    }
    return Figure(
        "closeness", "Distances across edges and between random pairs", "; ".join(descriptions) + ".", data, layout
    )
