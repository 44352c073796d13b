"""Every example runs, and so does the Python of the README and of each page of the documentation.

They run as they stand, but on fewer digits than `ngm.datasets` has and for five epochs at most (`small_digits.py`);
with NGM_WHOLE_EXAMPLES=1 on all digits and to the end. The README always has all.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.benchmark_modules import Forked, Job

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
    "ray_train": ["ray"],
    "docs/export.md": ["onnx", "onnxruntime", "onnxscript"],
}
IGNORED = {  # what these packages warn of in their own code
    "from_pyg": ("`torch.jit", DeprecationWarning),
    "lightning_module": ("`isinstance(treespec, LeafSpec)`", FutureWarning),
    "ray_train": ("`use_", DeprecationWarning),  # use_push_based_shuffle and others, which Ray Data sets itself
}
SLOW = ("ray_train",)  # tests/test_ray.py does the same
PAGES = [f"docs/{page.name}" for page in sorted((ROOT / "docs").glob("*.md"))]


def script(code: str, ignored: tuple[str, type[Warning]] | None = None) -> str:
    """The code, on fewer digits and epochs, with warnings as errors but for those that begin so."""
    first = "" if os.environ.get("NGM_WHOLE_EXAMPLES") else "from tests import small_digits\nsmall_digits.install()\n"
    first += "import warnings\nwarnings.simplefilter('error')\n"
    if ignored is not None:
        first += f"warnings.filterwarnings('ignore', {re.escape(ignored[0])!r}, {ignored[1].__name__})\n"
    return first + code


def skip_without(packages: list[str], what: str) -> None:
    missing = [name for name in packages if find_spec(name) is None]
    if missing:
        pytest.skip(f"{what} needs {' and '.join(missing)}: pip install -c constraints.txt {' '.join(missing)}")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_runs_and_says_something(example: Path, tmp_path: Path, server: Forked) -> None:
    skip_without(NEEDS.get(example.stem, []), example.name)
    if example.stem in SLOW and not os.environ.get("NGM_WHOLE_EXAMPLES"):
        pytest.skip(f"{example.name} starts a cluster of its own; set NGM_WHOLE_EXAMPLES=1 to run it, too")
    code = f"import runpy\nrunpy.run_path({str(example)!r}, run_name='__main__')"
    done = server.run(Job((), str(tmp_path), script=script(code, IGNORED.get(example.stem))))
    assert done.code == 0, done.err
    assert done.out.strip()


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_the_example_is_short(example: Path) -> None:
    assert len(example.read_text(encoding="utf-8").splitlines()) < 60


def blocks_of(page: str) -> list[str]:
    """The Python of a page."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_blocks_of_the_page_run_in_order(page: str, tmp_path: Path, server: Forked) -> None:
    blocks = blocks_of(page)
    if not blocks:
        pytest.skip(f"{page} has no Python")
    skip_without(NEEDS.get(page, []), page)
    done = server.run(Job((), str(tmp_path), script=script("\n".join(blocks))))
    assert done.code == 0, done.err


def test_the_readme_runs_in_a_process_of_its_own_from_the_first_import(tmp_path: Path) -> None:
    words = [sys.executable, "-W", "error", "-c", "\n".join(blocks_of("README.md"))]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_the_page_of_examples_shows_lines_of_every_script_and_no_others() -> None:
    page = (ROOT / "docs" / "fits.md").read_text(encoding="utf-8")
    shown = dict(re.findall(r"^`examples/(\w+)\.py`: .*?^```py\n(.*?)^```", page, re.MULTILINE | re.DOTALL))
    assert sorted(shown) == [example.stem for example in EXAMPLES]
    for example in EXAMPLES:
        script = [line.strip() for line in example.read_text(encoding="utf-8").splitlines()]
        assert [line for line in shown[example.stem].splitlines() if line.strip() not in script] == []
