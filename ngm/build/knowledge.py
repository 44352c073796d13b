"""Graphs from triples (head, relation, tail): entities joined by their relations, or items by what they share."""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import scipy.sparse as sp
import torch
from numpy.typing import NDArray

from ngm._arguments import real_number, short_repr, whole_number
from ngm._spelling import nearest
from ngm.build.sparse import strongest
from ngm.graph import Graph
from ngm.io.tables import Frame, Table, read_table

Triples = Iterable[Sequence[Hashable]] | NDArray[np.generic] | Table | Frame
RelationWeights = Mapping[Hashable, float] | Literal["equal", "inverse_frequency"]


@dataclass(frozen=True, eq=False, repr=False)
class KnowledgeGraph:
    """A graph made from triples, and what its nodes and relations are called.

    Args:
        graph: A node per entity, or per item.
        entities: (n,) ids as they were given, in the order of the nodes.
        relations: How much a triple of each relation weighs, before damping.
        repeated: Triples that were there before and count once.
        left_out: Values that too many items share to say anything, as (relation, tail); `shared_graph` only.
    """

    graph: Graph
    entities: NDArray[np.generic]
    relations: dict[Hashable, float]
    repeated: int = 0
    left_out: tuple[tuple[Hashable, Hashable], ...] = ()

    def __repr__(self) -> str:
        """`KnowledgeGraph(3 nodes, 2 undirected edges, 1 relations)`."""
        return f"KnowledgeGraph({str(self.graph)[6:-1]}, {len(self.relations)} relations)"

    def rows(self, ids: Iterable[Hashable]) -> NDArray[np.int64]:
        """(b,) nodes of the entities that are called so."""
        try:
            return np.array([self._row[entity] for entity in ids], dtype=np.int64)
        except KeyError as error:
            raise ValueError(f"there is no entity {error.args[0]!r} among the {len(self._row)} of the graph") from None

    @cached_property
    def _row(self) -> dict[Hashable, int]:
        return {entity: row for row, entity in enumerate(self.entities.tolist())}


def knowledge_graph(
    triples: Triples,
    *,
    relation_weights: RelationWeights = "equal",
    hub_damping: float = 0.5,
    directed: bool = False,
    inverse: Mapping[Hashable, Hashable] | None = None,
) -> KnowledgeGraph:
    """Joins entities by their relations; the relations between two entities add up.

    Two entities with d_u and d_v neighbors have an edge of weight (sum of the weights of their relations) /
    (d_u d_v) ** hub_damping.

    Args:
        triples: m of (head, relation, tail), ids of any kind: a list, an (m, 3) array, or a table of three columns.
            A triple that is there twice counts once; one from an entity to itself makes no edge.
        relation_weights: What a triple of each relation weighs: 1 ("equal"); 1 + log(m / triples of the relation)
            ("inverse_frequency", so that rare relations count more); or weights by relation, 1 for those not named.
            Relations at 0 make no edges; their entities are still nodes.
        hub_damping: How much edges at entities with many neighbors are weakened; 0 leaves weights alone, 0.5 divides
            by the root of both degrees.
        directed: Keep edges from head to tail; else the two directions add up.
        inverse: Relations that say another one backwards: {"child of": "parent of"} reads (a, child of, b) as
            (b, parent of, a), so that a fact stated both ways counts once.

    Returns:
        The graph, with a node for every head and tail in the order in which they are first named.

    >>> known = knowledge_graph([("Ada", "wrote", "Notes"), ("Ada", "knew", "Charles")])
    >>> known.entities.tolist(), known.graph.weight.tolist()
    (['Ada', 'Notes', 'Charles'], [0.7071067690849304, 0.7071067690849304])
    """
    hub_damping = real_number("hub_damping", hub_damping, lambda power: 0 <= power < np.inf, "be at least 0")
    entities: dict[Hashable, int] = {}
    facts = _number_triples(triples, entities, entities, inverse)
    weights = _weights(facts, relation_weights)
    weight = weights[facts.relation]
    pairs = np.stack([facts.head, facts.tail], axis=1)[weight > 0]
    graph = Graph.from_edges(pairs, weight[weight > 0], len(entities), directed, merge="sum")
    if hub_damping and graph.num_edges:
        degree = _neighbors(graph)
        ends = degree[graph.edges.numpy()]  # (m, 2)
        with np.errstate(over="ignore"):  # then an edge weighs nothing
            damped = graph.weight.numpy() / (ends[:, 0] * ends[:, 1]) ** hub_damping
        graph = Graph.from_edges(graph.edges, damped, len(entities), directed)
    relation_weight_by_name = dict(zip(facts.relations, weights.tolist(), strict=True))
    return KnowledgeGraph(graph, _as_array(entities), relation_weight_by_name, facts.repeated)


