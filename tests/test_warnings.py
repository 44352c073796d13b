"""Warnings that code reacts to have classes of their own."""

from __future__ import annotations

import ast
import warnings
from pathlib import Path

import numpy as np
import pytest

import ngm
from ngm import Graph, LabelPropagation, NGMClassifier
from ngm.propagation.label_propagation import UnreachedNodesWarning, UnseededClassWarning
from ngm.targets import ManyClassesWarning, encode_classes
from ngm.text.readers import UnreadTextsWarning

MODULES = sorted(Path(ngm.__file__).parent.rglob("*.py"))


def filters_by_text(source: str) -> list[int]:
    """Lines with a call of `warnings.filterwarnings` that names a text."""
    calls = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Call)]
    named = [call for call in calls if ast.unparse(call.func).split(".")[-1] == "filterwarnings"]
    return [c.lineno for c in named if len(c.args) > 1 or any(k.arg in ("message", None) for k in c.keywords)]


def test_no_module_filters_a_warning_by_its_text() -> None:
    found = {str(module): filters_by_text(module.read_text(encoding="utf-8")) for module in MODULES}
    assert {module: lines for module, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("warnings.filterwarnings('ignore', 'no seed')", [1]),
        ("import warnings\nwarnings.filterwarnings('ignore', message='no seed')", [2]),
        ("filterwarnings('ignore', '.*', UserWarning)", [1]),
        ("warnings.filterwarnings('ignore', category=CollapseWarning)", []),
        ("warnings.simplefilter('ignore', CollapseWarning)", []),
    ],
)
def test_the_search_finds_filters_by_text(source: str, lines: list[int]) -> None:
    assert filters_by_text(source) == lines


def test_nodes_that_no_seed_reaches_and_classes_without_a_seed_have_warnings() -> None:
    graph = Graph.from_edges([[0, 1], [2, 3]])
    with pytest.warns(UnreachedNodesWarning, match="2 of 4 nodes"):
        LabelPropagation().fit(None, [0, 1, -1, -1], graph=graph)
    seeds = np.array([[1, 0, 0], [0, 1, 0], [1, 0, 0], [-1, -1, -1]])
    with pytest.warns(UnseededClassWarning, match="class 2"):
        LabelPropagation().fit(None, seeds, graph=graph)


def test_many_classes_have_a_warning_and_other_checks_of_scikit_learn_none() -> None:
    with pytest.warns(ManyClassesWarning, match="number of unique classes"):
        encode_classes(np.arange(40), 40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        encode_classes(np.arange(40) % 4, 40)
    with pytest.raises(ValueError, match="Unknown label type"):
        encode_classes(np.linspace(0.1, 0.9, 9), 9)


def test_texts_of_which_nothing_is_known_have_a_warning() -> None:
    model = NGMClassifier(network="lstm", epochs=1).fit(["red apple", "old car"] * 4, [0, 1] * 4)
    with pytest.warns(UnreadTextsWarning, match="1 of 2 texts"):
        model.predict(["red", "qqq"])
