"""Each epoch's record as a line of a CSV file or as curves in TensorBoard, while training runs.

Both are given as `on_epoch=`. A run that is resumed goes on in the same place: epochs that it does again are replaced,
so no epoch is there twice. Under several processes the first one writes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from ngm.distributed import rank_and_world
from ngm.io.files import write_text
from ngm.training import TERMS, Epoch

if TYPE_CHECKING:
    from torch.utils.tensorboard import SummaryWriter

_VALIDATION, _H = "validation_", "h_"


def csv_log(file: str | Path) -> Callable[[Epoch], None]:
    """Writes epochs into a CSV file, one line each, as they end.

    The columns are those of the first epoch: epoch, the cost and its terms, |h|, validation metrics, seconds, and
    whether h has collapsed (0 or 1).

    Args:
        file: A new file, or one that an earlier run has written: epochs from the first new one on are replaced.

    Returns:
        What `fit(on_epoch=)` takes; another fit starts at epoch 0, so give it a log of its own.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     log = csv_log(Path(folder) / "log.csv")
    ...     for epoch in (0, 1):
    ...         log({"epoch": epoch, "total": 0.5, "validation_accuracy": 0.75, "seconds": 0.1})
    ...     print((Path(folder) / "log.csv").read_text(encoding="utf-8"), end="")
    epoch,total,validation_accuracy,seconds,collapsed
    0,0.5,0.75,0.1,0
    1,0.5,0.75,0.1,0
    """
    return _CsvLog(Path(file))


def tensorboard_log(folder: str | Path) -> Callable[[Epoch], None]:
    """Writes epochs for TensorBoard: `cost/total` and the terms, `h/norm`, `validation/accuracy`, `time/seconds`.

    Args:
        folder: A new folder, or one that an earlier run has written: TensorBoard shows its epochs before the first new
            one. Look at it with `tensorboard --logdir folder`.

    Returns:
        What `fit(on_epoch=)` takes.
    """
    try:
        import torch.utils.tensorboard  # noqa: F401
    except ImportError:
        raise ImportError("tensorboard_log needs tensorboard: pip install 'neural-graph-machines[logging]'") from None
    if Path(folder).exists() and not Path(folder).is_dir():
        raise FileExistsError(f"{folder} is a file; name a folder for tensorboard_log")
    return _TensorboardLog(Path(folder))


class _CsvLog:
    """See `csv_log`."""

    def __init__(self, file: Path) -> None:
        self.file = file
        self.columns: list[str] = []
        self.last = -1
        _read_earlier(file)  # refuses a file of somebody's own before training starts

    def __call__(self, record: Epoch) -> None:
        if rank_and_world()[0] != 0:
            return
        epoch = int(record["epoch"])
        if not self.columns or epoch <= self.last:
            self._begin(record, epoch)
        # a log that an older release has begun has fewer columns of h, and none of pairs held apart
        columns_ = (*self.columns, *(["repulsion"] if record.get("repulsion") == 0 else []))
        new_columns = [name for name in record if name not in columns_ and not name.startswith(_H)]
        if new_columns:
            raise ValueError(
                f"epoch {epoch} has {new_columns[0]!r}, and {self.file} has columns {', '.join(self.columns)}; "
                "log it into a new file"
            )
        with self.file.open("a", encoding="utf-8", newline="") as file:
            file.write(
                _line([_format_value(record.get(name, 0 if name == "collapsed" else "")) for name in self.columns])
            )
        self.last = epoch

    def _begin(self, record: Epoch, epoch: int) -> None:
        """Keeps the epochs before this one, and the columns of the file where there are any."""
        columns, rows = _read_earlier(self.file)
        earlier_rows = [row for row in rows if float(row[0]) < epoch]
        self.columns = columns if earlier_rows else _columns(record)
        write_text(self.file, "".join(_line(row) for row in [self.columns, *earlier_rows]))


class _TensorboardLog:
    """See `tensorboard_log`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.writer: SummaryWriter | None = None
        self.last = -1

    def __call__(self, record: Epoch) -> None:
        if rank_and_world()[0] != 0:
            return
        from torch.utils.tensorboard import SummaryWriter

        epoch = int(record["epoch"])
        if self.writer is None or epoch <= self.last:
            if self.writer is not None:
                self.writer.close()
            self.writer = SummaryWriter(self.folder, purge_step=epoch)
        for name, value in record.items():
            if name != "epoch" and not _of_first_step(name):
                self.writer.add_scalar(_curve(name), value, epoch)
        self.writer.flush()
        self.last = epoch


def _curve(name: str) -> str:
    """Where TensorBoard draws an entry of a record.

    >>> [_curve(name) for name in ("total", "h_norm", "validation_accuracy", "seconds", "collapsed")]
    ['cost/total', 'h/norm', 'validation/accuracy', 'time/seconds', 'h/collapsed']
    """
    if name.startswith((_VALIDATION, _H)):
        return name.replace("_", "/", 1)
    groups = {"seconds": "time", "collapsed": "h", **dict.fromkeys(TERMS, "cost")}
    return f"{groups.get(name, 'other')}/{name}"


def _columns(record: Epoch) -> list[str]:
    return [*(name for name in record if name != "collapsed" and not _of_first_step(name)), "collapsed"]


def _of_first_step(name: str) -> bool:
    """Whether the first record alone has it: it says what h was like at the first step."""
    return name.startswith(_H) and "_start" in name


def _format_value(value: float | str) -> str:
    """Whole numbers without a point, others so that they can be read back to the bit."""
    return str(int(value)) if isinstance(value, float | int) and float(value).is_integer() else str(value)


def _line(values: list[str]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(values)
    return text.getvalue()


def _read_earlier(file: Path) -> tuple[list[str], list[list[str]]]:
    """Columns and rows of a log that is there already; a last line that was cut short is left out."""
    if not file.exists():
        return [], []
    text = file.read_text(encoding="utf-8")
    columns, *rows = list(csv.reader(io.StringIO(text[: text.rfind("\n") + 1]))) or [[]]
    if text and (columns[:1], columns[-1:]) != (["epoch"], ["collapsed"]):
        raise FileExistsError(f"{file} exists and is not a log of epochs; name a new file")
    return columns, rows
