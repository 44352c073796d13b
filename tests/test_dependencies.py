"""Every package that the library imports is declared in pyproject.toml, by itself and not through another one."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import ngm

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(ngm.__file__).parent
# what modules are called that may not be installed where the tests run; others are looked up
DISTRIBUTIONS = {
    "choreographer": "choreographer",
    "gensim": "gensim",
    "kaleido": "kaleido",
    "matplotlib": "matplotlib",
    "networkx": "networkx",
    "numba": "numba",
    "onnx": "onnx",
    "onnxruntime": "onnxruntime",
    "ray": "ray",
    "sklearn": "scikit-learn",
    "sparse_dot_topn": "sparse-dot-topn",
    "torch_geometric": "torch-geometric",
}


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(project: dict[str, object], *, extras: bool) -> set[str]:
    groups = [project["dependencies"], *(project["optional-dependencies"].values() if extras else [])]  # type: ignore
    return {normalized(re.split(r"[<>=!~\[; ]", entry, maxsplit=1)[0]) for group in groups for entry in group}


def imported(source: str) -> Iterator[tuple[str, bool]]:
    """Packages that are neither ours nor Python's, and whether they are needed as soon as the module is imported."""
    tree = ast.parse(source)
    guarded = {id(n) for top in ast.walk(tree) if isinstance(top, ast.If | ast.FunctionDef) for n in ast.walk(top)}
    for node in ast.walk(tree):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and not node.level and node.module:
            names = [node.module]
        for name in (name.split(".")[0] for name in names):
            if name not in sys.stdlib_module_names and name != "ngm":
                yield name, id(node) not in guarded


def undeclared(sources: dict[str, str], project: dict[str, object]) -> list[str]:
    """Imports of packages that are not declared; of those needed at once, that are not among the dependencies."""
    every, needed, found = declared(project, extras=True), declared(project, extras=False), packages_distributions()
    wrong = []
    for file, source in sorted(sources.items()):
        for name, at_once in imported(source):
            known = {DISTRIBUTIONS[name]} if name in DISTRIBUTIONS else set(found.get(name, [name]))
            if not {normalized(k) for k in known} & (needed if at_once else every):
                wrong.append(f"{file} imports {name}, and pyproject.toml does not declare it")
    return wrong


def project() -> dict[str, object]:
    return dict(tomllib.loads((ROOT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"])


def test_every_import_of_the_library_is_declared() -> None:
    sources = {f.relative_to(ROOT).as_posix(): f.read_text(encoding="utf-8") for f in ROOT.rglob("*.py")}
    assert undeclared(sources, project()) == []


def test_an_import_that_only_another_package_brings_along_is_found() -> None:
    only = {
        "dependencies": ["jinja2>=3.1", "Scikit_Learn[x]>=1.6"],
        "optional-dependencies": {"plot": ["matplotlib>=3"]},
    }
    sources = {
        "a.py": "import os, sklearn.base\nfrom markupsafe import Markup",
        "b.py": "import matplotlib",
        "c.py": "def draw():\n    import matplotlib",
    }
    assert undeclared(sources, only) == [
        "a.py imports markupsafe, and pyproject.toml does not declare it",
        "b.py imports matplotlib, and pyproject.toml does not declare it",
    ]
