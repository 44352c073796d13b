"""Data flows one way: a module imports only from layers above its own, and no modules import each other in a circle."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ngm

# In the order of the data flow. An entry is a module or a package with all that is in it; modules of a package that
# have an entry of their own stand there instead. A new module takes the highest place at which everything that it
# imports still stands above it. Imports count wherever they are: at the top, in functions, for type checkers.
LAYERS = [
    "_spelling",
    "choices",
    "parameters",
    "method_parameters",
    "_arguments",
    "_pair_keys",
    "_edge_lists",
    "_node_targets",
    "_blas_threads",
    "_memory_order",
    "_processor",
    "_splitmix",
    "_compiled",
    "_neighbor_rows",
    "_components",
    "targets",
    "rows",
    "io",
    "graph",
    "io.graph_data",
    "io.node_records",
    "io.run_writer",
    "_input_checks",
    "text",
    "distributed",
    "build",
    "propagation",
    "inputs",
    "distances",
    "edge_terms",
    "collapse",
    "ordering",
    "edge_batch",
    "sampled_edges",
    "negatives",
    "sampling",
    "networks",
    "objective",
    "metrics",
    "task",
    "partition",
    "features",
    "training",
    "logs",
    "recipes",
    "estimators",
    "comparators",
    "datasets",
    "diagnosis",
    "report",
    "workflow",
    "ray",
    "__init__",  # the public names; only what stands below may say `from ngm import Graph`
    "experiments",
    "cli",
    "__main__",
]
ROOT = Path(ngm.__file__).parent


@dataclass(frozen=True)
class Import:
    """One import of a module of ours, as `source` says it."""

    target: str
    line: int


def module_name(file: Path, root: Path) -> str:
    """`ngm.estimators.persistence` for ngm/estimators/persistence.py, `ngm` for ngm/__init__.py."""
    parts = (root.name, *file.relative_to(root).with_suffix("").parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def layer_of(module: str, layers: Collection[str]) -> str | None:
    """The entry of a module itself, or else of the package that it is in; None where there is neither."""
    parts = module.split(".")[1:] or ["__init__"]
    names = [".".join(parts[:stop]) for stop in range(len(parts), 0, -1)]
    return next((name for name in names if name in layers), None)


def imports_of(source: str, module: str, modules: Collection[str]) -> Iterator[Import]:
    """Every import of one of `modules` in a file, but of itself."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}, line {node.lineno}: write imports in full, from ngm..."
            # `from ngm import graph` is the module, `from ngm import Graph` is not
            whole = [f"{node.module}.{alias.name}" for alias in node.names]
            targets = [name if name in modules else str(node.module) for name in whole]
        else:
            continue
        yield from (Import(target, node.lineno) for target in targets if target in modules and target != module)


def all_imports(root: Path) -> dict[str, list[Import]]:
    """The imports of every module of a package, in the order of its lines."""
    sources = {module_name(f, root): f.read_text(encoding="utf-8") for f in sorted(root.rglob("*.py"))}
    found = {module: imports_of(source, module, sources) for module, source in sources.items()}
    return {module: sorted(imports, key=lambda item: item.line) for module, imports in found.items()}


def problems(root: Path, layers: list[str]) -> list[str]:
    """What in a package stands against the order, in words."""
    imports = all_imports(root)
    found: list[str] = []
    for name in dict.fromkeys(m.split(".")[1] for m in imports if layer_of(m, layers) is None and "." in m):
        found.append(
            f"{root.name}/{name} has no place in the order of the data flow: add it to LAYERS in "
            "tests/test_layers.py, below everything that it imports and above everything that imports it"
        )
    for module, items in imports.items():
        for item in items:
            here, there = layer_of(module, layers), layer_of(item.target, layers)
            if here is None or there is None:
                continue
            if layers.index(there) > layers.index(here):
                found.append(
                    f"{module}, line {item.line}, imports {item.target}, which stands below it in LAYERS of "
                    "tests/test_layers.py; move what both need to a layer above"
                )
    try:
        TopologicalSorter({who: {i.target for i in items} for who, items in imports.items()}).prepare()
    except CycleError as error:
        found.append(f"modules import each other in a circle: {' <- '.join(error.args[1])}")
    return found


def test_every_module_imports_only_from_layers_above_it() -> None:
    assert problems(ROOT, LAYERS) == []


def test_the_list_names_each_layer_once_and_none_that_is_gone() -> None:
    assert len(set(LAYERS)) == len(LAYERS)
    there = {layer_of(module, LAYERS) for module in all_imports(ROOT)}
    assert set(LAYERS) == there


