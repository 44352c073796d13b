"""What is loaded before it is needed: nothing heavy, so that `import ngm`, help and a mistyped option cost little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = {"torch", "numpy", "scipy", "sklearn", "pandas", "duckdb", "plotly", "jinja2", "safetensors", "matplotlib"}
MOST_MODULES = 600  # Python's own included: 466 at most when this was written, 2,548 with an estimator
REPORT = (
    "import atexit, json, sys; atexit.register(lambda: sys.stderr.write('\\n' + json.dumps(sorted(sys.modules))))\n"
)


def loaded(code: str, *words: str, folder: Path) -> tuple[set[str], int]:
    """(modules loaded at the end, exit code) of a program of its own."""
    command = [sys.executable, "-c", f"{REPORT}{code}", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return set(json.loads(done.stderr.splitlines()[-1])), done.returncode


def heavy(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules} & HEAVY


def test_importing_the_package_loads_none_of_its_modules(tmp_path: Path) -> None:
    modules, _ = loaded("import ngm; dir(ngm); ngm.__version__; ngm.__all__", folder=tmp_path)
    assert heavy(modules) == set()
    assert {name for name in modules if name.startswith("ngm")} == {"ngm"}


HELP = ["--help", "--version", "train --help"]
MISTAKES = [
    "",
    "nonsense",
    "predict",
    "train",
    "train --nonsense",
    "train rows.csv --epochs 0",
    "train rows.csv --text a --columns b",
    "build rows.csv --metric cosin",
    "reproduce pubmet",
]


@pytest.mark.parametrize("line", [*HELP, *MISTAKES])
def test_help_and_mistakes_load_nothing_heavy(line: str, tmp_path: Path) -> None:
    program = "from ngm.cli import main; sys.argv[0] = 'ngm'; main()"
    modules, code = loaded(program, *line.split(), folder=tmp_path)
    assert code == (0 if line in HELP else 2)
    assert heavy(modules) == set()
    assert len(modules) < MOST_MODULES


def test_help_of_every_command_loads_nothing_heavy(tmp_path: Path) -> None:
    program = """
import typer
from ngm.cli import app
commands = typer.main.get_command(app).commands
for name, command in commands.items():
    command.main(["--help"], name, standalone_mode=False)
assert len(commands) == 10
"""
    modules, code = loaded(program, folder=tmp_path)
    assert code == 0
    assert heavy(modules) == set()


def test_a_graph_needs_neither_scikit_learn_nor_tables(tmp_path: Path) -> None:
    modules, _ = loaded("from ngm import Graph, EdgeLoader, NGMLoss, train", folder=tmp_path)
    assert heavy(modules) - {"torch", "numpy", "scipy", "safetensors"} == set()


def test_an_estimator_needs_neither_the_report_nor_the_command_line(tmp_path: Path) -> None:
    modules, _ = loaded("from ngm import NGMClassifier, knn_graph", folder=tmp_path)
    assert not {"typer", "plotly", "jinja2", "matplotlib", "onnx", "numba", "transformers"} & modules
    assert not {"ngm.cli", "ngm.report", "ngm.diagnosis", "ngm.experiments", "ngm.datasets"} & modules
