"""`ngm train`."""

from __future__ import annotations

import time
from collections.abc import Mapping

from ngm.cli.settings import options_of, settings, with_options
from ngm.cli.terminal import app
from ngm.cli.training.checks import check
from ngm.cli.training.config import asked
from ngm.cli.training.options import Call, Told


def train_command(given: Mapping[str, object]) -> None:
    """Trains a network on a table or a graph folder, of which few rows need a label, and writes a run folder.

    Rows are texts (--text), numbers (--columns) or what the graph says of them (--input). Without a graph each row is
    joined to the rows most like it. The graph is used while training only: ngm predict needs none.

    Example:  ngm train news.csv --text body --label topic -o run/

    Example:  ngm train graph/ --columns vector --control --seeds 5 -o run/

    Example:  ngm train --config run/ --alpha 0.05 -o other/
    """
    start = time.perf_counter()
    wanted = asked(given)
    check(wanted)
    from ngm.cli.training.execution import execute  # loads torch, which help and mistakes do without

    execute(wanted, start)


app.command("train")(
    with_options(train_command, options_of(Told), [s.option() for s in settings().values()], options_of(Call))
)
