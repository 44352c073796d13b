"""Turns figures into a verdict with reasons, and into advice that names the figure and a remedy.

The limits were set on PubMed, Cora, Citeseer and kNN graphs of digits, as they are and with nodes renamed at random, at
several numbers of labels, and on planted graphs; docs/good-graph.md has the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator

from ngm.diagnosis.records import Agreement, Diagnosis, Estimate, HeldOutScores, Pair, Verdict

MIN_BEYOND_CHANCE = 0.15  # accuracy beyond chance; a graph below it is not useful
MIN_AGREEMENT, MAX_DISAGREEMENT = 0.3, 0.1  # adjusted agreement: at least so much, at most so much
MAX_RANDOM_AUC = 0.53  # chance that an edge is more alike than a random pair
FEW_EDGES = 30  # labelled edges
FEW_SEEDS = 100  # labelled nodes held out: with fewer, an unclear verdict is explained by their number
MIN_SEEDS = 12  # labelled nodes held out: with fewer, a single seed decides the verdict
MIN_HUB_SHARE = 0.05  # of all edges at one node
MIN_TOP_WEIGHT = 0.5  # of the total weight on the heaviest hundredth of edges
MIN_AT_FLOOR = 0.1  # of the edges at the floor of knn_graph
MIN_UNREACHED = 0.05  # of the nodes in components without a seed, or without an edge
MIN_WITHIN_HOPS = 0.5  # of the unlabelled nodes within three hops


def judge(diagnosis: Diagnosis) -> tuple[Verdict, list[str]]:
    """The verdict and what it rests on.

    What graph and x know together against x alone comes first, then what the graph alone tells of hidden labels, then
    agreement across labelled edges: the first of them that is clear decides. Where the first is not, the others may
    contradict each other.
    """
    held_out = _sufficient_held_out(diagnosis)
    adjusted = None if diagnosis.agreement is None else diagnosis.agreement.adjusted
    by_gain = _vote(None if held_out is None or held_out.with_x is None else held_out.with_x.gain, 0.0, 0.0)
    by_labels = _vote(None if held_out is None else held_out.beyond, MIN_BEYOND_CHANCE, MIN_BEYOND_CHANCE)
    by_edges = _vote(adjusted, MIN_AGREEMENT, MAX_DISAGREEMENT)
    verdict: Verdict = next((vote for vote in (by_gain, by_labels, by_edges) if vote != "unclear"), "unclear")
    if by_gain == "unclear":
        doubt = _is_worse_than_x(held_out) or (adjusted is not None and adjusted.high < 0)
        if _disagrees_with_x(held_out):
            verdict = "unclear" if verdict == "helps" else "hurts"
        elif verdict == "helps" and doubt:
            verdict = "unclear"
    return verdict, list(_reasons(diagnosis))


def _sufficient_held_out(diagnosis: Diagnosis) -> HeldOutScores | None:
    """Scores on held-out labels, if there are enough of them."""
    held_out = diagnosis.held_out
    return held_out if held_out is not None and held_out.seeds >= MIN_SEEDS else None


def _vote(estimate: Estimate | None, above: float, below: float) -> Verdict:
    if estimate is None:
        return "unclear"
    return "helps" if estimate.low > above else "hurts" if estimate.high < below else "unclear"


def _is_worse_than_x(held_out: HeldOutScores | None) -> bool:
    return held_out is not None and held_out.with_x is not None and held_out.right.high < held_out.with_x.alone.low


def _disagrees_with_x(held_out: HeldOutScores | None) -> bool:
    """Whether x predicts the classes, and yet its predictions at the two ends of an edge agree only by chance.

    A model that is right so far beyond chance at either end lets so much squared of the true agreement through.
    """
    if held_out is None or held_out.with_x is None or held_out.with_x.across_edges is None:
        return False
    x = held_out.with_x.beyond
    return x.low > MIN_BEYOND_CHANCE and held_out.with_x.across_edges.high < MAX_DISAGREEMENT * x.value**2


def _reasons(diagnosis: Diagnosis) -> Iterator[str]:
    held_out, agreement, similarity = diagnosis.held_out, diagnosis.agreement, diagnosis.similarity
    if held_out is None:
        yield "no class has two labelled nodes that reach each other, so no label can be held out"
    else:
        all_classes = held_out.classes >= len(diagnosis.classes)
        limit = "" if all_classes else f"; the {held_out.classes} most common classes only"
        yield (
            f"labels spread over the graph are right on {_percent(held_out.right)} of {held_out.seeds:,} held-out "
            f"labelled nodes (chance {held_out.chance:.0%}{limit})"
        )
        if held_out.with_x is not None:
            x_alone, both, gain = held_out.with_x.alone, held_out.with_x.both, held_out.with_x.gain
            yield (
                f"x alone is right on {x_alone.value:.0%}, x and the graph together on {both.value:.0%}: "
                f"{100 * gain.value:+.0f} points ({100 * gain.low:+.0f} to {100 * gain.high:+.0f})"
            )
    if agreement is None:
        yield "no edge joins two labelled nodes, so the labels cannot judge single edges"
    else:
        yield (
            f"{_percent(agreement.share)} of {agreement.edges:,} labelled edges join nodes "
            f"{_same_label_text(diagnosis)} (chance {agreement.chance:.0%}{_sample_text(diagnosis)})"
        )
    if similarity is not None:
        yield (
            f"x is more alike across an edge than in a random pair {_percent(similarity.auc)} of the time "
            f"(chance 50%; {similarity.edges:,} edges looked at)"
        )


def advise(diagnosis: Diagnosis) -> list[str]:
    """Advice, most important first; at least one sentence."""
    advice_parts = (
        _verdict_advice(diagnosis),
        _agreement_advice(diagnosis),
        _seed_advice(diagnosis),
        _component_advice(diagnosis),
        _structure_advice(diagnosis),
    )
    return [line for lines in advice_parts for line in lines]


def _verdict_advice(diagnosis: Diagnosis) -> Iterator[str]:
    held_out = diagnosis.held_out
    if diagnosis.verdict == "helps":
        yield (
            f"{_best_argument_for(diagnosis)}: this graph should help; train with it, and keep a run with all alphas "
            "0 beside it as the control"
        )
    elif diagnosis.verdict == "hurts":
        yield (
            f"{_best_argument_against(diagnosis)}: this graph will hurt; leave it out (all alphas 0), or make "
            "another one: from better inputs (knn_graph), with fewer neighbours, or of only the kinds of edges that "
            "join like with like"
        )
    elif held_out is None or held_out.seeds < FEW_SEEDS:
        yield (
            f"only {0 if held_out is None else held_out.seeds:,} labelled nodes could be held out, too few to judge "
            f"this graph: label more nodes{_labels_needed(diagnosis)}, or compare a run with the graph to one with "
            "all alphas 0"
        )
    else:
        yield (
            f"{_held_out_text(diagnosis)}: not enough to be sure either way; compare a run with the graph to one "
            "with all alphas 0, at small alphas first (0.01 to 0.05)"
        )
    if (
        diagnosis.verdict != "helps"
        and diagnosis.similarity is not None
        and diagnosis.similarity.auc.high < MAX_RANDOM_AUC
    ):
        yield (
            f"x is more alike across an edge than in a random pair only {diagnosis.similarity.auc.value:.0%} of the "
            "time, so neighbours are unrelated: check that row i of x is node i of the graph"
        )


def _best_argument_for(diagnosis: Diagnosis) -> str:
    """The strongest figure in favour of the graph."""
    held_out, agreement = _sufficient_held_out(diagnosis), diagnosis.agreement
    if held_out is not None and held_out.with_x is not None and held_out.with_x.gain.low > 0:
        return (
            f"with the graph, {100 * held_out.with_x.gain.value:.0f} in 100 more held-out nodes are predicted "
            "correctly than from x alone"
        )
    if (held_out is None or held_out.beyond.low <= MIN_BEYOND_CHANCE) and agreement is not None:
        return (
            f"{agreement.share.value:.0%} of your labelled edges join nodes {_same_label_text(diagnosis)} (chance "
            f"{agreement.chance:.0%})"
        )
    return _held_out_text(diagnosis)


def _best_argument_against(diagnosis: Diagnosis) -> str:
    """The strongest figure against the graph."""
    held_out, agreement = _sufficient_held_out(diagnosis), diagnosis.agreement
    if held_out is not None and held_out.with_x is not None and held_out.with_x.gain.high < 0:
        fewer = -100 * held_out.with_x.gain.value
        return f"with the graph, {fewer:.0f} in 100 fewer held-out nodes are predicted correctly than from x alone"
    if agreement is not None and agreement.adjusted is not None and agreement.adjusted.high < MAX_DISAGREEMENT:
        joined_text = "different classes" if diagnosis.task == "classes" else "nodes without a label in common"
        return (
            f"{1 - agreement.share.value:.0%} of your labelled edges join {joined_text} (chance "
            f"{1 - agreement.chance:.0%})"
        )
    if held_out is not None and held_out.beyond.high >= MIN_BEYOND_CHANCE and held_out.with_x is not None:
        return (
            f"x predicts the classes of {held_out.with_x.alone.value:.0%} of held-out nodes, and its predictions at "
            "the two ends of an edge agree no more than by chance"
        )
    return _held_out_text(diagnosis)


def _held_out_text(diagnosis: Diagnosis) -> str:
    held_out = diagnosis.held_out
    if held_out is None:
        return "no label could be held out"
    return (
        f"labels spread over the graph are right on {held_out.right.value:.0%} of held-out nodes (chance "
        f"{held_out.chance:.0%})"
    )


def _agreement_advice(diagnosis: Diagnosis) -> Iterator[str]:
    agreement = diagnosis.agreement
    if agreement is None:
        return
    if agreement.edges < FEW_EDGES:
        amount, remedy = "too few", "the verdict rests on held-out labels instead"
        if diagnosis.verdict == "unclear":
            remedy = "label a few neighbours of labelled nodes to know more"
        elif _sufficient_held_out(diagnosis) is None:
            amount, remedy = "few", "the verdict rests on these alone, so label more nodes to be surer"
        yield (
            f"there {_only_count(agreement.edges, 'labelled edge')}, {amount} to judge by: the share that agree may "
            f"be anything from {agreement.share.low:.0%} to {agreement.share.high:.0%}; {remedy}"
        )
        return
    mixed = _most_mixed(agreement)
    if mixed is not None and diagnosis.task == "classes":
        yield (
            f"classes {mixed.first!r} and {mixed.second!r} are joined by {mixed.edges:,} labelled edges, "
            f"{mixed.edges / mixed.expected:.1f} times what chance would give: look at a few of these edges, they "
            "pull the two together"
        )


def _most_mixed(agreement: Agreement) -> Pair | None:
    """The pair of different classes with most edges, among those well above chance."""
    pairs = (p for p in agreement.pairs if p.first != p.second and p.edges >= 10 and p.edges > 1.5 * p.expected)
    return next(pairs, None)


def _seed_advice(diagnosis: Diagnosis) -> Iterator[str]:
    shape = diagnosis.shape
    if shape.isolated_seeds:
        verb = "has" if shape.isolated_seeds == 1 else "have"
        yield (
            f"{shape.isolated_seeds:,} of {diagnosis.labeled:,} labelled nodes {verb} no edge, "
            f"{_rows_text(shape.isolated_seed_rows)}: the graph cannot carry these labels anywhere; join them to "
            "similar nodes"
        )
    single = [name for name, count in zip(diagnosis.classes, diagnosis.seeds, strict=True) if count == 1]
    if single:
        yield (
            f"{len(single):,} of {len(diagnosis.classes):,} classes {'has' if len(single) == 1 else 'have'} a single "
            f"labelled node ({', '.join(map(repr, single[:3]))}{', ...' if len(single) > 3 else ''}): label a second "
            "one of each"
        )


def _component_advice(diagnosis: Diagnosis) -> Iterator[str]:
    shape, nodes = diagnosis.shape, max(diagnosis.num_nodes, 1)
    if shape.unseeded_nodes >= MIN_UNREACHED * nodes:
        rows = ", ".join(f"row {p.row} ({p.count:,} nodes)" for p in shape.unseeded_places)
        yield (
            f"{shape.unseeded_nodes / nodes:.0%} of the nodes are in {shape.unseeded:,} components without a labelled "
            f"node: label one node in each of the largest, e.g. {rows}"
        )
    if shape.isolated - shape.isolated_seeds >= MIN_UNREACHED * nodes:
        yield (
            f"{(shape.isolated - shape.isolated_seeds) / nodes:.0%} of the nodes are unlabelled and have no edge: the "
            "graph does not reach them; add edges, from knn_graph for instance (Graph.merge)"
        )
    hops = shape.within_hops[2]
    if diagnosis.labeled < diagnosis.num_nodes and hops < MIN_WITHIN_HOPS:
        yield (
            f"only {hops:.0%} of the unlabelled nodes are within 3 hops of a labelled one: most edges touch no label; "
            "label more nodes, spread over the graph, or spread the labels first (LabelPropagation, recipe='auto')"
        )


def _structure_advice(diagnosis: Diagnosis) -> Iterator[str]:
    shape, weights = diagnosis.shape, diagnosis.shape.weights
    if weights is None:
        yield "the graph has no edges; make one with knn_graph"
        return
    share = shape.hubs[0].count / diagnosis.num_edges
    if share >= MIN_HUB_SHARE and diagnosis.num_edges >= 100:
        yield (
            f"one node (row {shape.hubs[0].row}) has {share:.0%} of all edges: it connects everything with "
            "everything; try max_degree where the graph is made, or drop its edges "
            f"(graph.without([{shape.hubs[0].row}]))"
        )
    if weights.at_floor >= MIN_AT_FLOOR:
        yield (
            f"{weights.at_floor:.0%} of the edges have a weight of (nearly) 0: these nodes resemble no other; look at "
            "their inputs, or use a smaller k"
        )
    elif weights.top_share >= MIN_TOP_WEIGHT and diagnosis.num_edges >= 100:
        yield (
            f"the heaviest 1% of the edges have {weights.top_share:.0%} of all weight (up to {weights.high:.3g}, "
            f"median {weights.median:.3g}): they decide alone; take logarithms of the weights, or cut them off"
        )


def _labels_needed(diagnosis: Diagnosis) -> str:
    if diagnosis.labeled and min(diagnosis.seeds, default=0) < 5:
        return ", at least 5 of each class"
    return ""


def _percent(figure: Estimate) -> str:
    return f"{figure.value:.0%} ({figure.low:.0%} to {figure.high:.0%})"


def _sample_text(diagnosis: Diagnosis) -> str:
    sampled = diagnosis.agreement is not None and diagnosis.agreement.edges < diagnosis.ll
    return f"; a random sample of {diagnosis.ll:,}" if sampled else ""


def _same_label_text(diagnosis: Diagnosis) -> str:
    return "of the same class" if diagnosis.task == "classes" else "with a label in common"


def _only_count(count: int, noun: str) -> str:
    return f"is only 1 {noun}" if count == 1 else f"are only {count} {noun}s"


def _rows_text(rows: tuple[int, ...]) -> str:
    return f"row{'s' if len(rows) > 1 else ''} {', '.join(map(str, rows))}"
