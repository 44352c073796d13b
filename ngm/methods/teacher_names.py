"""What the teachers of recipe "auto" do, by the names that `ngm.recipes.teachers.predict_all` gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping

_OF_GRAPH = re.compile(r"(?:^spreading| around| by hops|, smoothed)(?: (?P<graph>\d+))?$")
_SMOOTHED = re.compile(r", smoothed(?: \d+)?$")
_INPUTS = {
    " around": "{} averaged over random walks",
    " by hops": "{}: the row itself beside the means one and two hops away",
}


def uses_graph(teacher: str) -> bool:
    """Whether a teacher looks at a graph.

    >>> [uses_graph(name) for name in ("x", "spreading", "words by hops 1, smoothed 1")]
    [False, True, True]
    """
    return _OF_GRAPH.search(teacher) is not None


def graph_number(teacher: str) -> int | None:
    """Which of several graphs a teacher looks at; None where it looks at none, or at the only one.

    >>> [graph_number(name) for name in ("x", "spreading", "words by hops 1, smoothed 1")]
    [None, None, 1]
    """
    found = _OF_GRAPH.search(teacher)
    return None if found is None or found["graph"] is None else int(found["graph"])


def weight_of_graph(weights: Mapping[str, float]) -> float:
    """Weight of all teachers that look at a graph.

    >>> weight_of_graph({"x": 0.25, "spreading": 0.5, "x around": 0.25})
    0.75
    """
    return sum(weight for name, weight in weights.items() if uses_graph(name))


def describe(teacher: str) -> str:
    """What a teacher does, in words.

    >>> describe("x around"), describe("words, smoothed 1")
    ('linear model of x averaged over random walks', 'linear model of words; its predictions averaged over the graph')
    """
    kind = _SMOOTHED.sub("", teacher)
    after = "" if kind == teacher else "; its predictions averaged over the graph"
    if re.fullmatch(r"spreading(?: \d+)?", kind):
        return f"labels spread over the edges{after}"
    for word, of in _INPUTS.items():
        view = re.fullmatch(rf"(.*){word}(?: \d+)?", kind)
        if view is not None:
            return f"linear model of {of.format(view[1])}{after}"
    return f"linear model of {kind}{after}"
