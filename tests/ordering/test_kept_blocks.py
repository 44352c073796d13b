"""The cut of a large graph, kept in its folder."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import numpy as np
import pytest

from ngm.ordering import EdgeBlocks, kept_blocks, kept_edge_blocks
from tests.edge_sources import ArraySource, Ids, communities

EDGES = communities(12, 6, seed=0)


def cut(folder: Path | None, edges: Ids = EDGES, count: int = 20) -> EdgeBlocks:
    return kept_edge_blocks(ArraySource(edges), 72, 16, count, folder)


def files(folder: Path) -> list[Path]:
    return sorted((folder / "batches").iterdir())


def same(first: EdgeBlocks, second: EdgeBlocks) -> bool:
    return first.order.tolist() == second.order.tolist() and first.start.tolist() == second.start.tolist()


def test_the_second_run_reads_what_the_first_has_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = cut(tmp_path)
    assert same(first, cut(None))
    assert len(files(tmp_path)) == 1
    monkeypatch.setattr(kept_blocks, "edge_blocks_out_of_core", None)  # would not be called
    second = cut(tmp_path)
    assert same(first, second)
    assert isinstance(second.order.base, np.memmap)


def test_a_changed_graph_or_another_number_of_blocks_gets_a_cut_of_its_own(tmp_path: Path) -> None:
    cut(tmp_path)
    other = EDGES.copy()
    other[0] = [70, 71] if other[0].tolist() != [70, 71] else [69, 71]
    assert same(cut(tmp_path, other), cut(None, other))
    assert len(cut(tmp_path, count=25)) == 25
    assert len(files(tmp_path)) == 3


@pytest.mark.parametrize("damage", [b"", b"nothing", None], ids=["empty", "other", "cut short"])
def test_a_damaged_file_is_computed_again(damage: bytes | None, tmp_path: Path) -> None:
    cut(tmp_path)  # not kept: the file that it maps is about to be shorter
    (file,) = files(tmp_path)
    content = file.read_bytes()
    file.write_bytes(content[:-8] if damage is None else damage)
    assert same(cut(tmp_path), cut(None))
    assert file.read_bytes() == content


def test_only_the_cuts_that_were_used_last_are_kept(tmp_path: Path) -> None:
    for number, count in enumerate((20, 21, 22, 23, 24)):
        cut(tmp_path, count=count)
        for file in files(tmp_path):
            os.utime(file, (number, file.stat().st_mtime - 10))
    assert len(files(tmp_path)) == kept_blocks.MAX_FILES


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES], ids=["full", "read-only"])
def test_a_folder_that_cannot_be_written_to_changes_nothing_but_where_the_cut_is(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(file: int, size: int) -> None:
        (name,) = (path for path in files(tmp_path) if path.name.endswith(".part"))
        raise OSError(number, os.strerror(number), str(name))

    monkeypatch.setattr(kept_blocks, "reserve", refuse)
    assert same(cut(tmp_path), cut(None))
    assert not (tmp_path / "batches").exists()


def test_a_folder_that_is_gone_is_not_made_again(tmp_path: Path) -> None:
    assert same(cut(tmp_path / "gone"), cut(None))
    assert not (tmp_path / "gone").exists()


def test_a_cut_that_another_process_computes_is_waited_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []

    def other_process(seconds: float) -> None:
        waited.append(seconds)
        monkeypatch.undo()
        cut(tmp_path)

    class Taken:
        def __init__(self, *_: object, **__: object) -> None:
            raise kept_blocks.FolderInUseError("taken")

    monkeypatch.setattr(kept_blocks, "folder_lock", Taken)
    monkeypatch.setattr("ngm.ordering.kept_blocks.time.sleep", other_process)
    assert same(cut(tmp_path), cut(None))
    assert len(waited) == 1
