"""The table and the page: what stands between the markers of docs/speed.md."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from speed_parts.goals import Line, Result, lines_of

BEGIN, END = "<!-- speed: begin -->", "<!-- speed: end -->"
PICTURES = {
    "epoch-peers": ("speed-epoch.svg", "Edges per second of a training epoch, by library"),
    "time-to-accuracy": ("speed-accuracy.svg", "Validation accuracy over seconds, by library"),
    "knn": ("speed-knn.svg", "Seconds to a graph of nearest neighbours over the number of rows, by library"),
}
"""Plots by the result that they are drawn from."""


def number(value: float) -> str:
    """Three digits, or the whole part where that has more.

    >>> [number(value) for value in (0.4321, 12.345, 1234.5)]
    ['0.432', '12.3', '1,234']
    """
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def figure(line: Line) -> str:
    """The value with its unit."""
    return "" if line.value is None else f"{number(line.value)} {line.unit}".removesuffix(" times")


def markdown_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table in Markdown."""
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *rows))


def markdown(results: Mapping[str, Result]) -> str:
    """All of the page that comes from results."""
    lines = lines_of(results)
    cells = [[line.work, figure(line), line.target, line.outcome] for line in lines]
    met, judged = sum(line.met is True for line in lines), sum(line.met is not None for line in lines)
    missing = sum(line.value is None for line in lines)
    blocks = [
        "## All ratios",
        f"{met} of {judged} targets are met; {missing} rows are not measured.",
        markdown_table(("work", "measured", "target", ""), cells),
    ]
    for name, section in SECTIONS.items():
        if name in results and (text := section(results[name])):
            blocks += [text, _source(results[name])]
    return "\n\n".join(blocks)


def _source(result: Result) -> str:
    machine = result.get("machine", {})
    versions = result.get("versions", {})
    about = f"{machine.get('processor', '')}, {machine.get('cores', '?')} cores, {machine.get('threads', '?')} threads"
    packages = ", ".join(f"{name} {version}" for name, version in versions.items())
    return f"`{result.get('command', '')}` ({about}{'; ' + packages if packages else ''})"


def _picture(name: str) -> str:
    file, words = PICTURES[name]
    return f"![{words}](images/{file})"


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.0%}"


def _epoch(result: Result) -> str:
    if "rows" not in result:
        return ""
    rows = []
    for data, row in result["rows"].items():
        for name, found in row["contenders"].items():
            part = [f"{found['edges_per_second']:,}", number(found["seconds"]), _percent(found["spread"])]
            rows.append([data, name, *part, f"{found['network_runs']:,}", found["settings"]])
    heads = ("data", "library", "edges/s", "seconds an epoch", "slowest above", "runs of the network", "settings")
    return "\n\n".join(["## A training epoch", _picture("epoch-peers"), markdown_table(heads, rows)])


def _accuracy(result: Result) -> str:
    names = list(result.get("curves", {}))
    reached = sorted({key.rpartition(", ")[2] for key in result["seconds"]})
    rows = []
    for accuracy in reached:
        seconds = [result["seconds"].get(f"{name}, {accuracy}") for name in names]
        best = min((s for s in seconds if s is not None), default=None)
        shown = ["never" if s is None else f"**{number(s)}**" if s == best else number(s) for s in seconds]
        rows.append([accuracy.removeprefix("0"), *shown])
    head = "## Seconds to a validation accuracy, PubMed"
    return "\n\n".join([head, _picture("time-to-accuracy"), markdown_table(("accuracy", *names), rows)])


