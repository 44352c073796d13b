"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path`; on success it takes the place of `path`, else it is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = beside(path, "part")
    try:
        yield part
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def folder_written_whole(folder: Path, marker: str) -> Iterator[Path]:
    """Gives a temporary folder beside `folder`; on success it takes the place of `folder`, else it is removed.

    Args:
        folder: Where the result goes. If it exists, it must be empty or hold `marker`: somebody's other files
            are never replaced.
        marker: Name of the file that shows that a folder is one of ours.
    """
    try:
        with _folder_written_whole(folder, marker) as part:
            yield part
    except OSError as error:
        if error.errno != errno.ENOSPC and not isinstance(
            error, DiskFullError
        ):  # the latter: of a folder inside of this
            raise
        raise DiskFullError(
            f"the disk is full: writing {folder} needs more space, and nothing was kept of it; free some, or name a "
            "folder on another disk"
        ) from None


class DiskFullError(OSError):
    """No space is left for a folder; says which."""


@contextmanager
def _folder_written_whole(folder: Path, marker: str) -> Iterator[Path]:
    if folder.exists() and not (folder.is_dir() and ((folder / marker).exists() or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder} exists and has no {marker}; name a new or empty folder")
    part = beside(folder, "part")
    folder.parent.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    old = beside(folder, "old")
    try:
        yield part
        if folder.exists():
            folder.replace(old)  # not deleted before the new one is there
        try:
            part.replace(folder)
        except OSError:
            if old.exists():
                old.replace(folder)
            raise
        shutil.rmtree(old, ignore_errors=True)
    finally:
        shutil.rmtree(part, ignore_errors=True)


def beside(path: Path, ending: str) -> Path:
    """A hidden name in the same folder, for what is on its way to `path`; it has this process's number in it."""
    if not path.name:
        raise ValueError(f"{str(path)!r} is no name for something new; name it, such as {str(path / 'graph')!r}")
    return path.with_name(f".{path.name}.{os.getpid()}.{ending}")


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    with file_written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
