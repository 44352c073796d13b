"""A process held to so much memory: by a control group, which counts pages of files too, else by a limit of the system.

A control group of one's own can be made by root, and by users to whom a part of the hierarchy was handed over. Where it
cannot, `RLIMIT_DATA` bounds the memory that belongs to the process alone; mapped files are then outside of the limit.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_V1, _V2 = Path("/sys/fs/cgroup/memory"), Path("/sys/fs/cgroup")
MAPPED_COPIES = 8 << 30  # bytes of private maps of a graph's files, which count as data until they are written to


@dataclass(frozen=True)
class Limit:
    """What holds the process.

    Args:
        kind: "cgroup v1", "cgroup v2", "RLIMIT_DATA" or "none".
        size: Bytes.
        group: Folder of the control group, if there is one.
    """

    kind: str
    size: int
    group: Path | None = None

    def enter(self) -> None:
        """Called in the new process before it is another program."""
        if self.group is not None:
            (self.group / "cgroup.procs").write_text(str(os.getpid()), encoding="utf-8")
        elif self.kind == "RLIMIT_DATA":
            size = self.size + MAPPED_COPIES
            resource.setrlimit(resource.RLIMIT_DATA, (size, size))

    def peak(self) -> int | None:
        """The most bytes that the group had, pages of files included; None where nobody counts."""
        for name in ("memory.max_usage_in_bytes", "memory.peak"):
            if self.group is not None and (self.group / name).exists():
                return int((self.group / name).read_text(encoding="utf-8"))
        return None


@contextmanager
def memory_limit(size: int | None) -> Iterator[Limit]:
    """Makes a group of `size` bytes, and removes it at the end; None is no limit."""
    if size is None:
        yield Limit("none", 0)
        return
    for kind, top, file in (("cgroup v1", _V1, "memory.limit_in_bytes"), ("cgroup v2", _V2, "memory.max")):
        group = top / f"ngm-limit-{os.getpid()}"
        try:
            if not (top / "cgroup.procs").exists():
                continue
            group.mkdir()
            (group / file).write_text(str(size), encoding="utf-8")
        except OSError:
            with suppress(OSError):
                group.rmdir()
            continue
        try:
            yield Limit(kind, size, group)
        finally:
            with suppress(OSError):
                group.rmdir()
        return
    yield Limit("RLIMIT_DATA", size)


def forget_pages(folder: Path) -> None:
    """Has the system give back the pages of all files in a folder, so that whoever reads them next is charged."""
    os.sync()
    for file in folder.rglob("*"):
        if file.is_file():
            with file.open("rb") as opened:
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def run_limited(command: Sequence[str], size: int | None) -> tuple[str, dict[str, object]]:
    """Runs a program to its end.

    Args:
        command: Program and arguments.
        size: Bytes that it may have; None is no limit.

    Returns:
        (its standard output, {"limit", "limit_gib", "peak_gib"}), the peak None where nobody counts.
    """
    with memory_limit(size) as limit:
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, preexec_fn=limit.enter, check=False)
        peak = limit.peak()
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode} under {limit.kind} of {limit.size:,} bytes")
    found = {"limit": limit.kind, "limit_gib": limit.size / 2**30, "peak_gib": None if peak is None else peak / 2**30}
    return done.stdout, found
