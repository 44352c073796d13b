"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ngm.io.files
from ngm.io.files import (
    file_written_whole,
    folder_written_whole,
    is_temporary,
    remove_all_leftovers,
    temporary_path,
    write_text,
)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def fill(part: Path, text: str) -> None:
    (part / "marker").write_text(text, encoding="utf-8")


def test_text_is_written_as_utf8_into_folders_made_on_the_way(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "note.txt"
    write_text(path, "häßlich")
    assert path.read_bytes() == b"h\xc3\xa4\xc3\x9flich"
    write_text(path, "short")
    assert path.read_bytes() == b"short"
    assert names(path.parent) == ["note.txt"]


def test_a_file_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")
    with file_written_whole(path) as part:
        part.write_text("new", encoding="utf-8")
        assert part.parent == path.parent  # on the same disk, so that taking its place is one step
        assert path.read_text(encoding="utf-8") == "old"
    assert path.read_text(encoding="utf-8") == "new"
    assert names(tmp_path) == ["file"]


def test_a_file_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_text("old", encoding="utf-8")

    def fail() -> None:
        with file_written_whole(path) as part:
            part.write_text("half", encoding="utf-8")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail()
    assert path.read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["file"]


def test_a_file_that_fails_before_it_is_begun_gives_its_own_error(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="at once"), file_written_whole(tmp_path / "file"):
        raise RuntimeError("at once")
    assert names(tmp_path) == []


def test_a_folder_appears_only_when_it_is_complete(tmp_path: Path) -> None:
    folder = tmp_path / "made" / "folder"
    with folder_written_whole(folder, marker="marker") as part:
        fill(part, "new")
        assert part.parent == folder.parent
        assert not folder.exists()
    assert names(folder) == ["marker"]
    assert names(folder.parent) == ["folder"]


def test_a_folder_of_ours_is_replaced_and_its_old_files_go(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, "old")
    (folder / "extra").touch()
    with folder_written_whole(folder, marker="marker") as part:
        fill(part, "new")
        assert (folder / "marker").read_text(encoding="utf-8") == "old"
    assert (folder / "marker").read_text(encoding="utf-8") == "new"
    assert names(folder) == ["marker"]
    assert names(tmp_path) == ["folder"]


def test_an_empty_folder_is_used(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with folder_written_whole(tmp_path / "folder", marker="marker") as part:
        fill(part, "new")
    assert names(tmp_path / "folder") == ["marker"]


@pytest.mark.parametrize("kind", ["folder", "file"])
def test_what_is_not_ours_is_never_replaced(tmp_path: Path, kind: str) -> None:
    target = tmp_path / "theirs"
    if kind == "folder":
        target.mkdir()
        (target / "data").write_text("theirs", encoding="utf-8")
    else:
        target.write_text("theirs", encoding="utf-8")
    message = f"^{re.escape(str(target))} exists and has no marker; name a new or empty folder$"
    with pytest.raises(FileExistsError, match=message), folder_written_whole(target, marker="marker"):
        pytest.fail("the block ran")
    assert (target / "data" if kind == "folder" else target).read_text(encoding="utf-8") == "theirs"
    assert names(tmp_path) == ["theirs"]


def test_a_folder_that_fails_leaves_the_old_one_and_nothing_else(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, "old")

    def fail() -> None:
        with folder_written_whole(folder, marker="marker") as part:
            fill(part, "half")
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail()
    assert (folder / "marker").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["folder"]


def test_a_folder_that_cannot_take_its_place_leaves_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, "old")
    plain = Path.replace

    def refuse(self: Path, target: Path) -> Path:
        if self.name.endswith(".part"):
            raise OSError("no")
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", refuse)
    monkeypatch.setattr(ngm.io.files, "_exchange", lambda one, other: False)
    with pytest.raises(OSError, match=r"^no$"), folder_written_whole(folder, marker="marker") as part:
        fill(part, "new")
    assert (folder / "marker").read_text(encoding="utf-8") == "old"
    assert names(tmp_path) == ["folder"]


def test_the_old_folder_is_never_deleted_before_the_new_one_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, "old")
    plain = Path.replace

    def once(self: Path, target: Path) -> Path:
        if self != folder:
            raise OSError("disk gone")  # neither the new one nor the old one can be put in place
        return plain(self, target)

    monkeypatch.setattr(Path, "replace", once)
    monkeypatch.setattr(ngm.io.files, "_exchange", lambda one, other: False)
    with pytest.raises(OSError, match="disk gone"), folder_written_whole(folder, marker="marker") as part:
        fill(part, "new")
    (kept,) = tmp_path.iterdir()
    assert (kept / "marker").read_text(encoding="utf-8") == "old"


