"""What stands between the markers of docs/scale.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from speed_parts.page import markdown_table, number

from scale_parts.projection import Target, project

BEGIN, END = "<!-- scale: begin -->", "<!-- scale: end -->"


def with_block(page: str, block: str) -> str:
    """The page with another block between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}; put them where the figures go")
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"


def markdown(result: Mapping[str, Any]) -> str:
    """All of the page that comes from the kept result."""
    return "\n\n".join([_processes(result), _cuts(result), _projection(result), f"`{result['command']}`"])


def _processes(result: Mapping[str, Any]) -> str:
    rows = [
        [
            world,
            f"{sum(rank['own'] for rank in row['ranks']):,}",
            f"{sum(rank['edges'] for rank in row['ranks']):,}",
            number(100 * row["border_share"]),
            number(row["bytes_an_edge"]),
            number(row["bytes_a_node"]),
            number(row["process_bytes"] / 2**20),
            number(1e6 * row["seconds_an_edge"]),
            number(row["gradient_bytes"] / 1024),
            number(row["exchanged_bytes"] / 1024),
        ]
        for world, row in result["rows"].items()
    ]
    heads = ["processes", "nodes", "edges", "border %", "bytes an edge", "bytes a node"]
    heads += ["MiB a process", "microseconds an edge", "KiB of gradients a step", "KiB of rows a propagation step"]
    words = (
        "Processes of one thread each on a generated graph. Bytes are those that belong to a process alone while it "
        "trains, beside mapped files; those that are sent are counted in each process, not timed."
    )
    return "\n\n".join(["### Measured", words, markdown_table(heads, rows)])


def _cuts(result: Mapping[str, Any]) -> str:
    rows = [
        [
            graph,
            str(cut["parts"]),
            method,
            number(100 * cut["cut"]),
            number(cut["border_share"]),
            number(cut["balance"]),
        ]
        for graph, cuts in result["cuts"].items()
        for method, some in cuts.items()
        for cut in some
    ]
    heads = ("graph", "parts", "method", "edges cut, %", "border rows a node", "edges of the largest part / mean")
    return "\n\n".join(["### How graphs are cut", markdown_table(heads, rows)])


def _projection(result: Mapping[str, Any]) -> str:
    constants, target = result["constants"], Target()
    found = project(constants, target)
    partition_tib = constants["partition_bytes_an_edge"] * target.edges / 2**40
    rows = [
        ["files of all parts", f"{number(found.disk_gib / 1024)} TiB"],
        ["memory of all processes, beside mapped rows", f"{number(found.memory_gib / 1024)} TiB"],
        [f"machines of {target.memory_gib:.0f} GiB", f"{found.machines:,}"],
        [f"an epoch on these, {target.cores} processes each", f"{number(found.hours)} hours"],
        ["edges a second", number(found.edges_per_second)],
        [
            f"gradients of an epoch of {found.steps:,.0f} steps, {target.network_gbit:.0f} Gbit/s",
            f"{number(found.gradient_seconds)} s",
        ],
        [
            "rows of a propagation step, all machines",
            f"{number(found.border_gib)} GiB, {number(found.border_seconds)} s",
        ],
        ["cutting it in one process, as `ngm partition` does", f"{number(partition_tib)} TiB of memory"],
    ]
    words = (
        f"A graph of {target.nodes:,.0f} nodes and {target.edges:,.0f} edges, {target.width} features, "
        f"{target.classes} classes, by the constants above; the share of border rows is that of the generated graph, "
        "and a graph without clusters has more. None of it was run."
    )
    return "\n\n".join(["### A billion nodes, by arithmetic", words, markdown_table(("", "by arithmetic"), rows)])
