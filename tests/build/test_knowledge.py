"""Graphs from triples: entities joined by relations, items by what they share."""

from __future__ import annotations

import itertools
import math
from collections import defaultdict

import numpy as np
import pandas as pd
import pytest

from ngm import Graph
from ngm.build import sparse
from ngm.build.knowledge import KnowledgeGraph, knowledge_graph, shared_graph
from ngm.io.tables import read_table

FAMILY = [
    ("Ann", "parent of", "Bob"),
    ("Ann", "parent of", "Cas"),
    ("Bob", "friend of", "Cas"),
    ("Cas", "friend of", "Bob"),
    ("Ann", "lives in", "Rome"),
]


def named(known: KnowledgeGraph) -> dict[tuple[str, str], float]:
    name = known.entities.tolist()
    ends = known.graph.edges.tolist()
    return {(name[u], name[v]): w for (u, v), w in zip(ends, known.graph.weight.tolist(), strict=True)}


def random_triples(count: int = 400, seed: int = 0) -> list[tuple[str, str, str]]:
    rng = np.random.default_rng(seed)
    rows = np.stack([rng.integers(60, size=count), rng.integers(4, size=count), rng.integers(25, size=count)], axis=1)
    return [(f"item{h}", f"r{r}", f"value{t}") for h, r, t in rows]


def test_relations_between_two_entities_add_up() -> None:
    known = knowledge_graph(FAMILY, hub_damping=0)
    assert known.entities.tolist() == ["Ann", "Bob", "Cas", "Rome"]
    assert named(known) == {("Ann", "Bob"): 1, ("Ann", "Cas"): 1, ("Ann", "Rome"): 1, ("Bob", "Cas"): 2}
    assert known.relations == {"parent of": 1, "friend of": 1, "lives in": 1}
    assert repr(known) == "KnowledgeGraph(4 nodes, 4 undirected edges, 3 relations)"


def test_edges_at_hubs_are_divided_by_the_root_of_both_degrees() -> None:
    # Ann has three neighbours, Bob and Cas two, Rome one
    assert named(knowledge_graph(FAMILY)) == pytest.approx(
        {
            ("Ann", "Bob"): 1 / math.sqrt(6),
            ("Ann", "Cas"): 1 / math.sqrt(6),
            ("Ann", "Rome"): 1 / math.sqrt(3),
            ("Bob", "Cas"): 2 / 2,
        }
    )
    assert named(knowledge_graph(FAMILY, hub_damping=1))["Ann", "Bob"] == pytest.approx(1 / 6)


def test_directed_edges_go_from_head_to_tail_and_hubs_count_both_ways() -> None:
    known = knowledge_graph(FAMILY, directed=True)
    assert known.graph.directed
    assert named(known) == pytest.approx(
        {
            ("Ann", "Bob"): 1 / math.sqrt(6),
            ("Ann", "Cas"): 1 / math.sqrt(6),
            ("Ann", "Rome"): 1 / math.sqrt(3),
            ("Bob", "Cas"): 1 / 2,
            ("Cas", "Bob"): 1 / 2,
        }
    )


def test_relation_weights_are_given_or_come_from_frequency() -> None:
    given = knowledge_graph(FAMILY, relation_weights={"friend of": 0.25, "lives in": 0}, hub_damping=0)
    assert named(given) == {("Ann", "Bob"): 1, ("Ann", "Cas"): 1, ("Bob", "Cas"): 0.5}
    assert given.entities.tolist()[-1] == "Rome"  # still a node
    by_frequency = knowledge_graph(FAMILY, relation_weights="inverse_frequency", hub_damping=0)
    assert by_frequency.relations == pytest.approx(
        {"parent of": 1 + math.log(5 / 2), "friend of": 1 + math.log(5 / 2), "lives in": 1 + math.log(5)}
    )
    assert named(by_frequency)["Ann", "Rome"] == pytest.approx(1 + math.log(5))


def test_a_relation_at_weight_zero_does_not_make_hubs() -> None:
    without = [triple for triple in FAMILY if triple[1] != "lives in"]
    off = named(knowledge_graph(FAMILY, relation_weights={"lives in": 0}))
    assert off == pytest.approx(named(knowledge_graph(without)))


