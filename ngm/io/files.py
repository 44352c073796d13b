"""Files and folders that are written whole or not at all.

What is on its way to a name waits beside it under a temporary name, `.name.PID@HOST.part`. A process that is killed can
leave it there; the next one on that machine that writes to the name removes it.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import re
import shutil
import struct
import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_TEMPORARY = re.compile(r"\.(?P<name>.+)\.(?P<pid>\d+)@(?P<host>[^.]*)\.(?P<ending>part|old|spill|csv)", re.DOTALL)
_FULL = (errno.ENOSPC, errno.EDQUOT)
_REFUSED = (errno.EROFS, errno.EACCES, errno.EPERM)
_CURRENT_FOLDER, _EXCHANGE = -100, 2  # AT_FDCWD and RENAME_EXCHANGE of Linux
# what numpy, zipfile and their like raise on a file that is damaged
DAMAGED: tuple[type[Exception], ...] = (
    *(ArithmeticError, EOFError, LookupError, MemoryError, OSError, RuntimeError, SyntaxError, TypeError, ValueError),
    *(struct.error, tokenize.TokenError, zipfile.BadZipFile, zlib.error),
)


class DiskFullError(OSError):
    """No space is left for a file or a folder; says which."""


@contextmanager
def file_written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary name beside `path`; on success it takes the place of `path`, else it is removed."""
    part = temporary_path(path, "part")
    with name_failures(path, part):
        path.parent.mkdir(parents=True, exist_ok=True)
        remove_leftovers(path)
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
    if is_temporary(folder) and folder.is_dir() and not any(folder.iterdir()):
        yield folder  # a folder that is itself on its way to its name
        return
    part = temporary_path(folder, "part")
    check_writable(folder)
    with name_failures(folder, part):
        remove_leftovers(folder)
        if folder.exists() and not (folder.is_dir() and ((folder / marker).exists() or not any(folder.iterdir()))):
            raise FileExistsError(f"{folder} exists and has no {marker}; name a new or empty folder")
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.rmtree(part, ignore_errors=True)
        try:
            part.mkdir()  # in here, since Ctrl-C may come as soon as it is there
            yield part
            _replace_folder(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)


