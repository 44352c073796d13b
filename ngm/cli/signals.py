"""Ctrl-C and SIGTERM: the first one ends a command with what it has kept so far, a second one ends it at once.

One of several ranks that gets SIGTERM ends at once: whoever started the ranks ends all of them with it, and may start
them again from the checkpoint.
"""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_received: list[int] = []


@contextmanager
def stop_signals() -> Iterator[None]:
    """Makes SIGTERM raise KeyboardInterrupt as Ctrl-C does, and counts both; whoever ignores them goes on doing so."""
    _received.clear()
    handlers = {}
    if threading.current_thread() is threading.main_thread():
        alone = os.environ.get("WORLD_SIZE", os.environ.get("SLURM_NTASKS", "1")) == "1"
        for number in (signal.SIGINT, signal.SIGTERM) if alone else (signal.SIGINT,):
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                handlers[number] = signal.signal(number, _stop)
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def stopped_again() -> bool:
    """Whether there was a second signal: then nothing more is to be written."""
    return len(_received) > 1


def is_stop(error: Exception) -> bool:
    """Whether an error is what a library made of the signal: DuckDB says "Query interrupted" in a RuntimeError."""
    return bool(_received) and "interrupt" in str(error).lower()


def exit_code() -> int:
    """What shells expect of a program that a signal ended: 130 after Ctrl-C, 143 after SIGTERM."""
    return 128 + (_received[0] if _received else signal.SIGINT)


def _stop(number: int, frame: FrameType | None) -> None:
    _received.append(number)
    raise KeyboardInterrupt
