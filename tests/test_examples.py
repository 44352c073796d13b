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
NEEDS = {  # beyond what this package itself needs
    "accelerate_loop": ["accelerate"],
    "from_networkx": ["networkx"],
    "from_pandas_and_polars": ["pandas", "polars"],
    "from_pyg": ["torch_geometric"],
    "hugging_face_encoder": ["transformers", "tokenizers"],
    "lightning_module": ["lightning"],
    "logging_and_export": ["onnx", "onnxruntime", "onnxscript", "tensorboard"],
    "optuna_search": ["optuna"],
    "docs/export.md": ["onnx", "onnxruntime", "onnxscript"],
}
IGNORED = {  # what these packages warn of in their own code
    "from_pyg": "ignore:`torch.jit:DeprecationWarning",
    "lightning_module": "ignore:`isinstance(treespec, LeafSpec)`:FutureWarning",
}
PAGES = ["README.md", *(f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md")))]


def run(code: list[str], folder: Path, ignored: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    flags = ["-W", "error"] if ignored is None else ["-W", "error", "-W", ignored]
    return subprocess.run([sys.executable, *flags, *code], cwd=folder, env=environment, capture_output=True, text=True)


def skip_without(packages: list[str], what: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"{what} needs {' and '.join(missing)}: pip install -c constraints.txt {' '.join(missing)}")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_says_something(example: Path, tmp_path: Path) -> None:
    skip_without(NEEDS.get(example.stem, []), example.name)
    done = run([str(example)], tmp_path, IGNORED.get(example.stem))
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


@pytest.mark.parametrize("page", PAGES)
def test_the_python_blocks_of_the_page_run_in_order(page: str, tmp_path: Path) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    if not blocks:
        pytest.skip(f"{page} has no Python")
    skip_without(NEEDS.get(page, []), page)
    done = run(["-c", "\n".join(blocks)], tmp_path)
    assert done.returncode == 0, done.stderr


def test_the_page_of_examples_shows_lines_of_every_script_and_no_others() -> None:
    page = (ROOT / "docs" / "fits.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`examples/(\w+)\.py`: .*?^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert sorted(shown) == [example.stem for example in EXAMPLES]
    for example in EXAMPLES:
        script = [line.strip() for line in example.read_text(encoding="utf-8").splitlines()]
        assert [line for line in shown[example.stem].splitlines() if line.strip() not in script] == []
