from __future__ import annotations

import statistics
from types import ModuleType

import numpy as np
import pytest

from ngm.datasets import few_labels, load
from ngm.experiments.ag_news import protocol as ag_news
from ngm.experiments.blogcatalog import protocol as blogcatalog
from ngm.experiments.citations import protocol as pubmed
from ngm.experiments.experiment import Choices
from ngm.experiments.intents import protocol as intents
from ngm.experiments.registry import EXPERIMENTS
from ngm.experiments.table import ResultTable, Row, measured
from tests.conftest import needs


def test_a_row_has_the_mean_and_the_sample_deviation_of_its_seeds() -> None:
    scores = [0.5, 0.7, 0.9]
    row = measured(lambda seed: scores[seed], 3, method="M", setting="inductive", paper=0.6)
    assert row.mean == pytest.approx(statistics.fmean(scores))
    assert row.std == pytest.approx(np.std(scores, ddof=1))
    assert row.standard_error == pytest.approx(0.2 / 3**0.5)
    assert (row.seeds, row.paper, row.metric) == (3, 0.6, "accuracy")


def test_one_seed_has_no_spread() -> None:
    assert measured(lambda seed: 0.5, 1, method="M", setting="inductive").std == 0.0


def test_a_table_as_json_has_every_field_of_its_rows() -> None:
    row = Row("M", "inductive", "accuracy", 0.5, 0.1, 2, None, 1.0)
    content = ResultTable("t", [row], ["note"]).as_json()
    assert content["table"] == "t"
    assert content["rows"][0]["paper"] is None
    assert content["rows"][0]["protocol"] is None


def test_few_labels_keeps_that_many_of_each_class_and_hides_the_rest() -> None:
    y = np.repeat([0, 1, 2], 20)
    shown = few_labels(y, 4, seed=1)
    assert np.bincount(shown[shown >= 0]).tolist() == [4, 4, 4]
    assert (shown[shown >= 0] == y[shown >= 0]).all()
    assert not np.array_equal(shown, few_labels(y, 4, seed=2))


@needs("pubmed")
def test_test_nodes_leave_the_graph_and_their_labels_are_hidden() -> None:
    data = load("pubmed")
    graph, y = pubmed.inductive(data)
    assert graph.num_edges == 278 + 39_528  # LU and UU, no LL
    assert int(graph.degree[data.test].sum()) == 0
    assert (y[data.test] == -1).all()
    assert int((y >= 0).sum()) == 60 + 500


@pytest.mark.parametrize("module", [ag_news, blogcatalog, intents, pubmed])
def test_every_row_of_a_table_has_a_name(module: ModuleType) -> None:
    assert all(method.name for method in module.METHODS.values())


@pytest.mark.parametrize(
    ("name", "row", "total"), [("ag-news", "tiny", 2), ("intents", "lstm", 6), ("pubmed", "ffnn", 4)]
)
def test_a_plan_counts_the_seeds_of_its_rows(name: str, row: str, total: int) -> None:
    assert EXPERIMENTS[name].plan(Choices(seeds=2, rows=[row])).total == total


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_a_plan_refuses_rows_that_are_not_there(name: str) -> None:
    with pytest.raises(ValueError, match="unknown row 'nothing'"):
        EXPERIMENTS[name].plan(Choices(seeds=2, rows=["nothing"]))
