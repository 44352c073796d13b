"""`ngm partition`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast, get_args

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm._spelling import nearest
from ngm.choices import PartitionMethod
from ngm.cli.settings import options_of, with_options
from ngm.cli.terminal import app, bar, err, out, print_json
from ngm.cli.training.options import train_options
from ngm.workflow.options import TrainOptions

if TYPE_CHECKING:
    from ngm.workflow.partitioning import PartitionResult

_PARTS = "Parts"
_NOT_HERE = ("no_graph", "vectors", "control", "seeds")  # of training alone


@dataclass(frozen=True)
class PartitionOptions:
    """Options beside those that say what is read."""

    parts: Annotated[
        int | None,
        typer.Option(help="How many; at least as many as there will be processes.", rich_help_panel=_PARTS),
    ] = None
    method: Annotated[
        str,
        typer.Option(
            help="streaming; or metis, which cuts fewer edges and needs pymetis and more memory.",
            rich_help_panel=_PARTS,
        ),
    ] = "streaming"
    seed: Annotated[int, typer.Option(help="Same seed, same parts.", rich_help_panel=_PARTS)] = 0
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder for the parts; an older one is replaced.")] = (
        Path("parts")
    )
    as_json: Annotated[bool, typer.Option("--json", help="Print only JSON on standard output.")] = False
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False


def partition_command(given: Mapping[str, object]) -> None:
    """Cuts a graph into parts, each with its edges, rows and labels, so that every process opens its own alone.

    Rows and labels are read as by ngm train, and by the same options. Every edge is in exactly one part; beside its own
    nodes a part has the rows of the border, the nodes of other parts at its edges.

    Example:  ngm partition graph/ --columns vector --parts 8 -o parts/

    Example:  torchrun --nproc-per-node 2 -m ngm train parts/ -o run/
    """
    parts, method, as_json = given["parts"], str(given["method"]), bool(given["as_json"])
    options = TrainOptions(**{f.name: given.get(f.name) for f in fields(TrainOptions)})  # type: ignore[arg-type]
    if options.source is None:
        raise ValueError("give a graph folder, or a table with --graph, to cut into parts")
    if parts is None:
        raise ValueError("give --parts, at least as many as there will be processes")
    if method not in get_args(PartitionMethod):
        known = get_args(PartitionMethod)
        raise ValueError(f"--method is {method!r}{nearest(method, known)}; choose from {', '.join(known)}")
    from ngm.cli.training.terminal_monitor import TerminalMonitor  # load torch; help and mistakes do without
    from ngm.workflow.partitioning import partition

    with bar(cast(int, parts) + 2, as_json) as step:
        result = partition(
            options,
            cast(Path, given["output"]),
            cast(int, parts),
            method=cast(PartitionMethod, method),
            seed=cast(int, given["seed"]),
            monitor=TerminalMonitor(quiet=True),
            on_step=step,
        )
    if as_json:
        print_json(dict(result.summary))
    else:
        _show(result)


def _show(result: PartitionResult) -> None:
    """Prints the sizes of the parts, and where they are."""
    made, header = result.partition, result.partition.header
    table = RichTable(box=None, pad_edge=False)
    for name in ("part", "own nodes", "border nodes", "edges", "labelled"):
        table.add_column(name, justify="right")
    for number, part in enumerate(header.parts):
        table.add_row(str(number), *(f"{n:,}" for n in (part.own, part.border, part.edges, part.labeled)))
    out.print(table, highlight=False)
    cut = f"{100 * header.cut:.1f} % of {header.num_edges:,} edges are between parts"
    most = [max(getattr(p, name) for p in header.parts) * len(made) for name in ("own", "edges")]
    balance = [m / max(total, 1) for m, total in zip(most, (header.num_nodes, header.num_edges), strict=True)]
    out.print(f"{cut}; the largest part has {balance[0]:.2f} times the mean of nodes, {balance[1]:.2f} of edges")
    for note in result.notes:
        err.print(f"[yellow]note:[/] {escape(note)}", highlight=False, soft_wrap=True)
    folder = escape(str(made.folder))
    next_ = f"next: torchrun --nproc-per-node 2 -m ngm train {folder}"
    out.print(f"Parts: {folder}   ({next_})", highlight=False, soft_wrap=True)


app.command("partition")(
    with_options(
        partition_command,
        [option for option in train_options() if option.name not in _NOT_HERE],
        options_of(PartitionOptions),
    )
)
