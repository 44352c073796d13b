"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ngm.files import file_written_whole, folder_written_whole, write_text


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
