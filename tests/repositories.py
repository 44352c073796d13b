"""Small repositories of git."""

from __future__ import annotations

import subprocess
from pathlib import Path


def git(folder: Path, *words: str) -> str:
    """What git says, without the newline."""
    named = ["-c", "user.name=n", "-c", "user.email=e@x", "-c", "commit.gpgsign=false"]
    done = subprocess.run(["git", *named, *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def project(folder: Path) -> Path:
    """A repository with one commit of one file."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    (folder / "a.txt").write_text("one", encoding="utf-8")
    git(folder, "add", "a.txt")
    git(folder, "commit", "-q", "-m", "one")
    return folder