def test_leftovers_of_a_killed_run_do_not_get_in(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    with folder_written_whole(folder, marker="marker") as part:
        name = part.name
    (tmp_path / name).mkdir()
    (tmp_path / name / "stale").touch()
    with folder_written_whole(tmp_path / "folder", marker="stale") as part:
        fill(part, "new")
    assert names(folder) == ["marker"]


# What killed processes leave


@pytest.fixture(scope="module")
def dead() -> int:
    """The number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def leave(path: Path, pid: int, ending: str, host: str | None = None) -> Path:
    """Makes a file, or a folder with a file in it, such as a process leaves that is killed while it writes `path`."""
    left = path.with_name(f".{path.name}.{pid}@{platform.node().partition('.')[0] if host is None else host}.{ending}")
    if ending in ("old", "spill"):
        left.mkdir()
        fill(left, "left")
    else:
        left.write_text("half", encoding="utf-8")
    return left


def test_leftovers_have_the_names_that_are_recognized(tmp_path: Path) -> None:
    path = tmp_path / "a b\n.part"
    assert temporary_path(path, "part") == leave(path, os.getpid(), "part")
    assert is_temporary(temporary_path(path, "part"))
    assert not is_temporary(path)
    assert not is_temporary(tmp_path / ".hidden.part")


@pytest.mark.parametrize("ending", ["part", "csv", "spill"])
def test_the_next_to_write_a_file_removes_what_a_killed_process_left(tmp_path: Path, dead: int, ending: str) -> None:
    leave(tmp_path / "file", dead, ending)
    write_text(tmp_path / "file", "new")
    assert names(tmp_path) == ["file"]


def test_the_next_to_write_a_folder_removes_what_a_killed_process_left(tmp_path: Path, dead: int) -> None:
    leave(tmp_path / "folder", dead, "spill")
    leave(tmp_path / "folder", dead, "part")
    with folder_written_whole(tmp_path / "folder", marker="marker") as part:
        fill(part, "new")
    assert names(tmp_path) == ["folder"]


def test_what_a_living_process_or_another_machine_writes_stays(tmp_path: Path, dead: int) -> None:
    path = tmp_path / "file"
    stays = [leave(path, os.getppid(), "part"), leave(path, dead, "part", "elsewhere")]
    stays += [leave(tmp_path / "file.x", dead, "part"), tmp_path / f".file.{dead}.part"]
    stays[-1].touch()
    write_text(path, "new")
    assert names(tmp_path) == sorted(["file", *(left.name for left in stays)])


def test_leftovers_of_every_name_are_removed(tmp_path: Path, dead: int) -> None:
    for name in ("a", "b"):
        leave(tmp_path / name, dead, "part")
    (tmp_path / "c").touch()
    remove_all_leftovers(tmp_path)
    assert names(tmp_path) == ["c"]


def test_a_folder_that_a_killed_process_moved_aside_comes_back(tmp_path: Path, dead: int) -> None:
    leave(tmp_path / "folder", dead, "old")

    def fail() -> None:
        with folder_written_whole(tmp_path / "folder", marker="marker"):
            raise RuntimeError("midway")

    with pytest.raises(RuntimeError, match="midway"):
        fail()
    assert (tmp_path / "folder" / "marker").read_text(encoding="utf-8") == "left"
    assert names(tmp_path) == ["folder"]


@pytest.mark.skipif(sys.platform != "linux", reason="other systems cannot exchange two names in one step")
def test_a_folder_is_there_at_every_moment_of_its_replacement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, "old")
    monkeypatch.setattr(Path, "replace", lambda self, target: pytest.fail(f"{self} was moved to {target}"))
    with folder_written_whole(folder, marker="marker") as part:
        fill(part, "new")
    assert (folder / "marker").read_text(encoding="utf-8") == "new"


def test_a_folder_inside_of_one_on_its_way_has_no_temporary_name_of_its_own(tmp_path: Path) -> None:
    with (
        folder_written_whole(tmp_path / "folder", marker="marker") as part,
        folder_written_whole(part, marker="marker") as inner,
    ):
        fill(inner, "new")
        assert names(tmp_path) == [part.name]  # or a kill would leave a name that nobody recognizes
    assert names(tmp_path / "folder") == ["marker"]
