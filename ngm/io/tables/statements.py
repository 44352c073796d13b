"""What a query does and which files it reads, by DuckDB's own parser."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import TypeAlias, cast

import duckdb

from ngm.io.tables.query import WORK, refusals

Tree: TypeAlias = "str | int | float | bool | list[Tree] | Mapping[str, Tree] | None"
_PREPARING = {"SELECT", "ATTACH", "DETACH", "LOAD", "SET", "VARIABLE_SET", "CREATE"}  # what may stand before the SELECT
_LOCAL = {  # table functions of a query that nobody typed: they read files and nothing else
    *("read_csv", "read_csv_auto", "read_parquet", "parquet_scan", "read_json", "read_json_auto", "read_json_objects"),
    *("read_json_objects_auto", "read_ndjson", "read_ndjson_auto", "read_ndjson_objects", "read_text", "glob"),
    *("range", "generate_series", "unnest", "repeat", "json_each", "json_tree"),
}
_COMPUTED = {"SUBQUERY", "LAMBDA", "PARAMETER", "CASE"}
_INDIRECT = {"query", "query_table", "json_execute_serialized_sql", "read_duckdb"}  # what these read is said elsewhere
_CONSTRUCTORS = {"list_value", "list_pack", "struct_pack", "row", "main.list_value", "map", "-"}


def statements_of(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    """The statements of a query that its user typed: what prepares it, then one SELECT.

    Args:
        connection: Parses it; nothing is run.
        text: One or more statements. Those that write (COPY, INSERT, EXPORT, ...) are refused.
    """
    with refusals("the query"):
        statements = list(connection.extract_statements(text))
    kinds = [statement.type.name for statement in statements]
    if not kinds or kinds[-1] != "SELECT":
        last = f"ends with {_kind_text(kinds[-1])}" if kinds else "is empty"
        raise ValueError(f"the query {last}; a table is read by a SELECT, and PIVOT needs ON ... IN (...)")
    inside = [_writes(parse_sql(connection, s.query)) for s in statements if s.type.name == "SELECT"]
    for kind in (*kinds, *inside):
        if kind is not None and kind not in _PREPARING:
            raise ValueError(
                f"the query has {_kind_text(kind)}, and queries here only read; besides SELECT, give ATTACH, "
                "INSTALL, LOAD, SET, USE or CREATE"
            )
    return statements


def check_create(connection: duckdb.DuckDBPyConnection) -> None:
    """Refuses CREATE where a database is attached that it could be written to."""
    views = connection.execute(
        "SELECT database_name FROM duckdb_databases() WHERE NOT internal AND NOT readonly "
        f"AND database_name NOT IN ('memory', '{WORK}')"
    ).fetchall()
    if views:
        raise ValueError(
            f"the query has CREATE after database {views[0][0]!r} was attached for writing; attach it (READ_ONLY), "
            "or put CREATE first"
        )


def check_untrusted(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Refuses a query that was found in a file, unless it is one SELECT that reads local tables.

    Args:
        connection: Parses it; nothing is run.
        text: The query.
    """
    remedy = "give the query on the command line if you trust it"
    with refusals("the query"):
        kinds = [statement.type.name for statement in connection.extract_statements(text)]
    if kinds != ["SELECT"]:
        description = f"has {len(kinds)} statements" if len(kinds) != 1 else f"is {_kind_text(kinds[0])}"
        raise ValueError(f"the query {description}, and an untrusted one may be one SELECT only; {remedy}")
    tree = parse_sql(connection, text)
    writes = _writes(tree)
    if writes is not None:
        raise ValueError(f"the query has {_kind_text(writes)} inside, and queries here only read; take it out")
    for node in _nodes(tree):
        name = _function_of(node)
        if name is not None and name not in _LOCAL:
            raise ValueError(f"the query calls {name}, which an untrusted one may not; {remedy}")


def parse_sql(connection: duckdb.DuckDBPyConnection, text: str) -> Tree:
    """The syntax tree of a SELECT."""
    serialized = connection.execute("SELECT json_serialize_sql(?::VARCHAR)", [text]).fetchall()[0][0]
    return cast(Tree, json.loads(serialized))


def referenced_files(tree: Tree) -> tuple[list[str], bool]:
    """(names of files and patterns in a SELECT, whether it has others that are not written out)."""
    names: list[str] = []
    computed = False
    for node in _nodes(tree):
        if node.get("type") == "BASE_TABLE":
            parts = [str(node.get(key) or "") for key in ("catalog_name", "schema_name", "table_name")]
            names.append(".".join(part for part in parts if part))
            names.append(parts[-1])
        name = _function_of(node)
        if name is not None:
            names += [text for text in _texts(node) if text]
            computed = computed or name in _INDIRECT or _is_computed(node["function"])
    return list(dict.fromkeys(names)), computed


def quoted_names(text: str) -> list[str]:
    """All that stands in quotes in a statement that is no SELECT: the file of ATTACH 'shop.db'."""
    return [a.replace("''", "'") or b for a, b in re.findall(r"""'((?:[^']|'')*)'|"([^"]*)["]""", text)]


def _writes(tree: Tree) -> str | None:
    """What a SELECT does besides reading, as in WITH a AS (INSERT ...)."""
    kinds = (str(node.get("type")) for node in _nodes(tree))
    return next((kind.removesuffix("_QUERY_NODE") for kind in kinds if kind.endswith("_QUERY_NODE")), None)


def _is_computed(call: Tree) -> bool:
    """Whether the arguments of a table function hold more than constants and lists of them."""
    for node in _nodes(call):
        kind = str(node.get("class"))
        inner = node is not call and kind == "FUNCTION" and str(node.get("function_name")) not in _CONSTRUCTORS
        if inner or kind in _COMPUTED or node.get("type") == "SELECT_NODE":
            return True
    return False


def _function_of(node: Mapping[str, Tree]) -> str | None:
    """Name of the table function that a node calls."""
    call = node.get("function")
    if node.get("type") != "TABLE_FUNCTION" or not isinstance(call, Mapping):
        return None
    return str(call.get("function_name")).lower()


def _nodes(tree: Tree) -> Iterator[Mapping[str, Tree]]:
    if isinstance(tree, Mapping):
        yield tree
        for value in tree.values():
            yield from _nodes(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _nodes(value)


def _texts(tree: Tree) -> Iterator[str]:
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, Mapping):
        for value in tree.values():
            yield from _texts(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _texts(value)


def _kind_text(kind: str) -> str:
    """`COPY`, `MERGE INTO`; DuckDB says MULTI of a PIVOT that needs two passes."""
    return "PIVOT without IN" if kind == "MULTI" else kind.replace("_", " ")
