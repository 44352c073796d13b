"""From figures to words: a verdict with its reasons, and advice that names the figure and a remedy.

The limits were set on PubMed, Cora, Citeseer and kNN graphs of digits, as they are and with nodes renamed at random, at
several numbers of labels, and on planted graphs; docs/good-graph.md has the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator

from ngm.diagnosis.records import Agreement, Diagnosis, Estimate, HeldOut, Pair, Verdict

WORTH = 0.15  # right beyond chance: below it a graph is not worth having
AGREES, DISAGREES = 0.3, 0.1  # adjusted agreement: at least so much, at most so much
SAME_AS_RANDOM = 0.53  # chance that an edge is more alike than a random pair
FEW_EDGES = 30  # labelled edges
FEW_SEEDS = 100  # labelled nodes held out: an unclear verdict is laid to their number
LEAST_SEEDS = 12  # labelled nodes held out: with fewer, one lucky or unlucky seed turns all answers
HUB = 0.05  # of all edges at one node
TOP_WEIGHT = 0.5  # of the total weight on the heaviest hundredth of edges
FLOORED = 0.1  # of the edges at the floor of knn_graph
LEFT_OUT = 0.05  # of the nodes in components without a seed, or without an edge
NEAR = 0.5  # of the unlabelled nodes within three hops


def judge(found: Diagnosis) -> tuple[Verdict, list[str]]:
    """The verdict and what it rests on.

    What graph and x know together against x alone comes first, then what the graph alone tells of hidden labels, then
    agreement across labelled edges: the first of them that is clear decides. Where the first is not, the others may
    contradict each other.
    """
    held = _enough(found)
    adjusted = None if found.agreement is None else found.agreement.adjusted
    by_gain = _vote(None if held is None or held.with_x is None else held.with_x.gain, 0.0, 0.0)
    by_labels = _vote(None if held is None else held.beyond, WORTH, WORTH)
    by_edges = _vote(adjusted, AGREES, DISAGREES)
    verdict: Verdict = next((vote for vote in (by_gain, by_labels, by_edges) if vote != "unclear"), "unclear")
    if by_gain == "unclear":
        doubt = _knows_less_than_x(held) or (adjusted is not None and adjusted.high < 0)
        if _strange_to_x(held):
            verdict = "unclear" if verdict == "helps" else "hurts"
        elif verdict == "helps" and doubt:
            verdict = "unclear"
    return verdict, list(_reasons(found))


def _enough(found: Diagnosis) -> HeldOut | None:
    """What held-out labels say, where there are enough of them to go by."""
    held = found.held_out
    return held if held is not None and held.seeds >= LEAST_SEEDS else None


def _vote(figure: Estimate | None, above: float, below: float) -> Verdict:
    if figure is None:
        return "unclear"
    return "helps" if figure.low > above else "hurts" if figure.high < below else "unclear"


def _knows_less_than_x(held: HeldOut | None) -> bool:
    return held is not None and held.with_x is not None and held.right.high < held.with_x.alone.low


def _strange_to_x(held: HeldOut | None) -> bool:
    """Whether x tells the classes apart, and yet what it says of the two ends of an edge agrees as if by chance.

    A model that is right so far beyond chance at either end lets so much squared of the true agreement through.
    """
    if held is None or held.with_x is None or held.with_x.across_edges is None:
        return False
    x = held.with_x.beyond
    return x.low > WORTH and held.with_x.across_edges.high < DISAGREES * x.value**2


def _reasons(found: Diagnosis) -> Iterator[str]:
    held, agreed, alike = found.held_out, found.agreement, found.similarity
    if held is None:
        yield "no class has two labelled nodes that reach each other, so labels cannot be hidden and told again"
    else:
        yield (
            f"labels spread over the graph are right on {_percent(held.right)} of {held.seeds:,} held-out labelled "
            f"nodes (chance {held.chance:.0%}"
            f"{'' if held.classes >= len(found.classes) else f'; the {held.classes} most common classes only'})"
        )
        if held.with_x is not None:
            alone, both, gain = held.with_x.alone, held.with_x.both, held.with_x.gain
            yield (
                f"x alone is right on {alone.value:.0%}, x and the graph together on {both.value:.0%}: "
                f"{100 * gain.value:+.0f} points ({100 * gain.low:+.0f} to {100 * gain.high:+.0f})"
            )
    if agreed is None:
        yield "no edge joins two labelled nodes, so the labels cannot judge single edges"
    else:
        yield (
            f"{_percent(agreed.share)} of {agreed.edges:,} labelled edges join nodes "
            f"{_alike(found)} (chance {agreed.chance:.0%})"
        )
    if alike is not None:
        yield (
            f"x is more alike across an edge than in a random pair {_percent(alike.auc)} of the time "
            f"(chance 50%; {alike.edges:,} edges looked at)"
        )


def advise(found: Diagnosis) -> list[str]:
    """What to do, the weightiest first; at least one sentence."""
    parts = (_on_verdict(found), _on_agreement(found), _on_seeds(found), _on_components(found), _on_shape(found))
    return [line for part in parts for line in part]


def _on_verdict(found: Diagnosis) -> Iterator[str]:
    held = found.held_out
    if found.verdict == "helps":
        yield (
            f"{_speaks_for(found)}: this graph should help; train with it, and keep a run with all alphas 0 beside it "
            "as the control"
        )
    elif found.verdict == "hurts":
        yield (
            f"{_speaks_against(found)}: this graph will hurt; leave it out (all alphas 0), or make another one: from "
            "better inputs (knn_graph), with fewer neighbours, or of only the kinds of edges that join like with like"
        )
    elif held is None or held.seeds < FEW_SEEDS:
        yield (
            f"only {0 if held is None else held.seeds:,} labelled nodes could be held out, too few to judge this "
            f"graph: label more nodes{_most_needed(found)}, or compare a run with the graph to one with all alphas 0"
        )
    else:
        yield (
            f"{_of_labels(found)}: not enough to be sure either way; compare a run with the graph to one with all "
            "alphas 0, at small alphas first (0.01 to 0.05)"
        )
    if found.verdict != "helps" and found.similarity is not None and found.similarity.auc.high < SAME_AS_RANDOM:
        yield (
            f"x is more alike across an edge than in a random pair only {found.similarity.auc.value:.0%} of the time, "
            "so neighbours are strangers: check that row i of x is node i of the graph"
        )


def _speaks_for(found: Diagnosis) -> str:
    """The figure that speaks for the graph most plainly."""
    held, agreed = _enough(found), found.agreement
    if held is not None and held.with_x is not None and held.with_x.gain.low > 0:
        return (
            f"with the graph, {100 * held.with_x.gain.value:.0f} in 100 more held-out nodes are told than from x alone"
        )
    if (held is None or held.beyond.low <= WORTH) and agreed is not None:
        return (
            f"{agreed.share.value:.0%} of your labelled edges join nodes {_alike(found)} (chance {agreed.chance:.0%})"
        )
    return _of_labels(found)


def _speaks_against(found: Diagnosis) -> str:
    """The figure that speaks against the graph most plainly."""
    held, agreed = _enough(found), found.agreement
    if held is not None and held.with_x is not None and held.with_x.gain.high < 0:
        fewer = -100 * held.with_x.gain.value
        return f"with the graph, {fewer:.0f} in 100 fewer held-out nodes are told than from x alone"
    if agreed is not None and agreed.adjusted is not None and agreed.adjusted.high < DISAGREES:
        apart = "different classes" if found.task == "classes" else "nodes without a label in common"
        return f"{1 - agreed.share.value:.0%} of your labelled edges join {apart} (chance {1 - agreed.chance:.0%})"
    if held is not None and held.beyond.high >= WORTH and held.with_x is not None:
        return (
            f"x tells the classes of {held.with_x.alone.value:.0%} of held-out nodes, and what it says of the two ends "
            "of an edge agrees no more than by chance"
        )
    return _of_labels(found)


def _of_labels(found: Diagnosis) -> str:
    held = found.held_out
    if held is None:
        return "no label could be held out"
    return (
        f"labels spread over the graph are right on {held.right.value:.0%} of held-out nodes (chance {held.chance:.0%})"
    )


def _on_agreement(found: Diagnosis) -> Iterator[str]:
    agreed = found.agreement
    if agreed is None:
        return
    if agreed.edges < FEW_EDGES:
        few, then = "too few", "the verdict rests on held-out labels instead"
        if found.verdict == "unclear":
            then = "label a few neighbours of labelled nodes to know more"
        elif _enough(found) is None:
            few, then = "few", "the verdict rests on these alone, so label more nodes to be surer"
        yield (
            f"there {_are(agreed.edges, 'labelled edge')}, {few} to judge by: the share that agree may be anything "
            f"from {agreed.share.low:.0%} to {agreed.share.high:.0%}; {then}"
        )
        return
    mixed = _most_mixed(agreed)
    if mixed is not None and found.task == "classes":
        yield (
            f"classes {mixed.first!r} and {mixed.second!r} are joined by {mixed.edges:,} labelled edges, "
            f"{mixed.edges / mixed.expected:.1f} times what chance would give: look at a few of these edges, they "
            "pull the two together"
        )


def _most_mixed(agreed: Agreement) -> Pair | None:
    """The pair of different classes with most edges, among those well above chance."""
    pairs = (p for p in agreed.pairs if p.first != p.second and p.edges >= 10 and p.edges > 1.5 * p.expected)
    return next(pairs, None)


def _on_seeds(found: Diagnosis) -> Iterator[str]:
    shape = found.shape
    if shape.isolated_seeds:
        verb = "has" if shape.isolated_seeds == 1 else "have"
        yield (
            f"{shape.isolated_seeds:,} of {found.labeled:,} labelled nodes {verb} no edge, "
            f"{_rows(shape.isolated_seed_rows)}: the graph cannot carry these labels anywhere; join them to similar "
            "nodes"
        )
    single = [name for name, count in zip(found.classes, found.seeds, strict=True) if count == 1]
    if single:
        yield (
            f"{len(single):,} of {len(found.classes):,} classes {'has' if len(single) == 1 else 'have'} a single "
            f"labelled node ({', '.join(map(repr, single[:3]))}{', ...' if len(single) > 3 else ''}): label a second "
            "one of each"
        )


def _on_components(found: Diagnosis) -> Iterator[str]:
    shape, nodes = found.shape, max(found.num_nodes, 1)
    if shape.unseeded_nodes >= LEFT_OUT * nodes:
        rows = ", ".join(f"row {p.row} ({p.count:,} nodes)" for p in shape.unseeded_places)
        yield (
            f"{shape.unseeded_nodes / nodes:.0%} of the nodes are in {shape.unseeded:,} components without a labelled "
            f"node: label one node in each of the largest, e.g. {rows}"
        )
    if shape.isolated - shape.isolated_seeds >= LEFT_OUT * nodes:
        yield (
            f"{(shape.isolated - shape.isolated_seeds) / nodes:.0%} of the nodes are unlabelled and have no edge: the "
            "graph says nothing of them; add edges, from knn_graph for instance (Graph.merge)"
        )
    hops = shape.within_hops[2]
    if found.labeled < found.num_nodes and hops < NEAR:
        yield (
            f"only {hops:.0%} of the unlabelled nodes are within 3 hops of a labelled one: most edges touch no label; "
            "label more nodes, spread over the graph, or spread the labels first (LabelPropagation, recipe='auto')"
        )


def _on_shape(found: Diagnosis) -> Iterator[str]:
    shape, weights = found.shape, found.shape.weights
    if weights is None:
        yield "the graph has no edges: it says nothing; make one with knn_graph"
        return
    share = shape.hubs[0].count / found.num_edges
    if share >= HUB and found.num_edges >= 100:
        yield (
            f"one node (row {shape.hubs[0].row}) has {share:.0%} of all edges: it ties everything to everything; try "
            f"max_degree where the graph is made, or drop its edges (graph.without([{shape.hubs[0].row}]))"
        )
    if weights.at_floor >= FLOORED:
        yield (
            f"{weights.at_floor:.0%} of the edges have a weight of (nearly) 0: these nodes are like no other; look at "
            "their inputs, or use a smaller k"
        )
    elif weights.top_share >= TOP_WEIGHT and found.num_edges >= 100:
        yield (
            f"the heaviest 1% of the edges have {weights.top_share:.0%} of all weight (up to {weights.high:.3g}, "
            f"median {weights.median:.3g}): they decide alone; take logarithms of the weights, or cut them off"
        )


def _most_needed(found: Diagnosis) -> str:
    if found.labeled and min(found.seeds, default=0) < 5:
        return ", at least 5 of each class"
    return ""


def _percent(figure: Estimate) -> str:
    return f"{figure.value:.0%} ({figure.low:.0%} to {figure.high:.0%})"


def _alike(found: Diagnosis) -> str:
    return "of the same class" if found.task == "classes" else "with a label in common"


def _are(count: int, what: str) -> str:
    return f"is only 1 {what}" if count == 1 else f"are only {count} {what}s"


def _rows(rows: tuple[int, ...]) -> str:
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"
