"""Digests of code: a score is kept for as long as the code that gave it stays the same."""

from __future__ import annotations

import ast
import hashlib
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]


@cache
def code_digest(module: str | None = None, package: Path = PACKAGE) -> str:
    """Twelve digits that change with the code of some modules.

    Comments, docstrings, layout and the names of modules do not count, so a file that is moved or explained better
    keeps its scores.

    Args:
        module: It counts, and so do all modules of the package that it imports, directly or not; where it is not
            given, all modules of the package.
        package: Where the modules are.
    """
    files = _files(package)
    visited, pending = set[str](), [module] if module else list(files)
    digests = []
    while pending:
        name = pending.pop()
        if name not in visited:
            visited.add(name)
            code, imports = _read(files[name])
            digests.append(hashlib.sha256(code.encode()).digest())
            pending += [
                next(module for module in names if module in files) for names in imports if set(names) & set(files)
            ]
    return hashlib.sha256(b"".join(sorted(digests))).hexdigest()[:12]


def _files(package: Path) -> dict[str, Path]:
    """The file of every module by its name."""
    files = {}
    for file in package.rglob("*.py"):
        parts = file.relative_to(package.parent).with_suffix("").parts
        files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return files


@cache
def _read(file: Path) -> tuple[str, list[tuple[str, ...]]]:
    """What a module does, and what it imports: for each name, the modules that may be meant, the likeliest first."""
    tree = _Code().visit(ast.parse(file.read_text(encoding="utf-8")))
    imports: list[tuple[str, ...]] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imports += [(alias.name,) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            imports += [(f"{node.module}.{alias.name}", str(node.module)) for alias in node.names]
    lines = ast.unparse(tree).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith(("from ", "import "))), imports


class _Code(ast.NodeTransformer):
    """Leaves out docstrings, and what is there for type checkers alone."""

    def visit_Expr(self, node: ast.Expr) -> ast.Expr | None:
        is_text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if is_text else node

    def visit_If(self, node: ast.If) -> ast.AST:
        if "TYPE_CHECKING" in ast.unparse(node.test):
            return ast.Pass()
        return self.generic_visit(node)
