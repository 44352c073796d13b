from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from ngm.datasets import Dataset, load
from ngm.datasets.blogcatalog import read, split
from ngm.experiments.blogcatalog import protocol as blogcatalog
from ngm.experiments.blogcatalog.methods import (
    BlogCatalogMethod,
    Bloggers,
    Floats,
    Ids,
    JointNetwork,
    LabelNetworks,
    Scorer,
    linear,
    weighted_bce,
)
from ngm.experiments.scores import Score, Scores
from ngm.metrics import best_thresholds, f1
from tests.conftest import needs


@pytest.fixture
def few(tmp_path: Path) -> Dataset:
    """Two circles of ten bloggers each, joined by one friendship; an interest for each, and one that both share."""
    (tmp_path / "nodes.csv").write_text("\n".join(map(str, range(1, 21))), encoding="utf-8")
    (tmp_path / "groups.csv").write_text("1\n2\n3\n", encoding="utf-8")
    pairs = [(a, b) for c in (0, 10) for a in range(c + 1, c + 11) for b in range(a + 1, c + 11)] + [(1, 11)]
    (tmp_path / "edges.csv").write_text("\n".join(f"{a},{b}" for a, b in pairs), encoding="utf-8")
    groups = [(n, 1 if n <= 10 else 2) for n in range(1, 21)] + [(n, 3) for n in range(1, 21, 2)]
    (tmp_path / "group-edges.csv").write_text("\n".join(f"{n},{g}" for n, g in groups), encoding="utf-8")
    return read(tmp_path)


def test_ids_begin_at_one_and_a_blogger_may_have_several_interests(few: Dataset) -> None:
    assert few.graph is not None
    assert few.graph.neighbors(0).tolist() == [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]
    assert few.y[0].tolist() == [1, 0, 1]
    assert few.y[19].tolist() == [0, 1, 0]
    assert few.x[[1]].toarray()[0].nonzero()[0].tolist() == list(range(10))  # its own index among its friends'
    assert few.classes == ("interest 1", "interest 2", "interest 3")


@needs("blogcatalog")
def test_the_counts_are_those_of_the_literature() -> None:
    data = load("blogcatalog")
    assert data.graph is not None
    assert (data.graph.num_nodes, data.graph.num_edges, data.graph.duplicates) == (10_312, 333_983, 0)
    assert (data.y.shape, int(data.y.sum()), int(data.y.sum(axis=0).min())) == ((10_312, 39), 14_476, 8)
    assert data.x.nnz == 2 * 333_983 + 10_312


def test_a_split_is_every_node_once_and_larger_shares_hold_the_smaller_ones() -> None:
    train, test = split(100, 0.2, seed=3)
    assert sorted([*train, *test]) == list(range(100))
    assert len(train) == 20
    assert set(train) <= set(split(100, 0.5, seed=3)[0])
    assert not np.array_equal(train, split(100, 0.2, seed=4)[0])


def test_best_thresholds_are_those_of_a_search_over_all_of_them() -> None:
    rng = np.random.default_rng(0)
    y = (rng.random((40, 5)) < 0.3).astype(int)
    y[:, 4] = 0
    scores = np.round(y + rng.normal(size=y.shape), 1)  # with equal scores among them
    found = best_thresholds(y, scores)
    assert found[4] == np.inf
    for label in range(4):
        column = y[:, [label]], scores[:, [label]]
        best = max(f1(*column, threshold=t) for t in np.unique(scores) - 0.05)
        assert f1(*column, threshold=float(found[label])) == pytest.approx(best)


def test_between_neighbouring_floats_the_threshold_is_the_upper_one() -> None:
    low = np.float64(0.3)
    high = np.nextafter(low, 1)
    assert best_thresholds([[1], [0]], [[high], [low]]).tolist() == [high]
    assert best_thresholds([[1], [1]], [[0.5], [0.4]]).tolist() == [0.4]  # all are taken


def test_a_label_that_all_or_none_have_costs_no_nan() -> None:
    logits, y = torch.zeros(4, 2), torch.tensor([[1.0, 0.0]] * 4)
    assert torch.isfinite(weighted_bce(y.long().numpy(), 1.0)(logits, y)).all()


def test_positives_of_a_rare_label_weigh_more_and_weights_average_to_one() -> None:
    truth = np.array([[1, 1], [0, 1], [0, 0], [0, 0]])
    logits, y = torch.zeros(4, 2), torch.from_numpy(truth).float()
    plain = F.binary_cross_entropy_with_logits(logits, y, reduction="none").sum(dim=1)
    torch.testing.assert_close(weighted_bce(truth, 0.0)(logits, y), plain)
    whole = weighted_bce(truth, 1.0)(logits, y) / np.log(2)  # at balance 1 both sides of a label weigh the same
    torch.testing.assert_close(whole, torch.tensor([2.0 + 1.0, 2 / 3 + 1, 2 / 3 + 1, 2 / 3 + 1]))


