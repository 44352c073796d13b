"""The commit that a project is at, read from its files.

`git` itself is not run: a repository's own configuration can make even `git status` execute programs (a file system
monitor, filters), and a training may well be started in somebody else's repository.
"""

from __future__ import annotations

import re
from pathlib import Path

_LENGTH = 12
_HEX = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_REF = re.compile(r"ref: (refs/[^\s\0]+)")


def head_commit(folder: Path) -> str | None:
    """The first 12 digits of the commit that is checked out where `folder` is; None outside of git, or without one."""
    try:
        repository = _repository(folder.resolve())
        commit = None if repository is None else _head(repository)
    except (OSError, ValueError):  # not to be read, or no text
        return None
    return None if commit is None else commit[:_LENGTH]


def _repository(folder: Path) -> Path | None:
    """The `.git` folder of a folder or of one above it; in a worktree or submodule, `.git` is a file that names it."""
    for parent in (folder, *folder.parents):
        git = parent / ".git"
        if git.is_dir():
            return git
        if git.is_file():
            git_text = _text(git)
            return parent / git_text.removeprefix("gitdir: ") if git_text.startswith("gitdir: ") else None
    return None


def _head(repository: Path) -> str | None:
    head = _text(repository / "HEAD")
    ref_match = _REF.fullmatch(head)
    if ref_match is None:
        return head if _HEX.fullmatch(head) else None
    ref, common = ref_match[1], repository / "commondir"
    if ".." in Path(ref).parts:
        return None
    shared = repository / _text(common) if common.is_file() else repository
    for git_folder in (repository, shared):
        if (git_folder / ref).is_file():
            commit = _text(git_folder / ref)
            return commit if _HEX.fullmatch(commit) else None
    packed = shared / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    commits = [line.split(" ", 1)[0] for line in lines if line.endswith(f" {ref}")]
    return commits[0] if commits and _HEX.fullmatch(commits[0]) else None


def _text(file: Path) -> str:
    """A small file; the limit keeps out what is no file of git's."""
    with file.open(encoding="utf-8") as opened:
        return opened.read(4096).rstrip("\n")