def private_names(tree: ast.AST) -> set[str]:
    """Names with one underscore that a module defines: functions, classes, attributes, fields."""
    names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.ClassDef)}
    names |= {n.attr for n in ast.walk(tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)}
    names |= {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return {name for name in names if name.startswith("_") and not name.startswith("__")}


def private_reads(root: Path) -> list[str]:
    """Where a module of a package reads what another keeps to itself; what an object does with its own is its own."""
    trees = {module_name(f, root): ast.parse(f.read_text(encoding="utf-8")) for f in sorted(root.rglob("*.py"))}
    defined = {module: private_names(tree) for module, tree in trees.items()}
    everywhere = set().union(*defined.values())
    found: list[str] = []
    for module, tree in trees.items():
        others = everywhere - defined[module]
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).split(".")[0] == root.name:
                names = [a.name for a in node.names if f"{node.module}.{a.name}" not in trees and a.name[0] == "_"]
                found += [f"{module}, line {node.lineno}: {node.module}.{name}" for name in names if name[:2] != "__"]
            if isinstance(node, ast.Attribute) and node.attr in others and ast.unparse(node.value) not in _OWN:
                found.append(f"{module}, line {node.lineno}: {ast.unparse(node)}")
    return found


_OWN = ("self", "cls", "super()")


def test_no_module_reads_the_private_members_of_another() -> None:
    assert private_reads(ROOT) == []


def class_homes(root: Path) -> dict[str, list[str]]:
    """Class name -> the modules that define it."""
    homes: dict[str, list[str]] = {}
    for file in sorted(root.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(module_name(file, root))
    return homes


def test_every_class_name_means_one_thing() -> None:
    assert {name: modules for name, modules in class_homes(ROOT).items() if len(modules) > 1} == {}


def test_a_class_name_that_is_defined_twice_is_reported(package: Path) -> None:
    (package / "base.py").write_text("class _Row:\n    pass\n", encoding="utf-8")
    (package / "tools" / "one.py").write_text("def f():\n    class _Row:\n        pass\n", encoding="utf-8")
    assert class_homes(package) == {"_Row": ["pack.base", "pack.tools.one"]}


@pytest.mark.parametrize(
    ("source", "read"),
    [
        ("from pack.base import _hidden", "pack.base._hidden"),
        ("from pack import base\nbase._hidden()", "base._hidden"),
        ("def f(thing):\n    return thing._field", "thing._field"),
        ("class C:\n    def f(self):\n        return self._field", None),
        ("import os\nos._exit", None),
        ("from pack import _base", None),
    ],
)
def test_a_read_of_a_private_member_is_found(package: Path, source: str, read: str | None) -> None:
    base = "def _hidden():\n    pass\n\n\nclass C:\n    def f(self):\n        self._field = 1\n"
    (package / "base.py").write_text(base, encoding="utf-8")
    (package / "_base.py").write_text("", encoding="utf-8")
    (package / "top.py").write_text(source + "\n", encoding="utf-8")
    assert [where.split(": ")[1] for where in private_reads(package)] == ([] if read is None else [read])


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
def test_imports_for_type_checkers_count(package: Path, test: str) -> None:
    source = f"import typing\nif {test}:\n    from pack.top import answer\n"
    (package / "base.py").write_text(source, encoding="utf-8")
    assert [p.split(", which")[0] for p in problems(package, ORDER)][:1] == ["pack.base, line 3, imports pack.top"]


@pytest.mark.parametrize("source", ["from pack.tools import two", "def f():\n    from pack.tools import two"])
def test_modules_of_a_package_may_not_go_in_a_circle(package: Path, source: str) -> None:
    (package / "tools" / "one.py").write_text(source + "\n", encoding="utf-8")
    (found,) = problems(package, ORDER)
    assert found.startswith("modules import each other in a circle: ")
    assert "pack.tools.one" in found
    assert "pack.tools.two" in found


def test_a_module_may_have_a_place_apart_from_its_package(package: Path) -> None:
    (package / "base.py").write_text("from pack.tools import one\n", encoding="utf-8")
    (package / "tools" / "one.py").write_text("", encoding="utf-8")
    assert problems(package, ORDER)[0].startswith("pack.base, line 1, imports pack.tools.one, which stands below it")
    assert problems(package, ["tools.one", *ORDER]) == []


@pytest.mark.parametrize("file", ["spread.py", "spread/kernel.py"])
def test_a_new_module_is_told_where_to_take_its_place(package: Path, file: str) -> None:
    (package / file).parent.mkdir(exist_ok=True)
    (package / file).write_text("", encoding="utf-8")
    (found,) = problems(package, ORDER)
    assert found.startswith(
        f"pack/{file.split('/')[0].removesuffix('.py')} has no place in the order of the data flow: "
        "add it to LAYERS in tests/test_layers.py"
    )
