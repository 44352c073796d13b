"""`Features`: how x is made from a table, fitted once, kept in a run folder, applied to new tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias, cast, get_args

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from ngm._spelling import nearest
from ngm.features.columns import Columns
from ngm.features.feature_rows import FeatureRows, X
from ngm.features.node_inputs import Nodes
from ngm.features.text_vectors import TextVectors
from ngm.features.tfidf import TfidfColumns
from ngm.graph import Graph
from ngm.io.run_folder import JSON, Run, load_tensors, save_tensors
from ngm.io.table_columns import column_texts
from ngm.io.tables import Table
from ngm.io.tables.stream import Holds
from ngm.text.encoders import FITTED, Encoder
from ngm.text.encoders.encoder import OnTexts

Read: TypeAlias = Literal["text", "words", "vectors", "columns", "graph"]
FORMAT, VERSION = "ngm-features", 1
_JSON, _ARRAYS = "features.json", "features.safetensors"


class FeaturePart(Protocol):
    """One way to read a table."""

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read."""

    @property
    def width(self) -> int | None:
        """Width of a row of x; None for texts."""

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold."""

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """X of a table whose first row has this number."""

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`."""


@dataclass(frozen=True)
class Strings:
    """The texts themselves, for a network that reads texts."""

    names: tuple[str, ...]
    width: None = None

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold."""
        return dict.fromkeys(self.names, "text")

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """N texts."""
        return FeatureRows(column_texts(table, self.names))

    def as_json(self) -> dict[str, JSON]:
        """For `features.json`."""
        return {"text": list(self.names)}

    def arrays(self) -> dict[str, Tensor]:
        """For `features.safetensors`: nothing."""
        return {}

    @classmethod
    def from_json(cls, content: Mapping[str, JSON], arrays: Mapping[str, Tensor]) -> Strings:
        """Takes back what was kept."""
        return cls(tuple(cast("list[str]", content["text"])))


@dataclass(frozen=True, eq=False)
class Features:
    """How rows x for a network are made from a table.

    >>> from ngm import read_table
    >>> table = read_table({"size": [1.0, 3.0], "shape": ["round", "square"]})
    >>> features, x = Features.fit(table, columns=["size", "shape"], read="columns")
    >>> x.tolist()
    [[-1.0, 1.0, 0.0], [1.0, 0.0, 1.0]]
    >>> features.rows(read_table({"shape": ["round"], "size": [5.0]})).tolist()
    [[3.0, 1.0, 0.0]]

    Args:
        kind: "text": the texts themselves; "words": TF-IDF rows of them; "vectors": what encoders make of them;
            "columns": numbers and categories; "graph": rows made from the graph.
        part: What was fitted.
    """

    kind: Read
    part: FeaturePart

    @classmethod
    def fit(
        cls,
        table: Table | None,
        *,
        text: Sequence[str] = (),
        columns: Sequence[str] = (),
        read: Read,
        graph: Graph | None = None,
        ids: NDArray[np.generic] | None = None,
        how: str | None = None,
        encoders: Sequence[Encoder] = (),
        seed: int = 0,
        progress: OnTexts | None = None,
    ) -> tuple[Features, X]:
        """Looks at all rows of a table, labelled or not, and makes x of them.

        Args:
            table: The training table; None where only the graph is read.
            text: Columns of texts, for "text", "words" and "vectors"; several are joined by a blank.
            columns: Columns for "columns": numbers, which get mean 0 and deviation 1; lists of equally many numbers,
                left as they are; or texts of at most 100 different values, one entry of x for each.
            read: Which of these.
            graph: For "graph": each of its nodes gets a row.
            ids: (n,) the users' ids of these nodes, by which new nodes say what they are linked to; else 0 to n - 1.
            how: For "graph": "rows", "netmf", "identities", "clusters" or "node2vec"; by default "rows" up to 10,000
                nodes and "identities" beyond.
            encoders: For "vectors": from `ngm.text.encoders`; their vectors stand side by side.
            seed: For "graph".
            progress: For "vectors": called with (texts done, texts in all).

        Returns:
            (features, x): x is a list of n texts, or (n, d) float32, dense or sparse.
        """
        _check(read, table, text, columns, graph, how, encoders)
        if graph is not None and read == "graph":
            nodes = Nodes.fit(graph, ids, how, seed)
            return cls(read, nodes), nodes.x
        rows = cast(Table, table)
        if read == "vectors":
            vectors = TextVectors.fit(text, encoders)
            return cls(read, vectors), vectors.read(rows, progress=progress).warn()
        if read == "text":
            part: FeaturePart = Strings(tuple(text))
        else:
            part = TfidfColumns.fit(rows, text) if read == "words" else Columns.fit(rows, columns)
        return cls(read, part), part.read(rows).warn()

    @property
    def names(self) -> tuple[str, ...]:
        """Columns that are read."""
        return self.part.names

    @property
    def width(self) -> int | None:
        """Width of a row of x; None for texts."""
        return self.part.width

    @property
    def holds(self) -> dict[str, Holds]:
        """What each column must hold: "text", "number" or "numbers" (a list)."""
        return self.part.holds

    @property
    def vectors(self) -> TextVectors | None:
        """The encoders, for "vectors"."""
        return self.part if isinstance(self.part, TextVectors) else None

    @property
    def nodes(self) -> Nodes | None:
        """The nodes of the training graph and their rows, for "graph"."""
        return self.part if isinstance(self.part, Nodes) else None

    def rows(self, table: Table) -> X:
        """X of a table that has the same columns; warns of rows in which nothing is known.

        For "graph" it is a table of links: a new node, a node of the training graph and, if there is one, a weight;
        each new node gets a row, in the order in which they first appear.

        Args:
            table: Any table, or a part of one.
        """
        return self.part.read(table).warn()

    def read(self, table: Table, first: int = 0) -> FeatureRows:
        """The same without warnings: x, and what there is to say of some rows.

        Args:
            table: Any table, or a part of one.
            first: Number of its first row, for messages.
        """
        return self.part.read(table, first)

    def save(self, run: Run) -> None:
        """Writes `features.json` and, where there are arrays, `features.safetensors`."""
        arrays = self.part.arrays()
        (run.folder / _JSON).unlink(missing_ok=True)  # never the one beside the arrays of another
        (run.folder / _ARRAYS).unlink(missing_ok=True)
        if arrays:
            save_tensors(run.folder / _ARRAYS, arrays, {})
        run.write(_JSON, {"format": FORMAT, "version": VERSION, "read": self.kind, **self.part.as_json()})

    @classmethod
    def open(cls, run: Run) -> Features | None:
        """What `save` wrote; None where a run has none, since it was trained in Python."""
        file = run.folder / _JSON
        if not file.exists():
            return None
        content = run.read(_JSON, ("format", "version", "read"))
        if (content["format"], content["version"]) != (FORMAT, VERSION):
            raise ValueError(
                f"{file} says format {content['format']!r} version {content['version']!r}; this release reads "
                f"{FORMAT!r} version {VERSION}"
            )
        kind = cast(Read, content["read"])
        try:
            arrays = load_tensors(run.folder / _ARRAYS)[0] if _has_arrays(kind, content) else {}
            return cls(kind, _OPENED[kind](content, arrays))
        except (KeyError, TypeError, ValueError, IndexError) as error:
            raise ValueError(f"{file} is damaged ({error}); train again") from None


_OPENED: dict[Read, Callable[[Mapping[str, JSON], Mapping[str, Tensor]], FeaturePart]] = {
    "text": Strings.from_json,
    "words": TfidfColumns.from_json,
    "vectors": TextVectors.from_json,
    "columns": Columns.from_json,
    "graph": Nodes.from_json,
}


def _has_arrays(kind: Read, content: Mapping[str, JSON]) -> bool:
    """Whether there is a file of arrays: not where all encoders are known by their names."""
    if kind == "vectors":
        return any(encoder["encoder"] in FITTED for encoder in cast("list[dict[str, JSON]]", content["encoders"]))
    return kind in ("words", "graph")


def _check(
    read: str,
    table: Table | None,
    text: Sequence[str],
    columns: Sequence[str],
    graph: Graph | None,
    how: str | None,
    encoders: Sequence[Encoder],
) -> None:
    """Refuses what is missing, and what would quietly do nothing."""
    choices = get_args(Read)
    if read not in choices:
        raise ValueError(f"read is {read!r}{nearest(read, choices)}; choose from {', '.join(choices)}")
    needs = {"text": "text", "words": "text", "vectors": "text", "columns": "columns", "graph": "graph"}[read]
    is_given = {"text": bool(text), "columns": bool(columns), "graph": graph is not None}
    if not is_given[needs]:
        raise ValueError(f"read is {read!r} and {needs} is not given; give {needs}=")
    if needs != "graph" and table is None:
        raise ValueError(f"read is {read!r} and there is no table; give one")
    for name in ("text", "columns"):
        if is_given[name] and name != needs:
            raise ValueError(f"{name} is given, but read is {read!r}; leave it out")
    if how is not None and read != "graph":
        raise ValueError(f"how is {how!r}, but it is for read='graph'; leave it out")
    if bool(encoders) != (read == "vectors"):
        need = "give encoders=" if read == "vectors" else "encoders are for read='vectors'; leave them out"
        raise ValueError(f"read is {read!r} and there are {len(encoders)} encoders; {need}")
    repeated = sorted({name for name in (*text, *columns) if (*text, *columns).count(name) > 1})
    if repeated:
        raise ValueError(f"column {repeated[0]!r} is named twice; name each once")
