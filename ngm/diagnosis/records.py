"""Results of `diagnose`: frozen records that convert to JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Literal, cast

from ngm.io.run_folder import JSON

Verdict = Literal["helps", "unclear", "hurts"]
Task = Literal["classes", "labels"]


@dataclass(frozen=True)
class Estimate:
    """A figure and the interval that holds the true one 95 times in 100."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        """`0.81 (0.78 to 0.84)`."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


@dataclass(frozen=True)
class Pair:
    """How often labelled edges join two classes.

    Attributes:
        first: A class; of the two, the one that sorts first.
        second: The other; the same one for edges inside a class.
        edges: Labelled edges between them.
        expected: How many there would be by chance; see `Agreement`.
    """

    first: str
    second: str
    edges: int
    expected: float


@dataclass(frozen=True)
class Agreement:
    """Do labelled edges join nodes of the same class (of several labels: with a label in common)?

    Chance keeps every node's number of labelled edges: it is the share of agreement if the ends of these edges were
    joined anew at random, so the sum over classes of (share of the edge ends in the class) squared.

    Attributes:
        edges: Labelled edges looked at: all, or a random sample of a million.
        share: Share of them whose ends agree. Edges at one node count as dependent.
        chance: See above.
        adjusted: (share - chance) / (1 - chance): 1 if all agree, 0 if as many as by chance; known as assortativity.
            None where all ends are of one class.
        pairs: Pairs of classes, most edges first; at most 200.
    """

    edges: int
    share: Estimate
    chance: float
    adjusted: Estimate | None
    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class WithX:
    """Accuracy of a linear model of x on the hidden nodes, alone and as the prior of Eq. 2.

    Attributes:
        alone: Share of all hidden nodes that it predicts correctly from x.
        both: Share predicted correctly when its probabilities are spread over the graph with the labels.
        gain: `both` - `alone`, node by node.
        beyond: (alone - chance) / (1 - chance), as in `HeldOutScores`.
        across_edges: Adjusted agreement (see `Agreement`) of the classes that it predicts at the two ends of an edge,
            labelled or not; None where there is no edge, or all are of one class.
    """

    alone: Estimate
    both: Estimate
    gain: Estimate
    beyond: Estimate
    across_edges: Estimate | None


@dataclass(frozen=True)
class HeldOutScores:
    """Accuracy of label propagation (Eq. 2) on labelled nodes that were hidden fold by fold.

    Attributes:
        folds: Parts that were hidden in turn.
        seeds: Labelled nodes that were hidden, and reached by the labels of others.
        unreached: Hidden nodes that no other label reaches; they are not scored.
        classes: Classes that took part: the most common 100, fewer on graphs of more than 80,000 nodes, at least 10.
        right: Share of `seeds` predicted correctly; of several labels, whose strongest label is one of theirs.
        chance: Share that would be correct if the same predictions were shuffled among these nodes.
        beyond: (right - chance) / (1 - chance): 1 if all are correct, 0 if no more than by chance.
        with_x: Accuracy of x alone and with the graph; None without x.
    """

    folds: int
    seeds: int
    unreached: int
    classes: int
    right: Estimate
    chance: float
    beyond: Estimate
    with_x: WithX | None


@dataclass(frozen=True)
class Similarity:
    """Are neighbours alike in x? Cosine across edges against pairs of other ends of the same edges.

    Attributes:
        edges: Edges looked at, all or a sample.
        pairs: Random pairs looked at.
        across_edges: Mean cosine across edges.
        random_pairs: Mean cosine of random pairs.
        auc: Chance that an edge is more alike than a random pair; 0.5 if x is unrelated to the edges.
    """

    edges: int
    pairs: int
    across_edges: float
    random_pairs: float
    auc: Estimate


@dataclass(frozen=True)
class Place:
    """A node by its row, and a count: its edges, or the nodes of its component."""

    row: int
    count: int


@dataclass(frozen=True)
class Bin:
    """Nodes whose degree is from `low` to `high`, both included."""

    low: int
    high: int
    nodes: int


@dataclass(frozen=True)
class Weights:
    """Edge weights.

    Attributes:
        low: Smallest.
        median: Half of them lie below.
        high: Largest.
        at_floor: Share of edges at or below the floor of `knn_graph`, so between nodes that are hardly similar.
        top_share: Share of the total weight on the heaviest 1 % of edges.
    """

    low: float
    median: float
    high: float
    at_floor: float
    top_share: float


@dataclass(frozen=True)
class Shape:
    """The graph without its labels, and where the labels lie in it; directions are ignored.

    Attributes:
        isolated: Nodes without an edge.
        isolated_seeds: Labelled ones among them.
        isolated_seed_rows: The first five of these.
        components: Connected parts of two nodes or more.
        largest: Nodes in the largest of them.
        unseeded: Components without a labelled node.
        unseeded_nodes: Nodes in these.
        unseeded_places: The largest three: a node of many edges to label, and the number of nodes.
        within_hops: Share of the unlabelled nodes within 1, 2 and 3 hops of a labelled one.
        degrees: Histogram; bins double.
        hubs: The five nodes of most edges.
        hub_share: Share of edges with an end among the 1 % of nodes with most edges.
        weights: None where there are no edges.
    """

    isolated: int
    isolated_seeds: int
    isolated_seed_rows: tuple[int, ...]
    components: int
    largest: int
    unseeded: int
    unseeded_nodes: int
    unseeded_places: tuple[Place, ...]
    within_hops: tuple[float, float, float]
    degrees: tuple[Bin, ...]
    hubs: tuple[Place, ...]
    hub_share: float
    weights: Weights | None


@dataclass(frozen=True)
class Diagnosis:
    """Is this graph any good? `print` it, or read `verdict`, `reasons` and `advice`.

    Args:
        verdict: "helps", "unclear" or "hurts".
        reasons: What the verdict rests on, a sentence each.
        advice: What to do, a sentence each, with the figure that calls for it.
        num_nodes: Nodes.
        num_edges: Edges.
        directed: Whether edges have a direction; all figures here ignore it.
        task: "classes" (one each) or "labels" (any number each).
        classes: Names of the classes.
        seeds: Labelled nodes of each class.
        labeled: Labelled nodes.
        ll: Edges between two labelled nodes.
        lu: Edges between a labelled node and an unlabelled one.
        uu: Edges between two unlabelled nodes.
        agreement: None where no edge joins two labelled nodes.
        held_out: None where no class has two labelled nodes.
        similarity: None without x.
        shape: The graph without its labels.
    """

    verdict: Verdict
    reasons: list[str]
    advice: list[str]
    num_nodes: int
    num_edges: int
    directed: bool
    task: Task
    classes: tuple[str, ...]
    seeds: tuple[int, ...]
    labeled: int
    ll: int
    lu: int
    uu: int
    agreement: Agreement | None
    held_out: HeldOutScores | None
    similarity: Similarity | None
    shape: Shape

    def as_json(self) -> dict[str, JSON]:
        """All figures as plain lists, dicts and numbers."""
        return {key: _plain(value) for key, value in asdict(self).items()}

    def __str__(self) -> str:
        """Verdict, reasons, counts and advice, a line each."""
        counts = (
            f"{self.num_nodes:,} nodes ({self.labeled:,} labelled), {self.num_edges:,} edges: "
            f"{self.ll:,} LL, {self.lu:,} LU, {self.uu:,} UU"
        )
        lines = [f"This graph: {self.verdict}", counts, *(f"- {line}" for line in self.reasons)]
        return "\n".join([*lines, "Advice:", *(f"- {line}" for line in self.advice)])


def _plain(value: object) -> JSON:
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return cast(JSON, value)
