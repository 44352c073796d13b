"""`ngm train`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ngm.cli.settings import options_of, settings, with_options
from ngm.cli.terminal import app
from ngm.cli.training.config import train_request
from ngm.cli.training.options import CallOptions, train_options
from ngm.workflow.checks import check


def train_command(given: Mapping[str, object]) -> None:
    """Trains a network on a table or a graph folder with few labels, and writes a run folder.

    Rows are texts (--text), numbers (--columns) or inputs made from the graph (--input). Without a graph, each row is
    joined to its most similar rows. The graph is used in training only: ngm predict needs none.

    Example:  ngm train news.csv --text body --label topic -o run/

    Example:  ngm train graph/ --columns vector --control --seeds 5 -o run/

    Example:  ngm train --config run/ --alpha 0.05 -o other/
    """
    started = time.perf_counter()
    request, as_json = train_request(given), bool(given["as_json"])
    check(request)
    from ngm.cli.training.summary_table import show_dry_run, show_training  # load torch; help and mistakes do without
    from ngm.cli.training.terminal_monitor import TerminalMonitor
    from ngm.distributed import process_group
    from ngm.workflow.training import dry_run, run_request

    monitor = TerminalMonitor(quiet=as_json)
    with process_group() as (rank, _):
        if request.dry_run:
            plan = dry_run(request, monitor)
            if rank == 0:
                show_dry_run(plan, request, as_json)
        else:
            result = run_request(request, monitor, started)
            if rank == 0:
                show_training(result, request, as_json)


app.command("train")(
    with_options(train_command, train_options(), [s.option() for s in settings().values()], options_of(CallOptions))
)