def shared_graph(
    triples: Triples,
    k: int = 5,
    *,
    relation_weights: RelationWeights = "equal",
    hub_damping: float = 0.5,
    max_shared: int = 1000,
) -> KnowledgeGraph:
    """Joins items (heads) that share values (tails of the same relation): each with the `k` it shares most with.

    A value that c items have adds (weight of its relation) / (c - 1) ** (2 hub_damping) to each pair of them: at 0.5,
    each item gets the same in all from each of its values, however many share it. The full cliques are never made:
    memory is that of the triples and k edges per item.

    Args:
        triples: As for `knowledge_graph`: (item, property, value).
        k: Neighbors chosen per item; an item may get more when others choose it, and fewer when it shares with fewer.
        relation_weights: As for `knowledge_graph`.
        hub_damping: How much values that many items have are weakened; 0 counts them like any other.
        max_shared: Values that more items have are left out, and named in `left_out`: a value shared by c items
            costs c * c steps and says little.

    Returns:
        The graph, with a node for every head in the order in which they are first named.

    >>> films = [("Alien", "by", "Scott"), ("Blade Runner", "by", "Scott"), ("Heat", "by", "Mann")]
    >>> shared_graph(films).graph.edges.tolist()
    [[0, 1]]
    """
    k, max_shared = whole_number("k", k, least=1), whole_number("max_shared", max_shared, least=2)
    hub_damping = real_number("hub_damping", hub_damping, lambda power: 0 <= power < np.inf, "be at least 0")
    items: dict[Hashable, int] = {}
    values: dict[Hashable, int] = {}
    facts = _number_triples(triples, items, values, None)
    weights = _weights(facts, relation_weights)
    pair = facts.relation * len(values) + facts.tail  # a value is a tail together with its relation
    distinct, value, count = np.unique(pair, return_inverse=True, return_counts=True)
    relation = distinct // max(len(values), 1)
    useful = (count > 1) & (count <= max_shared) & (weights[relation] > 0)
    with np.errstate(over="ignore"):
        root = np.sqrt(weights[relation]) / np.maximum(count - 1, 1) ** hub_damping  # of what a pair gets
    selected = useful[value]
    shape = (len(items), len(distinct))
    rows = sp.csr_array(
        (root[value][selected].astype(np.float32), (facts.head[selected], value[selected])), shape=shape
    )
    product, neighbor = strongest(rows, k)
    shared = product > 0
    edges = torch.stack([shared.nonzero()[:, 0], neighbor[shared]], dim=1)
    names = list(values)
    left_out = tuple(
        (facts.relations[relation[i]], names[distinct[i] % len(values)]) for i in np.flatnonzero(count > max_shared)
    )
    relation_weight_by_name = dict(zip(facts.relations, weights.tolist(), strict=True))
    graph = Graph.from_edges(edges, product[shared], len(items))
    return KnowledgeGraph(graph, _as_array(items), relation_weight_by_name, facts.repeated, left_out)


@dataclass(frozen=True, eq=False)
class _Facts:
    """Triples by number, each once: (m,) head, relation and tail; the names of the relations; how many repeats."""

    head: NDArray[np.int64]
    relation: NDArray[np.int64]
    tail: NDArray[np.int64]
    relations: list[Hashable]
    repeated: int


def _number_triples(
    triples: Triples,
    heads: dict[Hashable, int],
    tails: dict[Hashable, int],
    inverse: Mapping[Hashable, Hashable] | None,
) -> _Facts:
    """Numbers entities and relations in order of appearance; `heads` and `tails` may be the same dict."""
    relations: dict[Hashable, int] = {}
    if inverse is not None and not isinstance(inverse, Mapping):
        raise ValueError(f"inverse is {short_repr(inverse)}; give a dict such as {{'child of': 'parent of'}}")
    inverse_names = dict(inverse or {})
    used: set[Hashable] = set()
    numbers = array("q")
    for head, relation, tail in _check_triples(triples):
        if relation in inverse_names:
            used.add(relation)
            head, relation, tail = tail, inverse_names[relation], head
        numbers.append(heads.setdefault(head, len(heads)))
        numbers.append(relations.setdefault(relation, len(relations)))
        numbers.append(tails.setdefault(tail, len(tails)))
    if not numbers:
        raise ValueError("there are no triples; give at least one (head, relation, tail)")
    for relation in inverse_names:
        if relation not in used:
            raise ValueError(_unknown_relation("inverse", relation, relations))
    facts = np.array(numbers, dtype=np.int64).reshape(-1, 3)
    ordered = facts[np.lexsort(facts.T)]
    is_first = np.append(True, (ordered[1:] != ordered[:-1]).any(axis=1))
    head, link, tail = ordered[is_first].T
    return _Facts(head, link, tail, list(relations), len(facts) - int(is_first.sum()))


