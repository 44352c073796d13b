"""The AG News table on made-up articles: what is in the graph, what is kept, which rows there are."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from ngm.datasets import ag_news as ag_news_data
from ngm.experiments.ag_news import methods as articles
from ngm.experiments.ag_news import protocol as ag_news
from ngm.experiments.ag_news.methods import AgNewsMethod, Articles
from ngm.experiments.scores import Scores

TOPICS = (("war", "peace", "treaty"), ("goal", "match", "team"), ("stock", "market", "profit"), ("chip", "web", "code"))


def texts_of(count: int, seed: int) -> list[tuple[int, str]]:
    rng = np.random.default_rng(seed)
    return [(i % 4, " ".join(rng.choice(TOPICS[i % 4], 6)) + f" {i}") for i in range(count)]


@pytest.fixture
def made_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Articles:
    """80 training articles, 40 unlabelled, 20 test articles; words of a topic have like vectors."""
    folder = tmp_path / "ag_news"
    folder.mkdir()
    for name, count, seed in (("train_partial.csv", 80, 0), ("test.csv", 20, 1)):
        with (folder / name).open("w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows((label + 1, name, text) for label, text in texts_of(count, seed))
    with (folder / "unlabeled.csv").open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows((f"unlabelled {text}",) for _, text in texts_of(40, 2))
    rng = np.random.default_rng(0)
    words = [word for topic in TOPICS for word in topic]
    vectors = np.repeat(np.eye(4), 3, axis=0) + 0.3 * rng.standard_normal((12, 4))
    np.savez(tmp_path / "words.npz", words=np.array(words), vectors=vectors)
    monkeypatch.setattr(articles, "_glove", lambda progress: tmp_path / "words.npz")
    monkeypatch.setattr(ag_news, "load", lambda name, progress: ag_news_data.read(folder))
    monkeypatch.setattr(articles, "VALIDATION_INTERVAL", 2)
    monkeypatch.setattr(articles, "BATCH", 128)
    few = {key: replace(method, steps=4) for key, method in ag_news.METHODS.items()}
    monkeypatch.setattr(ag_news, "METHODS", few)
    return Articles(ag_news_data.read(folder))


def test_the_graph_has_training_and_unlabelled_articles_only(made_up: Articles) -> None:
    assert len(made_up.validation) == 8
    assert set(made_up.validation) <= set(made_up.data.train)
    assert set(made_up.nodes) == set(range(140)) - set(made_up.validation) - set(made_up.data.test)
    assert made_up.graph.num_nodes == made_up.near.num_nodes == len(made_up.nodes) == 112
    assert int(made_up.graph.degree.max()) <= 5


def test_few_labels_are_as_many_of_each_class_and_others_for_each_seed(made_up: Articles) -> None:
    first, second = made_up.training_labels(8, 0), made_up.training_labels(8, 1)
    for shown in (first, second):
        assert np.bincount(shown[shown >= 0]).tolist() == [2, 2, 2, 2]
        assert bool((shown[shown >= 0] == made_up.y[shown >= 0]).all())
    assert first.tolist() != second.tolist()
    assert made_up.training_labels(None, 0).tolist() == made_up.y.tolist()


def test_more_labels_than_there_are_articles_is_refused(made_up: Articles) -> None:
    with pytest.raises(ValueError, match="100 labelled articles of 'World' are required, but there are 18"):
        made_up.training_labels(400, 0)


def test_a_shuffled_graph_has_the_same_degrees_between_other_articles(made_up: Articles) -> None:
    graph = made_up.near
    other = articles._shuffled(graph)
    assert sorted(other.degree.tolist()) == sorted(graph.degree.tolist())
    assert other.degree.tolist() != graph.degree.tolist()
    same = made_up.y[other.edges.numpy()]
    known = same[(same >= 0).all(axis=1)]
    assert 0.15 < float((known[:, 0] == known[:, 1]).mean()) < 0.4  # chance; 1 in the graph itself


def test_rows_that_learn_from_edges_see_as_many_labels_a_step_as_those_that_do_not(made_up: Articles) -> None:
    shown = made_up.training_labels(None, 0)
    articles.BATCH = 16
    edges, _ = articles._loader_and_loss(made_up, ag_news.METHODS["ngm"], shown, 0)
    assert edges.totals.num_labeled == int((shown >= 0).sum()) == 72
    assert len(edges) == 5
    few, _ = articles._loader_and_loss(made_up, ag_news.METHODS["ngm"], made_up.training_labels(8, 0), 0)
    assert len(few) == -(-made_up.graph.num_edges // 64)  # not all edges at once


def test_soft_labels_are_learned_for_all_articles_of_the_graph(made_up: Articles) -> None:
    loader, loss = articles._loader_and_loss(made_up, ag_news.METHODS["ours"], made_up.training_labels(8, 0), 0)
    assert loader.totals.num_labeled == len(made_up.nodes)
    assert loss.kinds == [frozenset()]
    found = torch.cat([batch.y[batch.label_share > 0].argmax(dim=1) for batch in loader])
    labeled = np.bincount(made_up.y[made_up.y >= 0])
    assert torch.bincount(found).tolist() == (labeled + 10).tolist()  # the topics are easy to tell apart


def test_a_row_gives_accuracy_and_what_it_took(made_up: Articles) -> None:
    table = ag_news.run(["tiny", "ngm", "ours", "ours-shuffled"], seeds=2)
    assert {row.metric for row in table.rows} == {"accuracy", "validation", "seconds", "steps"}
    for row in table.rows:
        assert (row.setting, row.dataset, row.labels, row.seeds) == ("inductive", "ag_news", 72, 2)
        assert 0 <= row.mean <= (1 if row.metric in ("accuracy", "validation") else 60)
    papers = {row.method: row.paper for row in table.rows if row.metric == "accuracy"}
    assert papers["tiny CNN"] == 0.8507
    assert papers["tiny CNN with NGM"] == 0.8690
    assert "80 of the 120,000 official training articles" in table.notes[0]


def test_finished_seeds_are_kept_and_not_run_again(
    made_up: Articles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(
        articles: Articles, method: AgNewsMethod, labels: int | None, seed: int, steps: int, folder: Path | None
    ) -> Mapping[str, float]:
        calls.append((method.name, labels, seed))
        return {"accuracy": 0.5, "validation": 0.5, "seconds": 1.0, "steps": 2.0}

    monkeypatch.setattr(ag_news, "scores", counted)
    monkeypatch.setattr(ag_news, "LABELS", (8, None))
    keep = tmp_path / "kept.jsonl"
    ag_news.run(["tiny"], seeds=1, curve=True, scores=Scores(keep))
    seen: list[str] = []
    table = ag_news.run(["tiny", "ours"], seeds=2, curve=True, scores=Scores(keep), on_seed=seen.append)
    assert len(calls) == len(set(calls)) == 8
    assert len(seen) == 8 == ag_news.count(["tiny", "ours"], 2, False, points=True)
    assert seen[0] == "tiny CNN, 8 labels"
    assert [row.labels for row in table.rows if row.metric == "accuracy"] == [8, 72, 8, 72]


def test_the_large_network_is_trained_once_and_only_where_it_is_named() -> None:
    assert ag_news.count(["large", "tiny"], 3, quick=False) == 4
    assert ag_news.count(None, 3, quick=False) == 3 * (len(ag_news.METHODS) - 2)


def test_a_stopped_seed_goes_on_from_its_last_epoch_to_the_same_score(
    made_up: Articles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep, evaluated = tmp_path / "kept.jsonl", []
    accuracy = Articles.accuracy

    def interrupted(self: Articles, network: nn.Module, ids: articles.Ids, bfloat16: bool) -> float:
        evaluated.append(len(ids))
        if len(evaluated) == 3:
            raise KeyboardInterrupt
        return accuracy(self, network, ids, bfloat16)

    whole = ag_news.run(["tiny"], seeds=1, steps=8)
    monkeypatch.setattr(Articles, "accuracy", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ag_news.run(["tiny"], seeds=1, steps=8, scores=Scores(keep))
    assert not keep.exists()  # no score of half a training
    assert len(list(tmp_path.glob("kept.jsonl.unfinished/*/checkpoint/state.safetensors"))) == 1
    parts = ag_news.run(["tiny"], seeds=1, steps=8, scores=Scores(keep))
    assert evaluated == [8] * 3 + [8, 20]  # two epochs, the third stopped; the third again, and test articles
    assert not list(tmp_path.glob("kept.jsonl.unfinished/*"))
    for metric in ("accuracy", "validation", "steps"):
        first, second = ([row.mean for row in table.rows if row.metric == metric] for table in (whole, parts))
        assert first == second


def test_steps_of_the_command_replace_those_of_the_rows_and_are_told(made_up: Articles) -> None:
    ag_news.METHODS["tiny"] = replace(ag_news.METHODS["tiny"], epoch_steps=1)
    table = ag_news.run(["tiny"], seeds=1, steps=3)
    assert "steps of 128 articles at most, in whole epochs: tiny CNN 3;" in table.notes[2]
    assert 1 <= next(row.mean for row in table.rows if row.metric == "steps") <= 3


def test_a_row_that_needs_a_thesaurus_is_left_out_where_there_is_none(
    made_up: Articles, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nowhere() -> Path:
        raise FileNotFoundError("no English thesaurus is installed")

    monkeypatch.setattr(ag_news.mythes, "installed", nowhere)
    table = ag_news.run(["tiny-thesaurus"], seeds=1)
    assert not table.rows
    assert table.notes[-1] == "tiny CNN + thesaurus is left out: no English thesaurus is installed"


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (["tinny"], "unknown row 'tinny' \\(did you mean 'tiny'\\?\\); choose from small, "),
        (["tiny", "tiny"], "row 'tiny' is given twice; name each once"),
    ],
)
def test_rows_that_cannot_be_run_are_refused(rows: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ag_news.check(rows)
