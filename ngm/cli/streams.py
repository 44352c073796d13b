"""Standard output and errors: ASCII locales, closed pipes and full disks."""

from __future__ import annotations

import codecs
import io
import os
import sys

CLOSED_PIPE = 1  # the exit code of click and rich on a closed pipe


def use_utf8() -> None:
    """Restarts Python in UTF-8 mode in an ASCII locale, so that file names are read correctly."""
    if os.name == "posix" and codecs.lookup(sys.getfilesystemencoding()).name == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def prepare_streams() -> None:
    """Escapes characters that a stream cannot encode; replaces closed streams by the null device."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # ngm ... >&-
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def drop_unwritten() -> None:
    """Discards output that a stream cannot write, so that Python does not try again at exit."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