def test_repeats_count_once_and_facts_told_backwards_too() -> None:
    told = [("Ann", "parent of", "Bob"), ("Ann", "parent of", "Bob"), ("Bob", "child of", "Ann"), ("Ann", "is", "Ann")]
    both = knowledge_graph(told, hub_damping=0)
    assert (named(both), both.repeated, both.graph.self_loops) == ({("Ann", "Bob"): 2}, 1, 1)
    turned = knowledge_graph(told, hub_damping=0, inverse={"child of": "parent of"})
    assert (named(turned), turned.repeated) == ({("Ann", "Bob"): 1}, 2)
    assert list(turned.relations) == ["parent of", "is"]


def test_entities_agree_with_a_plain_loop() -> None:
    triples = random_triples()
    total: dict[frozenset[str], float] = defaultdict(float)
    for head, _, tail in set(triples):
        total[frozenset((head, tail))] += 1
    degree: dict[str, int] = defaultdict(int)
    for pair in total:
        for end in pair:
            degree[end] += 1
    expected = {pair: w / math.prod(degree[end] for end in pair) ** 0.3 for pair, w in total.items()}
    found = {frozenset(pair): w for pair, w in named(knowledge_graph(triples, hub_damping=0.3)).items()}
    assert found == pytest.approx(expected)


def test_the_order_of_the_triples_only_renames_the_nodes() -> None:
    triples = random_triples()
    forward, backward = (named(knowledge_graph(t)) for t in (triples, triples[::-1]))
    assert {frozenset(p): w for p, w in forward.items()} == pytest.approx(
        {frozenset(p): w for p, w in backward.items()}
    )


def test_triples_are_taken_in_any_form() -> None:
    frame = pd.DataFrame(FAMILY, columns=["who", "how", "whom"])
    expected = named(knowledge_graph(FAMILY))
    for form in (np.array(FAMILY), frame, read_table(frame), [list(t) for t in FAMILY], iter(FAMILY)):
        assert named(knowledge_graph(form)) == pytest.approx(expected)


def test_ids_of_any_kind_are_given_back_as_they_were() -> None:
    numbers = knowledge_graph([(7, 0, 9), (9, 1, 8)])
    assert (numbers.entities.tolist(), numbers.entities.dtype) == ([7, 9, 8], np.int64)
    assert numbers.rows([8, 7]).tolist() == [2, 0]
    mixed = knowledge_graph([(7, "r", "seven"), ((1, 2), "r", "7")])
    assert mixed.entities.tolist() == [7, "seven", (1, 2), "7"]
    with pytest.raises(ValueError, match=r"^there is no entity 'eight' among the 4 of the graph$"):
        mixed.rows(["eight"])


FILMS = [
    ("Alien", "by", "Scott"),
    ("Blade Runner", "by", "Scott"),
    ("Gladiator", "by", "Scott"),
    ("Alien", "year", "1979"),
    ("Manhattan", "year", "1979"),
    ("Heat", "by", "Mann"),
]


def test_items_that_share_a_value_are_joined() -> None:
    known = shared_graph(FILMS)
    # Scott's three films share him: 1 / (3 - 1); 1979 has two: 1 / (2 - 1)
    assert named(known) == pytest.approx(
        {
            ("Alien", "Blade Runner"): 0.5,
            ("Alien", "Gladiator"): 0.5,
            ("Alien", "Manhattan"): 1,
            ("Blade Runner", "Gladiator"): 0.5,
        }
    )
    assert known.entities.tolist() == ["Alien", "Blade Runner", "Gladiator", "Manhattan", "Heat"]
    assert known.graph.degree[4] == 0


def test_the_same_tail_under_another_relation_is_another_value() -> None:
    assert shared_graph([("a", "born in", "Rome"), ("b", "died in", "Rome")]).graph.num_edges == 0


@pytest.mark.parametrize("rows_at_once", [1, 7, 2048])
def test_shared_values_agree_with_a_plain_loop(rows_at_once: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse, "_CHUNK_ROWS", rows_at_once)
    triples, weight = random_triples(), {"r0": 2.0, "r1": 0.5, "r2": 0.0}
    having: dict[tuple[str, str], set[str]] = defaultdict(set)
    for head, relation, tail in triples:
        having[relation, tail].add(head)
    expected: dict[frozenset[str], float] = defaultdict(float)
    for (relation, _), items in having.items():
        for pair in itertools.combinations(items, 2):
            expected[frozenset(pair)] += weight.get(relation, 1.0) / (len(items) - 1) ** 0.6
    found = named(shared_graph(triples, k=60, relation_weights=weight, hub_damping=0.3))
    assert {frozenset(p): w for p, w in found.items()} == pytest.approx({p: w for p, w in expected.items() if w > 0})


