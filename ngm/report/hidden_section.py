"""The hidden space in two dimensions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ngm.io.node_records import Evidence, writable
from ngm.report.class_names import spoken
from ngm.report.page import Section, Space
from ngm.report.plotting import count, percent
from ngm.report.residuals_section import as_numbers
from ngm.report.run_reader import Told, ids_of, known, roles

KEY, TITLE = "space", "What does the network see?"
PLACED = 1_500  # nodes laid out by t-SNE; the others go to where those most like them are
EDGES = 20_000  # drawn
_ITERATIONS = 500
_WIDTH = 30  # principal components that t-SNE is given
_LIKE = 3  # nodes that place another
_FEWEST = 10  # nodes for t-SNE
_LARGEST = 1e15  # coordinate that t-SNE can square in float32
_NUMBER_BINS = 5  # by which numbers are coloured


def space_section(told: Told) -> Section:
    """All kept nodes as points: near each other where the network sees them alike."""
    kept = told.nodes
    if len(kept) < 2:
        return Section(KEY, TITLE, "A single node was kept: there is no space to see.")
    space = space_of(told, kept)
    notes = []
    drawn = len(space.edges) // 2
    if drawn < len(kept.edges):
        notes.append(f"{drawn:,} of the {len(kept.edges):,} edges, drawn at random, are on the page.")
    if told.task == "numbers":
        notes.append("Numbers are shown in five ranges of equally many nodes.")
    return Section(KEY, TITLE, _answer(told, kept, space), notes, space=space)


def _answer(told: Told, kept: Evidence, space: Space) -> str:
    apart = int((kept.row < 0).sum())
    more = f" or of {count(apart, 'validation row')} given apart" if apart else ""
    there = (
        f"Every point is one of {count(len(kept) - apart, 'node')}{more}, near others whose hidden vectors are alike"
    )
    if told.task != "classes":
        return there + "."
    h, said = kept.hidden, np.asarray(space.predicted)
    looked_at = np.linspace(0, len(h) - 1, min(len(h), PLACED)).astype(int)
    nearest = NearestNeighbors(n_neighbors=min(11, len(h))).fit(h).kneighbors(h[looked_at])[1][:, 1:]
    same = float((said[nearest] == said[looked_at][:, None]).mean())
    chance = float((np.bincount(said) / len(said)) @ (np.bincount(said) / len(said)))
    return (
        f"{there}: {percent(same)} of a node's ten nearest are taken for the same class as itself "
        f"(by chance {percent(chance)})."
    )


def space_of(told: Told, kept: Evidence) -> Space:
    """Coordinates, classes and words of all kept nodes."""
    places, how = two_dimensions(kept.hidden)
    names, label, predicted = _classes(told, kept)
    chance = [None if p != p else round(p, 2) for p in kept.probability.tolist()]
    return Space(
        ids=ids_of(kept),
        texts=None if kept.texts is None else kept.texts.tolist(),
        x=np.round(places[:, 0], 2).tolist(),
        y=np.round(places[:, 1], 2).tolist(),
        classes=names,
        predicted=predicted,
        label=label,
        role=roles(kept).tolist(),
        probability=chance,
        edges=_edges(kept).ravel().tolist(),
        how=how,
        kind="numbers" if told.task == "numbers" else "classes",
    )


def two_dimensions(h: NDArray[np.float32]) -> tuple[NDArray[np.float64], str]:
    """((n, 2) coordinates within -100 to 100, how they were made); the same h gives the same coordinates.

    t-SNE keeps neighbours together where there are many classes, which the two main directions of PCA do not; it is
    slow, so of many nodes it lays out some, and each of the others goes between those whose h is nearest.
    """
    n = len(h)
    spread = np.asarray(h, dtype=np.float64)
    largest = np.abs(spread).max(initial=0)
    spread = spread / largest if largest > _LARGEST else spread
    spread = spread[:, spread.std(axis=0) > 0]
    if spread.shape[1] < 2 or n < _FEWEST:
        flat = np.zeros((n, 2))
        flat[:, : spread.shape[1]] = (spread - spread.mean(axis=0))[:, :2]
        return _within(flat), "Two dimensions of h as they are."
    with threadpool_limits(1):  # several threads wait for each other on a busy machine, eight times as long
        main = PCA(min(_WIDTH, *spread.shape), svd_solver="full" if n <= PLACED else "covariance_eigh").fit_transform(
            spread
        )
        some = np.sort(np.random.default_rng(0).choice(n, min(n, PLACED), replace=False))
        perplexity = min(30.0, (len(some) - 1) / 3)
        laid = TSNE(2, init="pca", perplexity=perplexity, max_iter=_ITERATIONS, random_state=0).fit_transform(
            main[some]
        )
        places = _between(main, some, laid.astype(np.float64))
    how = (
        f"Two dimensions were made of the {h.shape[1]} of h by t-SNE: who is near whom tells something, how far apart "
        "groups are does not."
    )
    if len(some) < n:
        how += f" It laid out {len(some):,} nodes; each of the others is between the {_LIKE} of these most like it."
    return _within(places), how


def _between(main: NDArray[np.float64], some: NDArray[np.int64], laid: NDArray[np.float64]) -> NDArray[np.float64]:
    """(n, 2): `some` where they were laid, the others at the mean of the nearest of them, weighted by nearness."""
    if len(some) == len(main):
        return laid
    far, near = NearestNeighbors(n_neighbors=_LIKE).fit(main[some]).kneighbors(main)
    weight = 1 / (far + 1e-3 * float(np.median(far)) + 1e-12)
    places: NDArray[np.float64] = (laid[near] * (weight / weight.sum(axis=1, keepdims=True))[..., None]).sum(axis=1)
    places[some] = laid
    return places


def _within(places: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moved and scaled into -100 to 100."""
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    size = float(np.ptp(places, axis=0).max()) or 1.0
    scaled: NDArray[np.float64] = (places - middle) * (200 / size)
    return scaled


def _classes(told: Told, kept: Evidence) -> tuple[list[str], list[int], list[int]]:
    """(names, number of the known one or -1, number of the predicted one); numbers in ranges, label sets by name."""
    there = known(kept)
    if told.task == "numbers":
        first = as_numbers(kept.predicted)[:, 0]
        cuts = np.unique(np.quantile(first, np.linspace(0, 1, _NUMBER_BINS + 1)[1:-1]))
        ends = [f"{cut:.3g}" for cut in cuts]
        names = [
            f"up to {ends[0]}",
            *(f"{a} to {b}" for a, b in pairwise(ends)),
            f"above {ends[-1]}",
        ]
        label = np.full(len(kept), -1)
        label[there] = np.searchsorted(cuts, as_numbers(kept.label[there])[:, 0])
        return names, label.tolist(), np.searchsorted(cuts, first).tolist()
    said = [str(word) for word in kept.predicted.tolist()]
    truth = [None if word is None else str(word) for word in kept.label.tolist()]
    listed = [writable(name) for name in told.classes] if told.task == "classes" else []
    names = list(dict.fromkeys([*listed, *sorted({*said, *(word for word in truth if word is not None)})]))
    place = {name: i for i, name in enumerate(names)}
    words = [spoken(name, told.task) or "none" for name in names]
    return words, [-1 if word is None else place[word] for word in truth], [place[word] for word in said]


def _edges(kept: Evidence) -> NDArray[np.int64]:
    if len(kept.edges) <= EDGES:
        return kept.edges
    some = np.random.default_rng(2).choice(len(kept.edges), EDGES, replace=False)
    return kept.edges[np.sort(some)]
