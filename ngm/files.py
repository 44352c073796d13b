"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path`; on success it takes the place of `path`, else it is removed."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
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
    if folder.exists() and not (folder.is_dir() and ((folder / marker).exists() or not any(folder.iterdir()))):
        raise FileExistsError(f"{folder} exists and has no {marker}; name a new or empty folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir()
    old = folder.with_name(f".{folder.name}.{os.getpid()}.old")
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


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    with file_written_whole(path) as part:
        part.write_text(text, encoding="utf-8")
