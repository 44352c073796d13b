"""Data flows one way: a module imports only from layers above its own."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngm

# In the order of the data flow. A package is one layer. A new module takes the highest place at which everything
# that it imports still stands above it.
LAYERS = [
    "names",
    "choices",
    "parameters",
    "arguments",
    "pair_keys",
    "edge_lists",
    "node_targets",
    "processor",
    "files",
    "fetch",
    "locks",
    "commits",
    "graph_files",
    "tables",
    "graph",
    "store",
    "spread",
    "text",
    "build",
    "inputs",
    "distances",
    "collapse",
    "ordering",
    "rows",
    "hashing",
    "edge_batch",
    "negatives",
    "sampling",
    "networks",
    "objective",
    "metrics",
    "distributed",
    "run",
    "features",
    "evidence",
    "training",
    "recipes",
    "logs",
    "methods",
    "comparators",
    "datasets",
    "diagnosis",
    "report",
    "__init__",  # the public names; only what stands below may say `from ngm import Graph`
    "reproduce",
    "cli",
    "__main__",
]
ROOT = Path(ngm.__file__).parent


@dataclass(frozen=True)
class Import:
    """One import of a module of ours, as `source` says it."""

    target: str
    line: int
    in_function: bool


def module_name(file: Path, root: Path) -> str:
    """`ngm.methods.saving` for ngm/methods/saving.py, `ngm` for ngm/__init__.py."""
    parts = (root.name, *file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str) -> str:
    return module.split(".")[1] if "." in module else "__init__"


def imports_of(source: str, module: str, modules: set[str]) -> Iterator[Import]:
    """Imports of `modules` in a file, those for type checkers only left out."""

    def walk(node: ast.AST, in_function: bool) -> Iterator[Import]:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
                for other in child.orelse:
                    yield from walk(ast.Module([other], []), in_function)
            elif isinstance(child, ast.Import | ast.ImportFrom):
                yield from (Import(t, child.lineno, in_function) for t in targets(child))
            else:
                inside = in_function or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
                yield from walk(child, inside)

    def targets(node: ast.Import | ast.ImportFrom) -> Iterator[str]:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in modules)
            return
        assert node.level == 0, f"{module}, line {node.lineno}: write imports in full, from ngm..."
        for alias in node.names:
            whole = (
                f"{node.module}.{alias.name}"  # `from ngm import graph` is the module, `from ngm import Graph` is not
            )
            if whole in modules:
                yield whole
            elif node.module in modules:
                yield str(node.module)

    yield from walk(ast.parse(source), in_function=False)


def problems(root: Path, layers: list[str]) -> list[str]:
    """What in a package stands against the order, in words."""
    sources = {module_name(f, root): f.read_text(encoding="utf-8") for f in sorted(root.rglob("*.py"))}
    found: list[str] = []
    for layer in sorted({layer_of(m) for m in sources} - set(layers)):
        found.append(
            f"{root.name}/{layer} has no place in the order of the data flow: add it to LAYERS in "
            "tests/test_layers.py, below everything that it imports and above everything that imports it"
        )
    inside: dict[str, set[str]] = {m: set() for m in sources}  # imports within a package when it is loaded
    for module, source in sources.items():
        for item in imports_of(source, module, set(sources)):
            here, there = layer_of(module), layer_of(item.target)
            if here == there:
                if not item.in_function and item.target != module:
                    inside[module].add(item.target)
            elif here in layers and there in layers and layers.index(there) > layers.index(here):
                found.append(
                    f"{module}, line {item.line}, imports {item.target}, which stands below it in LAYERS of "
                    "tests/test_layers.py; move what both need to a layer above"
                )
    try:
        TopologicalSorter(inside).prepare()
    except CycleError as error:
        found.append(f"modules import each other in a circle: {' <- '.join(error.args[1])}")
    return found


def test_every_module_imports_only_from_layers_above_it() -> None:
    assert problems(ROOT, LAYERS) == []


def test_the_list_names_each_layer_once_and_none_that_is_gone() -> None:
    assert len(set(LAYERS)) == len(LAYERS)
    there = {layer_of(module_name(f, ROOT)) for f in ROOT.rglob("*.py")}
    assert set(LAYERS) == there


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package in the order base, tools (two modules), top, on which to try the rule itself."""
    root = tmp_path / "pack"
    (root / "tools").mkdir(parents=True)
    files = {
        "__init__.py": "from pack.top import answer\n",
        "base.py": "import math\n",
        "tools/__init__.py": "from pack.tools.one import f\n",
        "tools/one.py": "from pack import base\n",
        "tools/two.py": "from pack.base import x\nfrom pack.tools import one\n",
        "top.py": "import pack.tools.two\n",
    }
    for name, text in files.items():
        (root / name).write_text(text, encoding="utf-8")
    return root


ORDER = ["base", "tools", "top", "__init__"]


def test_an_orderly_package_has_no_problems(package: Path) -> None:
    assert problems(package, ORDER) == []


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("from pack.top import answer", "pack.top"),
        ("from pack import top", "pack.top"),
        ("import pack.tools.one", "pack.tools.one"),
        ("from pack.tools.one import f", "pack.tools.one"),
        ("from pack.tools import one", "pack.tools.one"),
        ("from pack import answer", "pack"),
        ("import pack", "pack"),
        ("def f():\n    from pack.top import answer", "pack.top"),
        ("try:\n    import pack.top\nexcept ImportError:\n    pass", "pack.top"),
    ],
)
def test_an_import_from_below_is_found_in_any_form(package: Path, source: str, target: str) -> None:
    (package / "base.py").write_text(source + "\n", encoding="utf-8")
    line = 2 if "\n" in source else 1
    assert problems(package, ORDER)[0] == (
        f"pack.base, line {line}, imports {target}, which stands below it in LAYERS of tests/test_layers.py; "
        "move what both need to a layer above"
    )


@pytest.mark.parametrize("test", ["TYPE_CHECKING", "typing.TYPE_CHECKING"])
def test_imports_for_type_checkers_are_exempt(package: Path, test: str) -> None:
    source = f"import typing\nif {test}:\n    from pack.top import answer\nelse:\n    import pack.tools.one\n"
    (package / "base.py").write_text(source, encoding="utf-8")
    assert [p.split(", which")[0] for p in problems(package, ORDER)] == ["pack.base, line 5, imports pack.tools.one"]


def test_modules_of_a_package_may_not_go_in_a_circle_except_inside_functions(package: Path) -> None:
    (package / "tools" / "one.py").write_text("def f():\n    from pack.tools import two\n", encoding="utf-8")
    assert problems(package, ORDER) == []
    (package / "tools" / "one.py").write_text("from pack.tools import two\n", encoding="utf-8")
    (found,) = problems(package, ORDER)
    assert found.startswith("modules import each other in a circle: ")
    assert "pack.tools.one" in found
    assert "pack.tools.two" in found


@pytest.mark.parametrize("file", ["spread.py", "spread/kernel.py"])
def test_a_new_module_is_told_where_to_take_its_place(package: Path, file: str) -> None:
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text("", encoding="utf-8")
    (found,) = problems(package, ORDER)
    assert found.startswith(
        f"pack/{file.split('/')[0].removesuffix('.py')} has no place in the order of the data flow: "
        "add it to LAYERS in tests/test_layers.py"
    )
