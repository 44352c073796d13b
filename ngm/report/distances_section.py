"""Did neighbours come closer? Distances of h across edges against random pairs, before and after training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray

from ngm.distances import BETWEEN_OUTPUTS, DISTANCES, symmetrized
from ngm.io.node_records import Evidence
from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import DASHES, PALETTE, axis, percent, rounded
from ngm.report.run_reader import Told, edge_kinds

KEY, TITLE = "closer", "Did neighbours come closer?"
_MOST = 20_000  # edges looked at
_POINTS = 101  # of a curve
_AT_ONCE = 4_096  # pairs
KINDS = ("LL", "LU", "UU")


def closer_section(told: Told) -> Section:
    """Compares by share: how often an edge is shorter than a random pair, whatever the length of h."""
    kept = told.nodes
    if not len(kept.edges):
        return Section(KEY, TITLE, "There is no edge between kept nodes, so there is nothing to compare.")
    name, notes = distance_of(told)
    looked_at = _some_edges(kept)
    ends, pairs = kept.edges[looked_at], _random_pairs(kept.edges[looked_at])
    moments = {"before": kept.before, "after": kept.hidden}
    edges = {moment: distances(h, ends, name) for moment, h in moments.items()}
    random = {moment: distances(h, pairs, name) for moment, h in moments.items()}
    shorter = {moment: share_shorter(edges[moment], random[moment]) for moment in moments}
    ratio = {moment: _ratio(edges[moment], random[moment]) for moment in moments}
    if not np.median(random["after"]) > 0:
        answer = "It cannot be told: after training all nodes have the same hidden vector. Lower the alphas."
        return Section(KEY, TITLE, answer, notes, verdict="bad")
    came = ratio["after"] < ratio["before"]
    answer = (
        f"{'Yes' if came else 'No'}: the median distance across an edge is {ratio['after']:.2f} of that of a random "
        f"pair after training, and was {ratio['before']:.2f} of it before. An edge is shorter than a random pair "
        f"{percent(shorter['after'])} of the time, before training {percent(shorter['before'])} (50 % if h "
        "knew nothing of the edges)."
    )
    if len(looked_at) < len(kept.edges):
        notes.append(f"{len(looked_at):,} edges of {len(kept.edges):,}, drawn at random, were looked at.")
    notes.append(
        "A random pair joins the end of one edge to that of another. Training may lengthen all of h, so the plot "
        "divides by the median of the random pairs of the same moment."
    )
    table = _table(edges, random, edge_kinds(kept)[looked_at], kept.graph[looked_at], name)
    clear = came and shorter["after"] >= shorter["before"]  # good news only where both figures say so
    return Section(KEY, TITLE, answer, notes, [_figure(edges, random)], [table], verdict="good" if clear else None)


def distance_of(told: Told) -> tuple[str, list[str]]:
    """Name of the distance to measure kept vectors by, and why where it is not the run's own."""
    own = str(told.settings.get("distance"))
    if own not in DISTANCES:
        return "l2", [f"The run's distance is a {own}; l2 is measured here."]
    if own in BETWEEN_OUTPUTS and told.settings.get("layer") is None:
        return "l2", [f"The run's distance, {own}, compares outputs; here it is l2 between hidden vectors."]
    return own, []


def distances(h: NDArray[np.float32], pairs: NDArray[np.int64], name: str) -> NDArray[np.float64]:
    """(m,) distance by name between the rows of h that the (m, 2) pairs name."""
    vectors, distance = torch.from_numpy(np.ascontiguousarray(h)).double(), symmetrized(name)
    parts = torch.split(torch.from_numpy(np.ascontiguousarray(pairs)), _AT_ONCE)
    found: NDArray[np.float64] = torch.cat(
        [distance(vectors[part[:, 0]], vectors[part[:, 1]]) for part in parts]
    ).numpy()
    return found


def share_shorter(edges: NDArray[np.float64], random: NDArray[np.float64]) -> float:
    """How often an edge is shorter than a random pair; ties count half.

    >>> share_shorter(np.array([1.0, 2.0]), np.array([2.0, 3.0]))
    0.875
    """
    order = np.sort(random)
    longer = len(order) - np.searchsorted(order, edges, side="right")
    equal = len(order) - np.searchsorted(order, edges, side="left") - longer
    return float((longer + 0.5 * equal).mean() / len(order))


