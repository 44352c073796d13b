"""The hidden space in two dimensions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from ngm.io.node_records import NodeRecords, writable
from ngm.report.class_names import label_text
from ngm.report.page import Section, Space
from ngm.report.plotting import count, percent
from ngm.report.residuals_section import parse_numbers
from ngm.report.run_reader import RunData, has_label, ids_of, role_codes

KEY, TITLE = "space", "What does the network see?"
MAX_TSNE_NODES = 1_500  # nodes laid out by t-SNE; the others go to where those most like them are
MAX_EDGES = 20_000  # drawn
_ITERATIONS = 500
_MAX_COMPONENTS = 30  # principal components that t-SNE is given
_NUM_NEIGHBORS = 3  # nodes that place another
_MIN_TSNE_NODES = 10  # nodes for t-SNE
_MAX_COORDINATE = 1e15  # coordinate that t-SNE can square in float32
_NUMBER_BINS = 5  # by which numbers are coloured


def hidden_section(run: RunData) -> Section:
    """All recorded nodes as points; nearby points have similar hidden vectors."""
    records = run.nodes
    if len(records) < 2:
        return Section(KEY, TITLE, "A single node was recorded: there is no space to draw.")
    space = space_of(run, records)
    notes = []
    num_drawn = len(space.edges) // 2
    if num_drawn < len(records.edges):
        notes.append(f"{num_drawn:,} of the {len(records.edges):,} edges, drawn at random, are on the page.")
    if run.task == "numbers":
        notes.append("Numbers are shown in five ranges of equally many nodes.")
    return Section(KEY, TITLE, _answer(run, records, space), notes, space=space)


def _answer(run: RunData, records: NodeRecords, space: Space) -> str:
    num_separate = int((records.row < 0).sum())
    separate_text = f" or of {count(num_separate, 'validation row')} given apart" if num_separate else ""
    points_text = (
        f"Every point is one of {count(len(records) - num_separate, 'node')}{separate_text}, near others "
        "whose hidden vectors are alike"
    )
    if run.task != "classes":
        return points_text + "."
    h, y_pred = records.hidden, np.asarray(space.predicted)
    sampled = np.linspace(0, len(h) - 1, min(len(h), MAX_TSNE_NODES)).astype(int)
    nearest = NearestNeighbors(n_neighbors=min(11, len(h))).fit(h).kneighbors(h[sampled])[1][:, 1:]
    same_share = float((y_pred[nearest] == y_pred[sampled][:, None]).mean())
    chance = float((np.bincount(y_pred) / len(y_pred)) @ (np.bincount(y_pred) / len(y_pred)))
    return (
        f"{points_text}: {percent(same_share)} of a node's ten nearest have the same predicted class "
        f"(by chance {percent(chance)})."
    )


def space_of(run: RunData, records: NodeRecords) -> Space:
    """Coordinates, classes and texts of all recorded nodes."""
    coordinates, method = project_to_2d(records.hidden)
    names, label, predicted = _classes(run, records)
    probability = [None if p != p else round(p, 2) for p in records.probability.tolist()]
    return Space(
        ids=ids_of(records),
        texts=None if records.texts is None else records.texts.tolist(),
        x=np.round(coordinates[:, 0], 2).tolist(),
        y=np.round(coordinates[:, 1], 2).tolist(),
        classes=names,
        predicted=predicted,
        label=label,
        role=role_codes(records).tolist(),
        probability=probability,
        edges=_edges(records).ravel().tolist(),
        how=method,
        kind="numbers" if run.task == "numbers" else "classes",
    )


def project_to_2d(h: NDArray[np.float32]) -> tuple[NDArray[np.float64], str]:
    """((n, 2) coordinates within -100 to 100, how they were made); the same h gives the same coordinates.

    t-SNE keeps neighbours together where there are many classes, which the two main directions of PCA do not; it is
    slow, so of many nodes it lays out some, and each of the others goes between those whose h is nearest.
    """
    n = len(h)
    vectors = np.asarray(h, dtype=np.float64)
    largest = np.abs(vectors).max(initial=0)
    vectors = vectors / largest if largest > _MAX_COORDINATE else vectors
    vectors = vectors[:, vectors.std(axis=0) > 0]
    if vectors.shape[1] < 2 or n < _MIN_TSNE_NODES:
        flat = np.zeros((n, 2))
        flat[:, : vectors.shape[1]] = (vectors - vectors.mean(axis=0))[:, :2]
        return _rescale(flat), "Two dimensions of h as they are."
    with threadpool_limits(1):  # several threads wait for each other on a busy machine, eight times as long
        components = PCA(
            min(_MAX_COMPONENTS, *vectors.shape), svd_solver="full" if n <= MAX_TSNE_NODES else "covariance_eigh"
        ).fit_transform(vectors)
        sampled = np.sort(np.random.default_rng(0).choice(n, min(n, MAX_TSNE_NODES), replace=False))
        perplexity = min(30.0, (len(sampled) - 1) / 3)
        embedded = TSNE(2, init="pca", perplexity=perplexity, max_iter=_ITERATIONS, random_state=0).fit_transform(
            components[sampled]
        )
        coordinates = _interpolate(components, sampled, embedded.astype(np.float64))
    method = (
        f"Two dimensions were made of the {h.shape[1]} of h by t-SNE: near points have similar h, but distances "
        "between groups mean nothing."
    )
    if len(sampled) < n:
        method += (
            f" It laid out {len(sampled):,} nodes; each of the others is between the {_NUM_NEIGHBORS} of these "
            "most like it."
        )
    return _rescale(coordinates), method


def _interpolate(
    components: NDArray[np.float64], sampled: NDArray[np.int64], embedded: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(n, 2): `sampled` where they were laid, the others at the mean of the nearest of them, weighted by nearness."""
    if len(sampled) == len(components):
        return embedded
    distance, neighbors = NearestNeighbors(n_neighbors=_NUM_NEIGHBORS).fit(components[sampled]).kneighbors(components)
    weight = 1 / (distance + 1e-3 * float(np.median(distance)) + 1e-12)
    coordinates: NDArray[np.float64] = (
        embedded[neighbors] * (weight / weight.sum(axis=1, keepdims=True))[..., None]
    ).sum(axis=1)
    coordinates[sampled] = embedded
    return coordinates


