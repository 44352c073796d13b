"""Standard output and errors: locales that have no umlauts, pipes that nobody reads any more, disks that are full."""

from __future__ import annotations

import codecs
import io
import os
import sys

CLOSED_PIPE = 1  # as click and rich end where nobody reads their output


def use_utf8() -> None:
    """Starts Python again in UTF-8 mode where the locale has ASCII only, so that files have the names they have."""
    if os.name == "posix" and codecs.lookup(sys.getfilesystemencoding()).name == "ascii":
        os.execv(sys.executable, [sys.executable, "-X", "utf8", *sys.orig_argv[1:]])


def prepare_streams() -> None:
    """Has characters that the encoding of a stream lacks written as their codes; what is closed takes everything."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # ngm ... >&-
            setattr(sys, name, io.TextIOWrapper(io.FileIO(os.devnull, "w"), encoding="utf-8"))
        elif isinstance(stream, io.TextIOWrapper) and stream.errors == "strict":
            stream.reconfigure(errors="backslashreplace")


def drop_unwritten() -> None:
    """Sends what a stream cannot write nowhere, so that Python does not try once more when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
