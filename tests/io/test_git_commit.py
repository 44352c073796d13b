"""The commit of a project is read without running anything that its repository asks for."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from ngm.io.git_commit import head_commit
from tests.repositories import git, project


def head(folder: Path) -> str:
    return git(folder, "rev-parse", "--short=12", "HEAD")


def test_it_is_what_git_says(tmp_path: Path) -> None:
    mine = project(tmp_path / "mine")
    (mine / "deep" / "er").mkdir(parents=True)
    assert head_commit(mine) == head_commit(mine / "deep" / "er") == head(mine)
    git(mine, "branch", "topic/two")
    git(mine, "pack-refs", "--all")  # no file for the branch any more
    assert not (mine / ".git" / "refs" / "heads" / "main").exists()
    assert head_commit(mine) == head(mine)
    git(mine, "commit", "-q", "--allow-empty", "-m", "two")  # a file again, which is newer than the packed one
    assert head_commit(mine) == head(mine)
    git(mine, "worktree", "add", "-q", str(tmp_path / "other"), "topic/two")
    assert head_commit(tmp_path / "other") == head(tmp_path / "other") != head(mine)
    git(mine, "checkout", "-q", "--detach")
    assert head_commit(mine) == head(mine)


@pytest.mark.parametrize(
    "content", [b"", b"ref: refs/heads/none", b"ref: refs/../../secret", b"\xff\xfe", b"../../etc"]
)
def test_a_head_without_a_commit_is_none(tmp_path: Path, content: bytes) -> None:
    mine = project(tmp_path / "mine")
    (mine / "secret").write_text("a" * 40, encoding="utf-8")
    (mine / ".git" / "HEAD").write_bytes(content)
    assert head_commit(mine) is None


def test_outside_of_git_it_is_none(tmp_path: Path) -> None:
    assert head_commit(tmp_path) is None
    (tmp_path / ".git").write_text("no git", encoding="utf-8")
    assert head_commit(tmp_path) is None


def test_nothing_that_a_repository_asks_for_is_run(tmp_path: Path) -> None:
    mine, trace = project(tmp_path / "mine"), tmp_path / "was run"
    script = tmp_path / "script"
    script.write_text(f"#!/bin/sh\necho \"$0 $@\" >> '{trace}'\ncat\n", encoding="utf-8")
    script.chmod(0o755)
    for name in ("core.fsmonitor", "filter.planted.clean", "filter.planted.process", "diff.external", "core.pager"):
        git(mine, "config", name, str(script))
    hook = mine / ".git" / "hooks" / "post-index-change"
    hook.parent.mkdir(exist_ok=True)
    hook.symlink_to(script)
    (mine / ".gitattributes").write_text("* filter=planted\n", encoding="utf-8")
    (mine / "a.txt").write_text("two", encoding="utf-8")
    assert head_commit(mine) is not None
    assert not trace.exists()
    subprocess.run(["git", "status", "--porcelain"], cwd=mine, capture_output=True, check=False)
    assert trace.exists()  # as `git status` does, so the traps work