def _rescale(coordinates: NDArray[np.float64]) -> NDArray[np.float64]:
    """Moved and scaled into -100 to 100."""
    center = (coordinates.max(axis=0) + coordinates.min(axis=0)) / 2
    size = float(np.ptp(coordinates, axis=0).max()) or 1.0
    scaled: NDArray[np.float64] = (coordinates - center) * (200 / size)
    return scaled


def _classes(run: RunData, records: NodeRecords) -> tuple[list[str], list[int], list[int]]:
    """(names, number of the known one or -1, number of the predicted one); numbers in ranges, label sets by name."""
    labeled = has_label(records)
    if run.task == "numbers":
        values = parse_numbers(records.predicted)[:, 0]
        cuts = np.unique(np.quantile(values, np.linspace(0, 1, _NUMBER_BINS + 1)[1:-1]))
        bounds = [f"{cut:.3g}" for cut in cuts]
        names = [
            f"up to {bounds[0]}",
            *(f"{a} to {b}" for a, b in pairwise(bounds)),
            f"above {bounds[-1]}",
        ]
        label = np.full(len(records), -1)
        label[labeled] = np.searchsorted(cuts, parse_numbers(records.label[labeled])[:, 0])
        return names, label.tolist(), np.searchsorted(cuts, values).tolist()
    y_pred = [str(label) for label in records.predicted.tolist()]
    y_true = [None if label is None else str(label) for label in records.label.tolist()]
    listed = [writable(name) for name in run.classes] if run.task == "classes" else []
    names = list(dict.fromkeys([*listed, *sorted({*y_pred, *(label for label in y_true if label is not None)})]))
    index = {name: i for i, name in enumerate(names)}
    texts = [label_text(name, run.task) or "none" for name in names]
    return texts, [-1 if label is None else index[label] for label in y_true], [index[label] for label in y_pred]


def _edges(records: NodeRecords) -> NDArray[np.int64]:
    if len(records.edges) <= MAX_EDGES:
        return records.edges
    sampled = np.random.default_rng(2).choice(len(records.edges), MAX_EDGES, replace=False)
    return records.edges[np.sort(sampled)]
