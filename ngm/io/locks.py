"""One writer at a time in a folder: a lock that the system releases when its owner ends, however it ends.

The lock is on the folder itself (`flock`), so there is no file that could be left behind. It is advisory: reading
a folder needs none. Where the system has no such locks (Windows, some network file systems) nothing is refused.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from ngm.io.files import name_failures

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]


class FolderInUseError(BlockingIOError):
    """Another process, or another thread of this one, is writing into the folder."""


@dataclass
class _Lock:
    """A lock of one thread.

    Args:
        depth: How many `folder_lock` are inside each other.
        file: Descriptor of the open folder; None while the folder is not there.
        created: Folders that were made for it, the innermost first.
    """

    depth: int = 0
    file: int | None = None
    created: list[Path] = field(default_factory=list)


_LOCKS: dict[tuple[int, Path], _Lock] = {}


@contextmanager
def folder_lock(folder: str | Path, create: bool = False) -> Iterator[None]:
    """Keeps other writers out of a folder; a thread that has the lock may take it again.

    Args:
        folder: If it is not there, it is not locked, but for `create`.
        create: Make the folder first; if it is still empty at the end, it is removed again.

    Raises:
        FolderInUseError: Somebody else has the lock.
    """
    path = Path(folder).resolve()
    key = threading.get_ident(), path
    lock = _LOCKS.setdefault(key, _Lock())
    lock.depth += 1
    try:
        if lock.file is None and create:
            lock.created = [path, *path.parents][: _missing(path)]
            with name_failures(path):
                path.mkdir(parents=True, exist_ok=True)
        if lock.file is None and path.is_dir():
            lock.file = _open_locked(path, folder)
        yield
    finally:
        lock.depth -= 1
        if not lock.depth:
            del _LOCKS[key]
            _release(lock)


def _missing(path: Path) -> int:
    """How many folders of the path are not there."""
    return next((i for i, part in enumerate((path, *path.parents)) if part.exists()), 0)


def _open_locked(path: Path, name: str | Path) -> int | None:
    if fcntl is None:
        return None
    file = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(file)
        raise FolderInUseError(
            f"{name} is being written by another training; wait until that ends, or name another folder"
        ) from None
    except OSError:  # a file system without such locks
        os.close(file)
        return None
    return file


def _release(lock: _Lock) -> None:
    with suppress(OSError):  # not empty
        for path in lock.created:
            path.rmdir()
    if lock.file is not None:
        os.close(lock.file)