def _ratio(edges: NDArray[np.float64], random: NDArray[np.float64]) -> float:
    middle = float(np.median(random))
    return float(np.median(edges)) / middle if middle > 0 else float("nan")


def _some_edges(kept: Evidence) -> NDArray[np.int64]:
    if len(kept.edges) <= _MOST:
        return np.arange(len(kept.edges))
    return np.sort(np.random.default_rng(0).choice(len(kept.edges), _MOST, replace=False))


def _random_pairs(ends: NDArray[np.int64]) -> NDArray[np.int64]:
    """The same ends joined anew, twice over so that few edges give a steady figure too; no node with itself."""
    rng = np.random.default_rng(1)
    drawn = [np.stack([ends[:, 0], rng.permutation(ends[:, 1])], axis=1) for _ in range(max(2, 2_000 // len(ends)))]
    pairs = np.concatenate(drawn)[: max(_MOST, len(ends))]
    apart = pairs[pairs[:, 0] != pairs[:, 1]]
    return apart if len(apart) else pairs


Moments = dict[str, NDArray[np.float64]]


def _table(edges: Moments, random: Moments, kinds: NDArray[np.int64], graph: NDArray[np.int64], name: str) -> Shown:
    """Medians: of all edges, by kind, by graph where there are several, and of random pairs."""
    masks: dict[str, NDArray[np.bool_]] = {"all edges": np.ones(len(kinds), dtype=bool)}
    masks |= {f"edges {kind}": kinds == i for i, kind in enumerate(KINDS)}
    if len(graphs := np.unique(graph)) > 1:
        masks |= {f"graph {g}": graph == g for g in graphs.tolist()}
    rows: list[Sequence[str | int | float | None]] = []
    for words, mask in masks.items():
        if mask.any():
            medians = {moment: float(np.median(edges[moment][mask])) for moment in edges}
            shares = {moment: share_shorter(edges[moment][mask], random[moment]) for moment in edges}
            middles = medians["before"], medians["after"]
            rows.append([words, int(mask.sum()), *middles, percent(shares["before"]), percent(shares["after"])])
    middle = {moment: float(np.median(random[moment])) for moment in random}
    rows.append(["random pairs", len(random["after"]), middle["before"], middle["after"], None, None])
    columns = ("pairs of nodes", "number", "median before", "median after", "shorter before", "shorter after")
    caption = f"Distances ({name}) of hidden vectors, and how often they are shorter than a random pair"
    return Shown("closeness", caption, columns, rows, 4)


def _figure(edges: Moments, random: Moments) -> Figure:
    """Four curves: the share of pairs up to a distance."""
    data: list[dict[str, JSON]] = []
    shares = np.linspace(0, 1, _POINTS)
    said = []
    for words, found in (("edges", edges), ("random pairs", random)):
        for moment in ("after", "before"):
            middle = float(np.median(random[moment])) or 1.0
            curve = np.quantile(found[moment], shares) / middle
            number = 0 if words == "edges" else 1
            style: JSON = {
                "color": PALETTE[number],
                "width": 3 if moment == "after" else 2,
                "dash": DASHES[0 if moment == "after" else 2],
            }
            name = f"{words}, {moment} training"
            data.append({"type": "scatter", "mode": "lines", "name": name, "line": style, "x": rounded(curve, 4)})
            data[-1]["y"] = rounded(shares, 3)
            said.append(f"{name}: half below {curve[_POINTS // 2]:.2f}")
    furthest = max(float(np.quantile(edges[m], 0.99) / (np.median(random[m]) or 1.0)) for m in edges)
    x: dict[str, JSON] = {"range": [0, round(max(2.0, min(furthest, 4.0)), 2)]}
    layout: dict[str, JSON] = {
        "xaxis": axis("distance, as a part of the median random pair", x),
        "yaxis": axis("share of the pairs up to there", {"tickformat": ".0%"}),
        "height": 400,
    }
    return Figure("closeness", "Distances across edges and between random pairs", "; ".join(said) + ".", data, layout)