def _replace_folder(part: Path, folder: Path) -> None:
    """Puts the new folder where the old one is; `part` may then be the old one."""
    if not folder.exists():
        part.replace(folder)
        return
    if _exchange(part, folder):
        return
    old = temporary_path(folder, "old")  # where the system cannot exchange two names in one step
    shutil.rmtree(old, ignore_errors=True)
    folder.replace(old)  # not deleted before the new one is there
    try:
        part.replace(folder)
    except OSError:
        old.replace(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(first: Path, second: Path) -> bool:
    """Swaps two names in one step; False where the system or the disk cannot."""
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    status: int = rename(_CURRENT_FOLDER, os.fsencode(first), _CURRENT_FOLDER, os.fsencode(second), _EXCHANGE)
    return status == 0


def temporary_path(path: Path, ending: str) -> Path:
    """A hidden name in the same folder, for what is on its way to `path`; it names this process and its machine.

    Args:
        path: Where the result goes.
        ending: part (the result), old (what it replaces), spill (what does not fit into memory) or csv.
    """
    if not path.name:
        raise ValueError(f"{str(path)!r} does not name a new file or folder; name it, such as {str(path / 'graph')!r}")
    if "\0" in str(path):
        raise ValueError(f"{str(path)!r} does not name a new file or folder: it has a zero byte in it")
    return path.with_name(f".{path.name}.{os.getpid()}@{_host()}.{ending}")


def _host() -> str:
    return platform.node().partition(".")[0]


def is_temporary(path: Path) -> bool:
    """Whether the name is one that `temporary_path` gives, to this process or to another."""
    return _TEMPORARY.fullmatch(path.name) is not None


def remove_leftovers(path: Path) -> None:
    """Removes what processes of this machine that are no more left on its way to `path`.

    A folder that was moved aside by a process that was killed before the new one took its place is put back.
    """
    if not path.parent.is_dir():
        return
    for leftover in list(path.parent.iterdir()):
        if leftover.name.startswith(f".{path.name}."):
            _remove_leftover(leftover, path.name)


def remove_all_leftovers(folder: Path) -> None:
    """As `remove_leftovers`, for every name in a folder."""
    for leftover in list(folder.iterdir()):
        _remove_leftover(leftover)


def _remove_leftover(leftover: Path, name: str | None = None) -> None:
    match = _TEMPORARY.fullmatch(leftover.name)
    if match is None or match["host"] != _host() or _is_alive(int(match["pid"])):
        return
    if name is not None and match["name"] != name:
        return
    target = leftover.with_name(match["name"])
    if match["ending"] == "old" and not target.exists():
        leftover.replace(target)
    elif leftover.is_dir():
        shutil.rmtree(leftover, ignore_errors=True)
    else:
        leftover.unlink(missing_ok=True)


def remove_folder(folder: Path) -> None:
    """Removes a folder so that it is whole or gone under its name, whenever the process is killed."""
    renamed = temporary_path(folder, "part")
    folder.replace(renamed)
    shutil.rmtree(renamed)


def _is_alive(pid: int) -> bool:
    """Whether there is such a process; yes where that cannot be asked."""
    if os.name != "posix":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


@contextmanager
def name_failures(path: Path, part: Path | None = None) -> Iterator[None]:
    """Says in one line which file or folder could not be written, where the disk is full or not to be written to.

    Args:
        path: What is written.
        part: Its temporary name, which messages are not to show.
    """
    try:
        yield
    except DiskFullError:  # of a file inside of this: the whole is what was not kept
        raise _disk_full(path) from None
    except OSError as error:
        if error.errno in _FULL:
            raise _disk_full(path) from None
        if error.errno in _REFUSED and _concerns(error, part or path):
            raise _not_writable(path, str(error.strerror)) from None
        raise


def _disk_full(path: Path) -> DiskFullError:
    return DiskFullError(
        f"the disk is full: writing {path} needs more space, and the partial file was removed; free some, or write to "
        "another disk"
    )


def _concerns(error: OSError, part: Path) -> bool:
    """Whether an error names the temporary file, something in it, or a folder that it is to be in."""
    if not isinstance(error.filename, str):
        return False
    error_path = Path(error.filename)
    return error_path == part or part in error_path.parents or error_path in part.parents


def check_writable(path: Path) -> None:
    """Refuses a file or folder that could not be written, before anything is read for it."""
    parent = path.absolute().parent
    while not parent.exists() and parent != parent.parent:
        parent = parent.parent
    for folder in (parent, path) if path.is_dir() else (parent,):
        if not folder.is_dir():
            raise NotADirectoryError(f"{path} cannot be written: {folder} is a file; name another folder")
        if not os.access(folder, os.W_OK | os.X_OK):
            raise _not_writable(path, f"{folder} is read-only")


def _not_writable(path: Path, reason: str) -> PermissionError:
    return PermissionError(f"{path} cannot be written ({reason}); name a writable place")


def write_text(path: Path, text: str) -> None:
    """Writes `text` as UTF-8, whole or not at all."""
    with file_written_whole(path) as part:
        part.write_text(text, encoding="utf-8")


def path_exists(name: str | Path) -> bool:
    """Whether there is such a file or folder; a query may be too long for a name, or hold what no name can."""
    try:
        return Path(name).exists()
    except (OSError, ValueError):
        return False


def is_graph_folder(source: str | Path) -> bool:
    """Whether a source is a folder that `save_graph`, `read_graph` or `Graph.save` wrote; a query is none."""
    try:
        return (Path(source) / "graph.json").is_file()
    except (OSError, ValueError):
        return False
