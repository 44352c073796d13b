from __future__ import annotations

from pathlib import Path

import pytest

from ngm.experiments.code_digest import code_digest

FILES = {
    "__init__.py": "",
    "table.py": "from pack.parts import half\nfrom pack.parts.third import f\n\nanswer = f(half)\n",
    "parts/__init__.py": '"""Parts."""\nfrom pack.deep import half\n',
    "parts/third.py": "def f(x):\n    return x / 3\n",
    "deep.py": "half = 1 / 2\n",
    "other.py": "import pack.table\n",
}


def package(folder: Path, **changed: str | None) -> Path:
    """A package of these files, some of them changed; a name is written with _ for / and without its ending."""
    root = folder / "pack"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(changed.get(name.removesuffix(".py").replace("/", "_")) or text, encoding="utf-8")
    return root


@pytest.mark.parametrize(
    "changed",
    [
        {"deep": "half = 1 / 4\n"},
        {"parts_third": "def f(x):\n    return x / 4\n"},
        {"table": FILES["table.py"].replace("f(half)", "f(half) + 1")},
    ],
)
def test_the_digest_changes_with_code_that_a_module_uses(tmp_path: Path, changed: dict[str, str]) -> None:
    before = code_digest("pack.table", package(tmp_path / "a"))
    assert code_digest("pack.table", package(tmp_path / "b", **changed)) != before


@pytest.mark.parametrize(
    "changed",
    [
        {"other": "import pack.table\n\nx = 1\n"},
        {"deep": "# a comment\nhalf   =   1/2\n"},
        {"parts_third": 'def f(x):\n    """A third of it."""\n\n    return x / 3\n'},
    ],
)
def test_the_digest_stays_with_other_code_and_with_other_words(tmp_path: Path, changed: dict[str, str]) -> None:
    before = code_digest("pack.table", package(tmp_path / "a"))
    assert code_digest("pack.table", package(tmp_path / "b", **changed)) == before


def test_the_digest_stays_where_a_module_is_moved(tmp_path: Path) -> None:
    before = code_digest("pack.table", package(tmp_path / "a"))
    root = package(tmp_path / "b", parts___init__='"""Parts."""\nfrom pack.parts.deep import half\n')
    (root / "deep.py").rename(root / "parts" / "deep.py")
    assert code_digest("pack.table", root) == before


def test_without_a_module_the_whole_package_counts(tmp_path: Path) -> None:
    before = code_digest(package=package(tmp_path / "a"))
    assert code_digest(package=package(tmp_path / "b", other="import pack.table\n\nx = 1\n")) != before
    assert code_digest(package=package(tmp_path / "c")) == before