def test_at_the_default_damping_each_value_gives_its_items_one_in_all() -> None:
    for count in (2, 5, 40):
        hub = [(f"item{i}", "tag", "common") for i in range(count)]
        strength = shared_graph(hub, k=count).graph.to_scipy().sum(axis=1)
        np.testing.assert_allclose(strength, np.ones(count), rtol=1e-5)


def test_an_item_chooses_the_k_that_it_shares_most_with() -> None:
    shared = {"ab": 3, "ac": 2, "cd": 1, "ae": 1, "ef": 2}
    triples = [(item, "has", f"{pair}{i}") for pair, count in shared.items() for item in pair for i in range(count)]
    found = named(shared_graph(triples, k=1))
    assert found == {("a", "b"): 3, ("a", "c"): 2, ("c", "d"): 1, ("e", "f"): 2}  # nobody's best is a with e


def test_values_that_too_many_share_are_left_out_and_named() -> None:
    triples = [(f"item{i}", "tag", "common") for i in range(6)] + [("item0", "by", "X"), ("item1", "by", "X")]
    known = shared_graph(triples, max_shared=5)
    assert known.left_out == (("tag", "common"),)
    assert named(known) == {("item0", "item1"): 1}
    whole = shared_graph(triples, max_shared=6)
    assert (whole.left_out, whole.graph.num_edges) == ((), 15)


def test_memory_is_k_edges_an_item_however_many_share_a_value() -> None:
    triples = [(i, "tag", i % 3) for i in range(1500)]
    known = shared_graph(triples, k=4)
    assert isinstance(known.graph, Graph)
    assert known.graph.num_edges <= 4 * 1500


@pytest.mark.parametrize("make", [knowledge_graph, shared_graph])
def test_triples_that_are_none_are_refused_by_number(make: type) -> None:
    with pytest.raises(ValueError, match=r"^there are no triples; give at least one \(head, relation, tail\)$"):
        make([])
    with pytest.raises(ValueError, match=r"^triple 1 is \('a', 'b'\); give \(head, relation, tail\)$"):
        make([("a", "r", "b"), ("a", "b")])
    with pytest.raises(ValueError, match=r"^triple 0 is 'abc'; give \(head, relation, tail\)$"):
        make(["abc"])
    with pytest.raises(
        ValueError, match=r"^triple 0 is \('a', None, 'b'\); a triple needs a head, a relation and a tail$"
    ):
        make([("a", None, "b")])
    with pytest.raises(ValueError, match=r"^triple 0 is \('a', 'r', nan\); a triple needs a head"):
        make([("a", "r", float("nan"))])
    message = r"has the columns a, b; triples need three: head, relation and tail, in this order$"
    with pytest.raises(ValueError, match=message):
        make(pd.DataFrame({"a": [1], "b": [2]}))


@pytest.mark.parametrize("make", [knowledge_graph, shared_graph])
def test_settings_that_name_no_relation_or_make_no_sense_are_refused(make: type) -> None:
    message = (
        r"^relation_weights names 'parent off' \(did you mean 'parent of'\?\), and no triple has it; "
        r"relations are parent of, friend of, lives in$"
    )
    with pytest.raises(ValueError, match=message):
        make(FAMILY, relation_weights={"parent off": 2})
    with pytest.raises(ValueError, match=r"^the weight of 'lives in' is -1; it must be at least 0$"):
        make(FAMILY, relation_weights={"lives in": -1})
    with pytest.raises(ValueError, match=r"^relation_weights is 'idf'; choose 'equal' or 'inverse_frequency', or give"):
        make(FAMILY, relation_weights="idf")
    for value in (-0.5, math.nan):
        with pytest.raises(ValueError, match=rf"^hub_damping is {value}; it must be at least 0$"):
            make(FAMILY, hub_damping=value)


def test_more_settings_that_make_no_sense() -> None:
    with pytest.raises(ValueError, match=r"^inverse names 'child of', and no triple has it; relations are parent of"):
        knowledge_graph(FAMILY, inverse={"child of": "parent of"})
    with pytest.raises(ValueError, match=r"^k is 0; it must be a whole number of at least 1$"):
        shared_graph(FILMS, k=0)
    with pytest.raises(ValueError, match=r"^max_shared is 1; it must be a whole number of at least 2$"):
        shared_graph(FILMS, max_shared=1)