@pytest.mark.parametrize("alpha", [0.0, 0.05])
def test_networks_and_the_joint_network_learn_the_circles(few: Dataset, alpha: float) -> None:
    bloggers, labeled = Bloggers(few), np.array([0, 3, 6, 9, 10, 13, 16, 19])
    bloggers.__dict__["wide_netmf"] = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)  # too few nodes for 256
    others = np.setdiff1d(np.arange(20), labeled)
    for scorer in (LabelNetworks(alpha, steps=(60, 60, 60), batch_size=16), JointNetwork(alpha)):
        logits = scorer(bloggers, labeled, 0)
        assert ((logits[others, :2] > 0) == (few.y[others, :2] > 0)).all()


def what_it_is_shown(bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
    """Scores that tell which nodes were labelled, so that a leak shows."""
    scores = np.full(bloggers.data.y.shape, -1.0)
    scores[labeled] = np.where(bloggers.data.y[labeled] > 0, 1.0, -1.0)
    return scores


def test_the_table_shows_no_method_the_labels_it_is_scored_on(few: Dataset) -> None:
    for folds in (1, 4):
        cell = blogcatalog.BlogCatalogCell(
            BlogCatalogMethod("learns by heart", {"": what_it_is_shown}, folds=folds), Bloggers(few), 50
        )
        found, _ = cell.score(0)
        assert found["macro_f1 independent fixed"] == 0.0
        ids, guesses = cell._held_out(split(20, 0.5, 0)[0], 0)
        assert (guesses[""] == -1).all()
        assert len(np.unique(ids)) == len(ids) == (2 if folds == 1 else 10)


@pytest.mark.parametrize(
    "scorer", [LabelNetworks(0.1, steps=(3, 3, 3), batch_size=16), JointNetwork(0.01, steps=3), linear("wide_netmf")]
)
def test_no_method_looks_at_labels_that_are_hidden(few: Dataset, scorer: Scorer) -> None:
    labeled, found = np.array([0, 3, 6, 9, 10, 13, 16, 19]), []
    for turned in (False, True):
        y = few.y.copy()
        hidden = np.setdiff1d(np.arange(20), labeled)
        y[hidden] = 1 - y[hidden] if turned else y[hidden]
        bloggers = Bloggers(replace(few, y=y))
        bloggers.__dict__["wide_netmf"] = np.repeat(np.eye(2, dtype=np.float32), 10, axis=0)
        found.append(scorer(bloggers, labeled, 0))
    np.testing.assert_array_equal(*found)


def test_chosen_thresholds_mend_scores_that_are_all_too_low(few: Dataset) -> None:
    def low(bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        return bloggers.data.y - 5.0

    found, _ = blogcatalog.BlogCatalogCell(BlogCatalogMethod("low", {"": low}), Bloggers(few), 50).score(0)
    assert found["macro_f1 independent fixed"] == 0.0
    assert found["macro_f1 independent chosen"] == 1.0
    assert found["micro_f1 top_k"] == 1.0


def test_validation_chooses_the_better_candidate(few: Dataset) -> None:
    def right(bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        return bloggers.data.y - 0.5

    def wrong(bloggers: Bloggers, labeled: Ids, seed: int) -> Floats:
        return np.random.default_rng(seed).random(bloggers.data.y.shape)

    assert (
        blogcatalog.BlogCatalogCell(
            BlogCatalogMethod("two", {"wrong": wrong, "right": right}), Bloggers(few), 50
        ).score(0)[1]
        == "right"
    )


def test_the_table_has_a_row_for_every_metric_and_the_papers_figure_at_one_of_them(
    few: Dataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(blogcatalog, "load", lambda name, progress: few)
    called: list[str] = []
    table = blogcatalog.run(["ngm"], seeds=2, shares=[50], on_seed=called.append, scores=_known())
    assert called == ["NGM-FFNN, 50 %"] * 2
    assert len(table.rows) == 9
    (paper,) = [row for row in table.rows if row.paper is not None]
    assert (paper.metric, paper.protocol, paper.threshold, paper.paper) == ("macro_f1", "independent", "fixed", 0.242)
    assert paper.mean == pytest.approx(0.25)
    assert paper.setting == "train=50%"


def _known() -> Scores:
    """Scores as if they had been kept: 0.2 and 0.3 everywhere."""

    class Known(Scores):
        def get(self, of: object, cell: object, seed: int) -> Score:
            names = [
                blogcatalog._name(metric, protocol, which)
                for protocol, which in blogcatalog._COLUMNS
                for metric, _, _ in blogcatalog._METRICS
            ]
            return Score(0.2 + seed / 10, 1.0, "", dict.fromkeys(names, 0.2 + seed / 10))

    return Known()


@pytest.mark.parametrize(
    ("rows", "shares", "text"),
    [
        (["ngm", "netfm"], [20], r"unknown row 'netfm' \(did you mean 'netmf'\?\); choose from ffnn, ngm"),
        (["ngm", "ffnn", "ngm"], [20], "row 'ngm' is given twice; name each once"),
        (["ngm"], [50, 50], "training share 50 is given twice; name each once"),
        (["ngm"], [20, 100], "training share is 100 %; give whole numbers between 1 and 99, such as 20,50,80"),
    ],
)
def test_rows_and_shares_that_are_not_there_are_refused(rows: list[str], shares: list[int], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        blogcatalog.check(rows, shares)
