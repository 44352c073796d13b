"""No module runs what it reads: by the words of the source, and by files that were made to be run."""

from __future__ import annotations

import ast
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import ngm
from ngm import Graph, NGMClassifier, load, open_graph, read_table, save_graph, write_report
from ngm.datasets import ag_news, blogcatalog, intents, planetoid
from ngm.io.table_columns import read_matrix
from ngm.text import WordVectors

ROOT = Path(ngm.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

RUNS_CONTENT = {
    "pickle",
    "cPickle",
    "_pickle",
    "shelve",
    "marshal",
    "joblib",
    "dill",
    "cloudpickle",
    "pandas.io.pickle",
}
RUNS_COMMANDS = {"subprocess", "pty", "commands", "asyncio.subprocess", "multiprocessing"}
PARSES_ENTITIES = {"xml", "lxml", "yaml", "tarfile", "shutil.unpack_archive", "runpy", "code"}
WATCHED = RUNS_CONTENT | RUNS_COMMANDS | PARSES_ENTITIES
CALLS = {"eval", "exec", "compile", "__import__", "execfile", "breakpoint", "input"}
METHODS = {
    "os.system",
    "os.popen",
    "os.startfile",
    "importlib.import_module",
    "importlib.reload",
    "torch.load",
    "torch.jit.load",
    "torch.hub.load",
    "torch.export.load",
    "np.fromfile",
    "numpy.fromfile",
    "np.ctypeslib.load_library",
    "pd.read_pickle",
    "pandas.read_pickle",
}
ENDINGS = {"extractall", "extract", "unpack_archive", "load_extension", "install_extension"}

# What a module may do all the same, and why that is no door.
ADMITTED = {
    ("__init__.py", "importlib.import_module"): "a module of this package, by the name of a public thing or its own",
    ("networks/__init__.py", "importlib.import_module"): "likewise",
    ("cli/streams.py", "os.execv"): "this very command again, with the words it was given, where the locale is C",
    ("datasets/pickles.py", "pickle"): "makes stand-ins only; tests/datasets/test_pickles.py attacks it",
    ("io/fetch.py", "subprocess"): "a list of words for pip, without a shell; nothing of it is read from a file",
    ("estimators/model_export.py", "torch.export.load"): "the archive that this process has just written, to check it",
}


def dotted(node: ast.expr) -> str:
    """`a.b.c` of such an expression; "" of another."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        before = dotted(node.value)
        return f"{before}.{node.attr}" if before else ""
    return ""


def keyword(call: ast.Call, name: str) -> object:
    """The constant that a call gives a keyword; None where it gives none or no constant."""
    for given in call.keywords:
        if given.arg == name and isinstance(given.value, ast.Constant):
            return given.value.value
    return None


def imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def watched(name: str) -> str | None:
    """The entry of `WATCHED` that a name is or is inside of."""
    parts = name.split(".")
    return next((".".join(parts[:n]) for n in range(1, len(parts) + 1) if ".".join(parts[:n]) in WATCHED), None)


def doors(source: str) -> Iterator[str]:
    """What a module does that could run what it reads."""
    for node in ast.walk(ast.parse(source)):
        yield from {door for name in imported(node) if (door := watched(name))}
        yield from {name for name in imported(node) if name in METHODS}
        if isinstance(node, ast.Call):
            yield from _doors_of_call(node, dotted(node.func))


def _doors_of_call(call: ast.Call, name: str) -> Iterator[str]:
    last = call.func.attr if isinstance(call.func, ast.Attribute) else name
    if name in CALLS or name.removeprefix("builtins.") in CALLS or name in METHODS or name.startswith("os.exec"):
        yield name
    elif name.startswith("os.spawn") or last in ENDINGS:
        yield name or last
    if any(given.arg == "shell" for given in call.keywords) and keyword(call, "shell") is not False:
        yield "shell=True"
    loads = name in ("np.load", "numpy.load", "np.lib.format.read_array", "numpy.lib.format.read_array")
    if (loads or keyword(call, "allow_pickle") is not None) and keyword(call, "allow_pickle") is not False:
        yield f"{name} without allow_pickle=False"


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_module_unpickles_evaluates_or_runs_a_shell(module: Path) -> None:
    name = module.relative_to(ROOT).as_posix()
    assert {door for door in doors(module.read_text(encoding="utf-8")) if (name, door) not in ADMITTED} == set()


def test_every_exception_is_still_needed() -> None:
    needed = {
        (module.relative_to(ROOT).as_posix(), door)
        for module in MODULES
        for door in doors(module.read_text(encoding="utf-8"))
    }
    assert set(ADMITTED) == needed


@pytest.mark.parametrize(
    ("source", "door"),
    [
        ("import pickle", "pickle"),
        ("from joblib import load", "joblib"),
        ("import xml.etree.ElementTree as ET", "xml"),
        ("from shutil import unpack_archive", "shutil.unpack_archive"),
        ("from torch import load", "torch.load"),
        ("def f():\n    import dill", "dill"),
        ("np.load(file)", "np.load without allow_pickle=False"),
        ("np.load(file, allow_pickle=True)", "np.load without allow_pickle=False"),
        ("numpy.load(file, allow_pickle=told)", "numpy.load without allow_pickle=False"),
        ("torch.load(file, weights_only=True)", "torch.load"),
        ("eval(text)", "eval"),
        ("builtins.exec(text)", "builtins.exec"),
        ("os.system(text)", "os.system"),
        ("os.execvp(a, b)", "os.execvp"),
        ("run(words, shell=told)", "shell=True"),
        ("importlib.import_module(text)", "importlib.import_module"),
        ("zipfile.ZipFile(file).extractall(folder)", "extractall"),
        ("archive.extract(name)", "archive.extract"),
        ("connection.load_extension(name)", "connection.load_extension"),
    ],
)
def test_the_search_finds(source: str, door: str) -> None:
    assert list(doors(source)) == [door]


@pytest.mark.parametrize(
    "source",
    [
        "re.compile(text)",
        "network.eval()",
        "np.load(file, allow_pickle=False)",
        "run(words, shell=False)",
        "model.load(f)",
    ],
)
def test_the_search_lets_pass(source: str) -> None:
    assert list(doors(source)) == []


class Malicious:
    """Makes a file when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> tuple[Callable[..., object], tuple[str, str]]:
        return open, (str(self.mark), "w")


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """The file that would appear if a pickle had run."""
    return tmp_path / "owned"


def payloads(mark: Path) -> dict[str, bytes]:
    """The pickle as it is, as numpy stores objects, and as torch stores tensors."""
    array, zipped, tensors = io.BytesIO(), io.BytesIO(), io.BytesIO()
    content = np.array([Malicious(mark)], dtype=object)
    np.save(array, content, allow_pickle=True)
    np.savez(zipped, x=content, words=content, vectors=content, data=content, allow_pickle=True)
    torch.save(Malicious(mark), tensors)
    plain = pickle.dumps(Malicious(mark))
    return {"pickle": plain, "npy": array.getvalue(), "npz": zipped.getvalue(), "torch": tensors.getvalue()}


def never_run(mark: Path, files: list[Path], use: Callable[[], object]) -> None:
    """Puts each payload in place of each file in turn and uses them; errors of ours are fine, running it is not."""
    for file in files:
        whole = file.read_bytes()
        for content in payloads(mark).values():
            file.write_bytes(content)
            with suppress(ValueError, OSError, RuntimeError):
                use()
            assert not mark.exists(), f"{file.name} was run"
        file.write_bytes(whole)


def test_the_payloads_do_run_where_pickles_are_loaded(mark: Path, tmp_path: Path) -> None:
    for name, content in payloads(mark).items():
        file = tmp_path / f"payload.{name}"
        file.write_bytes(content)
        if name == "torch":
            torch.load(file, weights_only=False).close()
        elif name == "pickle":
            pickle.loads(content).close()
        else:
            loaded = np.load(file, allow_pickle=True)
            (loaded["x"] if name == "npz" else loaded)[0].close()
        assert mark.exists(), name
        mark.unlink()


@pytest.fixture
def run_folder(tmp_path: Path, data: tuple[NDArray[np.float32], NDArray[np.int64], Graph]) -> Path:
    x, y, graph = data
    NGMClassifier(recipe="paper", epochs=2).fit(x, y, graph=graph, folder=tmp_path / "run")
    return tmp_path / "run"


def test_no_file_of_a_run_folder_is_run(
    run_folder: Path, mark: Path, data: tuple[NDArray[np.float32], NDArray[np.int64], Graph]
) -> None:
    x, y, graph = data
    files = sorted(path for path in run_folder.rglob("*") if path.is_file())
    assert {"config.json", "weights.safetensors", "state.safetensors", "hidden.npy"} <= {file.name for file in files}

    def use() -> None:
        with suppress(ValueError, OSError, RuntimeError):
            load(run_folder).predict(x)
        with suppress(ValueError, OSError, RuntimeError):
            write_report(run_folder, output=run_folder.parent / "report.html")
        NGMClassifier(recipe="paper", epochs=2).fit(x, y, graph=graph, folder=run_folder, resume=True)

    never_run(mark, files, use)


def test_no_file_of_a_graph_folder_is_run(
    tmp_path: Path, mark: Path, data: tuple[NDArray[np.float32], NDArray[np.int64], Graph]
) -> None:
    folder = tmp_path / "graph"
    save_graph(folder, data[2])
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    assert {"edges.npy", "weight.npy"} <= {file.name for file in files}
    never_run(mark, files, lambda: open_graph(folder))


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.json", "rows.jsonl", "rows.parquet", "rows.csv.gz"])
def test_no_table_is_run(tmp_path: Path, mark: Path, name: str) -> None:
    file = tmp_path / name
    file.write_text("a,b\n1,2\n", encoding="utf-8")
    never_run(mark, [file], lambda: len(read_table(file)))


@pytest.mark.parametrize("name", ["x.npy", "x.npz"])
def test_no_matrix_is_run(tmp_path: Path, mark: Path, name: str) -> None:
    file = tmp_path / name
    file.touch()
    never_run(mark, [file], lambda: read_matrix(file))


@pytest.mark.parametrize("name", ["v.npz", "v.txt", "v.bin", "v.txt.gz"])
def test_no_file_of_word_vectors_is_run(tmp_path: Path, mark: Path, name: str) -> None:
    file = tmp_path / name
    file.touch()
    never_run(mark, [file], lambda: WordVectors.read(file))


def test_no_file_of_a_data_set_is_run(tmp_path: Path, mark: Path) -> None:
    parts = ("x", "y", "tx", "ty", "allx", "ally", "graph", "test.index")
    names = {
        planetoid.read: [f"ind.cora.{part}" for part in parts],
        blogcatalog.read: ["nodes.csv", "groups.csv", "edges.csv", "group-edges.csv"],
        intents.read: ["train.tsv", "val.tsv", "test.tsv"],
        ag_news.read: ["train.csv", "test.csv", "unlabeled.csv", "classes.txt"],
        intents.read_json: ["clinc150.json"],
    }
    for read, files in names.items():
        for content in payloads(mark).values():  # in place of all files: readers stop at the first that they refuse
            for name in files:
                (tmp_path / name).write_bytes(content)
                with pytest.raises((ValueError, OSError)):
                    read_data_set(read, tmp_path, name)
                assert not mark.exists(), f"{name} was run"
            for name in files:
                (tmp_path / name).unlink()


def read_data_set(read: Callable[..., object], folder: Path, name: str) -> object:
    if read is planetoid.read:
        return read(folder, "cora", ("a", "b"))
    return read(folder / name if read is intents.read_json else folder)
