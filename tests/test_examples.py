"""Every example runs as it stands, and so does the README's."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
NEEDS = {"hugging_face_encoder": "transformers"}  # beyond what this package itself needs


def run(code: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.run(
        [sys.executable, "-W", "error", *code], cwd=folder, env=environment, capture_output=True, text=True
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_says_something(example: Path, tmp_path: Path) -> None:
    needed = NEEDS.get(example.stem)
    if needed and find_spec(needed) is None:
        pytest.skip(f"{example.name} needs {needed}: pip install -c constraints.txt {needed}")
    done = run([str(example)], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("page", ["README.md", *(f"docs/{p.name}" for p in sorted((ROOT / "docs").glob("*.md")))])
def test_the_python_blocks_of_the_page_run_in_order(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not blocks:
        pytest.skip(f"{page} has no Python")
    done = run(["-c", "\n".join(blocks)], tmp_path)
    assert done.returncode == 0, done.stderr
