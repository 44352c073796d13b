"""Tables read piece by piece, whatever their size: no more than a piece is held at a time.

A table that `ngm.io.tables.read_table` reads has its types from all of its values. Here whoever asks says what a column
holds, as it did when a network was trained on it, so that a column of texts is text also where all of them are digits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias, cast

import duckdb
import numpy as np
from numpy.typing import NDArray

from ngm.io.tables.column_guesses import ColumnNames, edge_columns
from ngm.io.tables.query import Query, RejectedRows, connect, missing_column, quoted, refusals
from ngm.io.tables.sources import Source, open_source
from ngm.io.tables.table import Table, as_value, is_integer_sql, no_rows, no_usable_rows, rejected
from ngm.io.tables.text_files import ReadOptions

Holds: TypeAlias = Literal["text", "number", "numbers"]
_INTEGER = {f"{u}{size}INT" for u in ("", "U") for size in ("TINY", "SMALL")} | {"INTEGER", "UINTEGER", "BIGINT"}
_NUMBERS = ("FLOAT", "DOUBLE", "DECIMAL", "BOOLEAN", "HUGEINT", "UHUGEINT", "UBIGINT")
_LIST = re.compile(r"[^\[]*\[\d*\]")  # of anything but lists
_TURNED = (
    "SELECT CASE WHEN turned THEN t ELSE s END AS s, CASE WHEN turned THEN s ELSE t END AS t, w FROM ("
    "SELECT s, t, w, a.id IS NOT NULL AND b.id IS NULL AND t IS NOT NULL AS turned FROM ({sql}) "
    "LEFT JOIN temp.ngm_known AS a ON a.id = s::VARCHAR LEFT JOIN temp.ngm_known AS b ON b.id = t::VARCHAR)"
)


@dataclass(frozen=True, eq=False, repr=False)
class Piece(Table):
    """Some rows of a table.

    Args:
        first: Number of the first of them.
        values: Of the columns that were asked for.
        ids: Of the column of ids, if there is one.
        labels: Of the column of labels, if there is one.
    """

    first: int = 0
    values: Mapping[str, NDArray[np.generic]] = field(default_factory=dict)
    ids: Sequence[object] | None = None
    labels: Sequence[object] | None = None

    def column(self, name: str) -> NDArray[np.generic]:
        """(n,) values; where some are missing, NaN among numbers with a point, None among all else."""
        if name not in self.values:
            raise missing_column(self.name, name, self.columns, hint=self.hint)
        return self.values[name]


@dataclass(frozen=True, eq=False)
class Stream:
    """A table that was opened and not read yet.

    Args:
        query: Where its rows come from.
        connection: Reads them.
        num_rows: How many there are; None for a query, which is asked once only.
        integer_columns: Columns of a text file whose values are all whole numbers, of those that were asked about.
        unread: Lines that do not fit and are left out.
    """

    query: Query
    connection: duckdb.DuckDBPyConnection
    num_rows: int | None
    integer_columns: frozenset[str]
    unread: RejectedRows

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.query.name

    def type_of(self, column: str) -> str:
        """What ids of this column are written as: BIGINT, DOUBLE or VARCHAR."""
        kind = self.query.type_of(column)
        if kind in _INTEGER or column in self.integer_columns:
            return "BIGINT"
        return "DOUBLE" if kind in ("FLOAT", "DOUBLE") else "VARCHAR"

    def counted(self, ids: Sequence[str] = ()) -> Stream:
        """The same once all rows were seen: how many there are, and which lines do not fit. A query is left as it is.

        Args:
            ids: Columns of ids: whole numbers where all values are, else text.
        """
        query = self.query
        if not query.rereadable:
            return self
        names = [quoted(c) for c in ids] if query.rejects is not None else []
        tests = [f"coalesce(bool_and({is_integer_sql(name)}) AND count({name}) > 0, false)" for name in names]
        with refusals(query.name):
            (count, _, *is_integer) = self.connection.execute(
                f"SELECT {', '.join(['count(*)', f'bit_xor({self._all_rows()})', *tests])} FROM ({query.sql})"
            ).fetchall()[0]
            unread = rejected(self.connection, query)
        if not count:
            raise no_usable_rows(query, unread) if unread.count else no_rows(query)
        integer_ids = frozenset(column for column, is_so in zip(ids, is_integer, strict=False) if is_so)
        return replace(self, num_rows=int(count), integer_columns=integer_ids, unread=unread)

    def link_columns(self) -> tuple[str, str, str | None]:
        """Columns of a table of links: new nodes, what they are linked to, weights."""
        columns = edge_columns(self.query, ColumnNames())
        return columns.source, columns.target, columns.weight

    @property
    def type_of_ends(self) -> str:
        """What both ends of links are written as."""
        kinds = {self.type_of(column) for column in self.link_columns()[:2] if column is not None}
        return kinds.pop() if len(kinds) == 1 else "VARCHAR"

    def pieces(
        self, holds: Mapping[str, Holds], size: int, id: str | None = None, label: str | None = None
    ) -> Iterator[Piece]:
        """The rows in their order, `size` at a time.

        Args:
            holds: What each column that is needed holds: text, a number, or a list of numbers.
            size: Rows of a piece.
            id: Column of ids.
            label: Column of labels.
        """
        query, first = self.query, 0
        selected = [self._value(column, kind) for column, kind in holds.items()]
        selected.append("0" if id is None else f"{quoted(id)}::{self.type_of(id)}")
        selected.append("0" if label is None else as_value(label, query.type_of(label)))
        for rows in self._fetched(f"SELECT {', '.join([*selected, self._all_rows()])} FROM ({query.sql})", size):
            *columns, ids, labels, _ = list(zip(*rows, strict=True))
            values = {name: self._array(kind, some) for (name, kind), some in zip(holds.items(), columns, strict=True)}
            id_and_label = (None if id is None else ids), (None if label is None else labels)
            yield Piece(
                query.name,
                query.columns,
                len(rows),
                self.connection,
                "",
                RejectedRows(),
                None,
                query.hint,
                first,
                values,
                *id_and_label,
            )
            first += len(rows)
        if not first:
            raise no_rows(query)

    def links(
        self, size: int, known_ids: Sequence[object] | None = None
    ) -> Iterator[tuple[list[object], list[object], list[object]]]:
        """(new nodes, what they are linked to, weights) of a table of links, sorted by new node, never one cut in two.

        An end that is missing is None, a weight that is no number too.

        Args:
            size: Links at a time, about.
            known_ids: Nodes that are not new, by which links are turned round that lead from one of them to a new one.
        """
        source, target, weight = self.link_columns()
        kinds = [self.type_of(source), self.type_of(target)] if known_ids is None else [self.type_of_ends] * 2
        s, t = (f"{quoted(column)}::{kind}" for column, kind in zip((source, target), kinds, strict=True))
        w = "1::DOUBLE" if weight is None else self._value(weight, "number")  # a cast would leave out lines it fails on
        sql = f"SELECT {s} AS s, {t} AS t, {w} AS w, {self._all_rows()} FROM ({self.query.sql})"
        if known_ids is not None:
            self.connection.register("ngm_known", {"id": np.array([str(name) for name in known_ids], dtype=object)})
            sql = _TURNED.format(sql=sql)
        order = "try_cast(s AS BIGINT), s" if kinds[0] == "VARCHAR" else "s"
        pending: list[tuple[object, ...]] = []
        for rows in self._fetched(f"SELECT s, t, w FROM ({sql}) ORDER BY {order}", size):
            pending += rows
            cut = next((i for i in range(len(pending) - 1, 0, -1) if pending[i][0] != pending[i - 1][0]), 0)
            if cut:
                yield _links(pending[:cut])
                pending = pending[cut:]
        if pending:
            yield _links(pending)

    def _fetched(self, sql: str, size: int) -> Iterator[list[tuple[object, ...]]]:
        with refusals(self.name):
            cursor = self.connection.execute(sql)
            while rows := cursor.fetchmany(size):
                yield rows

    def _all_rows(self) -> str:
        """Something of all columns, so that the same lines do not fit whatever is asked for."""
        if self.query.rejects is None:
            return "0"
        return f"hash({', '.join(quoted(c) for c in self.query.columns)})"

    def _value(self, column: str, kind: Holds) -> str:
        name, type_ = quoted(column), self.query.type_of(column)
        if kind == "number" and (type_ in _INTEGER or type_.startswith(_NUMBERS)):
            return f"{name}::DOUBLE"
        if kind == "numbers" and _LIST.fullmatch(type_):
            return f"{name}::DOUBLE[]"
        return as_value(column, type_)

    def _array(self, kind: Holds, values: Sequence[object]) -> NDArray[np.generic]:
        if kind == "number" and self.query.rejects is not None:
            values = [_as_number(value) for value in values]
        if kind in ("number", "numbers") and all(v is None or isinstance(v, float) for v in values):
            return np.array(values, dtype=np.float64)
        if kind == "text" and values and all(isinstance(v, int | float) for v in values):
            return np.array(values)
        array = np.empty(len(values), dtype=object)
        array[:] = values
        return array


def open_stream(
    source: Source, delimiter: str | None = None, header: bool | None = None, temporary: Path | None = None
) -> Stream:
    """Opens a table.

    Args:
        source: See `ngm.io.tables.read_table`.
        delimiter: What separates the fields of a text file; detected by default.
        header: Whether the first row of a text file holds the names; detected by default.
        temporary: Folder for what does not fit into memory when rows are sorted.
    """
    connection = connect(temporary)
    query = open_source(connection, source, ReadOptions(delimiter, header))
    return Stream(query, connection, None, frozenset(), RejectedRows())


def _links(rows: list[tuple[object, ...]]) -> tuple[list[object], list[object], list[object]]:
    source, target, weight = zip(*rows, strict=True)
    numbers = [_as_number(w) if isinstance(w, str) else w for w in weight]
    return list(source), list(target), [w if isinstance(w, int | float) else None for w in numbers]


_TRUTH = {"true": 1.0, "false": 0.0}


def _as_number(value: object) -> object:
    """A field of a text file as a number, true and false among them; as it is where it is none."""
    if isinstance(value, str) and value.lower() in _TRUTH:
        return _TRUTH[value.lower()]
    try:
        return None if value is None else value if "_" in cast(str, value) else float(cast(str, value))
    except ValueError:
        return value
