"""What is loaded before it is needed: nothing heavy, so that `import ngm`, help and a mistyped option cost little."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from ngm.cli import app

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


EACH = """
from ngm.cli import main
for line in json.loads(sys.argv[1]):
    sys.argv = ["ngm", *line.split()]
    try:
        main()
    except SystemExit as ended:
        print(json.dumps([line, ended.code or 0, len(sys.modules), sorted(sys.modules)]), file=sys.stderr)
"""


def test_help_and_mistakes_load_nothing_heavy(tmp_path: Path) -> None:
    """One process for all: what a line loads stays loaded, so the first line that is wrong is the one to mend."""
    lines = [*HELP, *MISTAKES, *(f"{command.name} --help" for command in app.registered_commands)]
    command = [sys.executable, "-c", f"import json, sys\n{EACH}", json.dumps(lines)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    ended = [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]
    assert [line for line, *_ in ended] == lines
    for line, code, count, modules in ended:
        assert code == (2 if line in MISTAKES else 0), line
        assert heavy(set(modules)) == set(), line
        assert count < MOST_MODULES, line


def test_a_graph_needs_neither_scikit_learn_nor_tables(tmp_path: Path) -> None:
    modules, _ = loaded("from ngm import Graph, EdgeLoader, NGMLoss, train", folder=tmp_path)
    assert heavy(modules) - {"torch", "numpy", "scipy", "safetensors"} == set()


def test_an_estimator_needs_neither_the_report_nor_the_command_line(tmp_path: Path) -> None:
    modules, _ = loaded("from ngm import NGMClassifier, knn_graph", folder=tmp_path)
    assert not {"typer", "plotly", "jinja2", "matplotlib", "onnx", "numba", "transformers"} & modules
    assert not {"ngm.cli", "ngm.report", "ngm.diagnosis", "ngm.experiments", "ngm.datasets"} & modules


def test_ray_is_not_imported_before_it_is_used(tmp_path: Path) -> None:
    modules, code = loaded(
        "import ngm; ngm.ray.fit, ngm.ray.train, ngm.ray.predict, ngm.ray.Predictor", folder=tmp_path
    )
    assert code == 0
    assert "ray" not in modules
