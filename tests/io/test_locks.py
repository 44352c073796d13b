"""A folder has one writer at a time, and no lock outlives its owner."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path
from threading import Thread

import pytest

from ngm.io import locks
from ngm.io.locks import FolderInUseError, folder_lock

HOLD = """
import sys, time
from ngm.io.locks import folder_lock
with folder_lock(sys.argv[1]):
    print("has it", flush=True)
    time.sleep(60)
"""


def refused(folder: Path) -> str:
    with pytest.raises(FolderInUseError) as caught, folder_lock(folder):
        pass
    return str(caught.value)


def test_another_process_is_refused_until_the_owner_is_killed(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path)], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        assert owner.stdout.readline() == "has it\n"
        said = "is being written by another training; wait until that ends, or name another folder"
        assert refused(tmp_path) == f"{tmp_path} {said}"
        owner.send_signal(signal.SIGKILL)
    with folder_lock(tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_another_thread_is_refused_and_the_same_one_is_not(tmp_path: Path) -> None:
    said: list[str] = []
    with folder_lock(tmp_path), folder_lock(tmp_path / ".." / tmp_path.name):
        thread = Thread(target=lambda: said.append(refused(tmp_path)))
        thread.start()
        thread.join()
    assert len(said) == 1
    with folder_lock(tmp_path):
        pass
    assert locks._LOCKS == {}


def test_a_lock_taken_inside_holds_until_the_outer_one_ends(tmp_path: Path) -> None:
    folder, said = tmp_path / "new", []
    with folder_lock(folder):  # not there yet
        with folder_lock(folder, create=True):
            (folder / "file").touch()
        thread = Thread(target=lambda: said.append(refused(folder)))
        thread.start()
        thread.join()
    assert len(said) == 1


def test_folders_that_stay_empty_are_removed_again(tmp_path: Path) -> None:
    with folder_lock(tmp_path / "a" / "b", create=True):
        assert (tmp_path / "a" / "b").is_dir()
    assert list(tmp_path.iterdir()) == []
    with folder_lock(tmp_path / "a" / "b", create=True):
        (tmp_path / "a" / "b" / "file").touch()
    assert (tmp_path / "a" / "b" / "file").exists()
    (tmp_path / "mine").mkdir()
    with folder_lock(tmp_path / "mine", create=True):
        pass
    assert (tmp_path / "mine").is_dir()


def test_where_the_system_has_no_locks_nothing_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locks, "fcntl", None)
    with folder_lock(tmp_path):
        thread = Thread(target=lambda: folder_lock(tmp_path).__enter__())
        thread.start()
        thread.join()