def _knn(result: Result) -> str:
    lines = [line for line in result.get("lines", []) if "build" in line or "failed" in line]
    if not lines:
        return ""
    rows = []
    for line in sorted(lines, key=lambda line: (line["rows"], line.get("seconds", float("inf")))):
        settings = ", ".join(f"{k} {v}" for k, v in {**line.get("build", {}), **_searched(line)}.items())
        shown = [line.get("failed", ""), "", "", ""]
        if "seconds" in line:
            recall = f"{line['recall']:.3f}".removeprefix("0")
            shown = [number(line["seconds"]), _percent(line.get("spread")), recall, f"{line['peak_mib']:,.0f}"]
        rows.append([f"{line['rows']:,}", line["library"], *shown, settings])
    heads = ("rows", "library", "seconds", "slowest above", "recall", "MiB", "settings")
    words = f"## Graphs of nearest neighbours, k = 5, recall {result['recall']:g} or more"
    several = len({line["rows"] for line in lines if "seconds" in line}) > 1  # a curve of one size shows nothing
    return "\n\n".join([words, *([_picture("knn")] if several else []), markdown_table(heads, rows)])


def _searched(line: Mapping[str, Any]) -> dict[str, Any]:
    return {f"search {name}": value for name, value in line.get("search", {}).items()}


def _walks(result: Result) -> str:
    if "rows" not in result:
        return ""
    peers = ("ngm", "ngm, numpy", "pecanpy", "fastnode2vec", "PyG")
    rows = []
    for graph, row in result["rows"].items():
        for setting, rates in row["steps_per_second"].items():
            shown = [f"{rates[peer] / 1e6:.2f}" if peer in rates else "" for peer in peers]
            best = max(rate for peer, rate in rates.items() if not peer.startswith("ngm"))
            rows.append([graph, setting, *shown, number(rates["ngm"] / best)])
    heads = ("graph", "walk", *peers, "ngm / fastest peer")
    return "\n\n".join(["## Random walks, million steps a second", markdown_table(heads, rows)])


def _propagation(result: Result) -> str:
    rows = [
        [
            f"{row['nodes']:,}",
            f"{row['edges']:,}",
            number(row["seconds"]),
            str(row["steps"]),
            number(row["gib_beside_graph"]),
            number(row["graph_gib"]),
        ]
        for row in result["rows"].values()
    ]
    heads = ("nodes", "edges", "seconds", "steps", "GiB beside the graph", "GiB of the graph on disk")
    return "\n\n".join(["## Label propagation, 20 labels", markdown_table(heads, rows)])


def _ingest(result: Result) -> str:
    if "rows" not in result:
        return ""
    rows = [
        [f"{row['edges']:,}", name, number(row[name]["seconds"] or 0.0), number(row[name]["peak_gib"])]
        for row in result["rows"].values()
        for name in ("ours", "pandas")
        if name in row
    ]
    if result.get("billion"):
        found = result["billion"]
        name = "ours, extrapolated"
        rows.append([f"{found['edges']:,}", name, number(found["seconds"]), number(found["peak_gib"])])
    return "\n\n".join(["## Ingest", markdown_table(("edges", "", "seconds", "peak GiB"), rows)])


def _memory(result: Result) -> str:
    rows = [
        [
            f"{row['nodes']:,}",
            f"{row['edges']:,}",
            kind,
            number(row["bytes_an_edge"]),
            number(row["anonymous_gib"]),
            number(row["resident_gib"]),
            number(row["seconds_an_epoch"]),
        ]
        for by_kind in result["rows"].values()
        for kind, row in by_kind.items()
    ]
    heads = ("nodes", "edges", "rows", "bytes an edge", "GiB of its own", "GiB resident", "seconds an epoch")
    return "\n\n".join(["## Memory while training", markdown_table(heads, rows)])


SECTIONS = {
    "epoch-peers": _epoch,
    "time-to-accuracy": _accuracy,
    "knn": _knn,
    "walks": _walks,
    "propagation-large": _propagation,
    "ingest": _ingest,
    "training-memory": _memory,
}


def pictured(results: Mapping[str, Result]) -> list[str]:
    """The results that the page shows a plot of."""
    return [name for name in PICTURES if name in results and _picture(name) in SECTIONS[name](results[name])]


def with_block(page: str, block: str) -> str:
    """The page with another block between its markers."""
    before, begin, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise ValueError(f"the page has no lines {BEGIN!r} and {END!r}; put them where the tables go")
    return f"{before}{BEGIN}\n\n{block}\n\n{END}{after}"