def _check_triples(triples: Triples) -> Iterable[tuple[Hashable, Hashable, Hashable]]:
    """The triples one by one, checked."""
    rows: Iterable[Sequence[Hashable]]
    if isinstance(triples, np.ndarray):
        rows = triples.tolist()
    elif isinstance(triples, Table) or hasattr(triples, "columns"):
        table = read_table(triples)  # type: ignore[arg-type]
        if len(table.columns) != 3:
            raise ValueError(
                f"{table.name} has the columns {', '.join(table.columns)}; "
                "triples need three: head, relation and tail, in this order"
            )
        rows = zip(*(table.column(name).tolist() for name in table.columns), strict=True)
    else:
        rows = triples  # type: ignore[assignment]
    if not isinstance(rows, Iterable) or isinstance(rows, str | Mapping):
        raise ValueError(f"triples is {short_repr(triples)}; give a list of (head, relation, tail)")
    for number, row in enumerate(rows):
        if isinstance(row, str) or not hasattr(row, "__len__") or len(row) != 3:
            raise ValueError(f"triple {number} is {row!r}; give (head, relation, tail)")
        head, relation, tail = row
        if not all(isinstance(item, Hashable) for item in row):
            raise ValueError(f"triple {number} is {short_repr(tuple(row))}; give numbers or words")
        if any(_is_missing(item) for item in row):
            raise ValueError(f"triple {number} is {tuple(row)!r}; a triple needs a head, a relation and a tail")
        yield head, relation, tail


def _is_missing(value: object) -> bool:
    """None, NaN or pandas' NA."""
    return value is None or type(value).__name__ == "NAType" or value != value


def _weights(facts: _Facts, relation_weights: RelationWeights) -> NDArray[np.float64]:
    """(number of relations,) what a triple of each weighs."""
    if isinstance(relation_weights, str):
        if relation_weights == "equal":
            return np.ones(len(facts.relations))
        if relation_weights != "inverse_frequency":
            raise ValueError(
                f"relation_weights is {relation_weights!r}; choose 'equal' or 'inverse_frequency', or give weights "
                "by relation"
            )
        return 1 + np.log(len(facts.relation) / np.bincount(facts.relation))
    if not isinstance(relation_weights, Mapping):
        raise ValueError(
            f"relation_weights is {short_repr(relation_weights)}; choose 'equal' or 'inverse_frequency', or give "
            "weights by relation"
        )
    for relation, weight in relation_weights.items():
        if relation not in facts.relations:
            raise ValueError(_unknown_relation("relation_weights", relation, facts.relations))
        real_number(f"the weight of {relation!r}", weight, lambda number: 0 <= number < np.inf, "be at least 0")
    return np.array([float(relation_weights.get(relation, 1.0)) for relation in facts.relations])


def _unknown_relation(setting: str, relation: Hashable, relations: Iterable[Hashable]) -> str:
    names = [str(name) for name in relations]
    listed = ", ".join(names[:10]) + (", ..." if len(names) > 10 else "")
    return f"{setting} names {relation!r}{nearest(str(relation), names)}, and no triple has it; relations are {listed}"


def _neighbors(graph: Graph) -> NDArray[np.float64]:
    """(n,) number of distinct neighbors, whatever the direction."""
    if not graph.directed:
        return graph.degree.numpy().astype(np.float64)
    return Graph.from_edges(graph.edges, num_nodes=graph.num_nodes).degree.numpy().astype(np.float64)


def _as_array(names: Mapping[Hashable, int]) -> NDArray[np.generic]:
    """Whole numbers or words as an array of their own type, a mixture as one of objects."""
    kinds = {type(name) for name in names}
    if kinds <= {int} or kinds <= {str}:
        return np.array(list(names))
    mixed = np.empty(len(names), dtype=object)
    mixed[:] = list(names)
    return mixed
