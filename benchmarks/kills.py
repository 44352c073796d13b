"""SIGKILL at random moments of every command that writes, and what is there afterwards.

Half of the kills come at a random time of the life of the process, half just before a random change to the disk. After
each, what the command was writing must load or not be there; the command is then run again, a training with `--resume`
or from the start, and must leave the bits of an uninterrupted run and no file besides.
"""

from __future__ import annotations

import random
import shutil
import signal
import tempfile
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from forked import Ended, Forked, Job, Signal

import ngm
from ngm.io.files import is_temporary
from ngm.io.tables import read_table

ROWS, CLASSES, LABELED = 60, 3, 42
WORDS = ("red apple pie", "blue sea wave", "green hill tree")
TRAIN = ("--label", "kind", "--batch-size", "32", "--epochs", "4", "--json")
ROUNDS = """
import sys
import numpy as np
import ngm
from ngm.build.knn import knn_graph
data = ngm.open_graph(sys.argv[1])
x = np.stack([data.column(name) for name in "abc"], axis=1).astype(np.float32)
y = [None if kind is None else str(kind) for kind in data.y]
mode = {"resume": {"resume": True}, "overwrite": {"overwrite": True}}.get(sys.argv[2], {})
settings = {"hidden": (8,), "recipe": "paper", "epochs": 3, "batch_size": 32, "validation": 0.2}
estimator = ngm.NGMClassifier(**settings)
"""
SELF = ROUNDS + 'ngm.SelfTraining(estimator, rounds=2, per_round=6).fit(x, y, graph=data.graph, folder="run", **mode)\n'
CO = ROUNDS + 'ngm.CoTraining(estimator, rounds=3).fit(x, y, graph=data.graph, folder="run", **mode)\n'


@dataclass(frozen=True)
class Target:
    """A command to kill.

    Args:
        name: In the table.
        product: The file or folder that it writes.
        words: Its arguments; DATA stands for the folder of what it reads.
        script: Python in place of a command; its argument is the graph folder.
        exact: Files of a product that is a folder that have the same bytes whenever the command runs; others tell
            the time. A product that is a file has the same bytes.
    """

    name: str
    product: str
    words: tuple[str, ...] = ()
    script: str | None = None
    exact: tuple[str, ...] = ()

    @property
    def trains(self) -> bool:
        """Whether it writes a run folder, and can be resumed."""
        return self.product == "run"


RUN = ("weights.safetensors", "model.json")
GRAPH = ("edges.npy", "weight.npy", "graph.json", "tables.json", "nodes.parquet")


def _training(name: str, *words: str, report: bool = False) -> Target:
    more = () if report else ("--no-report",)
    exact = (*RUN, "features.json", "evidence/nodes.parquet")  # the last has the predictions
    return Target(f"train {name}", "run", ("train", *words, *TRAIN, *more, "-o", "run"), exact=exact)


_COLUMNS = ("DATA/rows.csv", "--columns", "a,b,c", "--hidden", "8")
_GRAPH = (*_COLUMNS, "--graph", "DATA/graph", "--id", "id")
_TEXT = ("DATA/rows.csv", "--text", "body")
TARGETS = (
    _training("columns paper", *_COLUMNS, "--recipe", "paper", "--alpha", "0.1", "--control", report=True),
    _training("columns strong", *_COLUMNS, "--recipe", "strong"),
    _training("graph paper", *_GRAPH, "--recipe", "paper", "--control"),
    _training("graph strong", *_GRAPH, "--recipe", "strong", "--control"),
    _training("charcnn paper", *_TEXT, "--recipe", "paper", "--control"),
    _training("charcnn strong", *_TEXT, "--recipe", "strong"),
    _training("lstm paper", *_TEXT, "--network", "lstm", "--recipe", "paper"),
    _training("lstm strong", *_TEXT, "--network", "lstm", "--recipe", "strong"),
    Target("SelfTraining", "run", script=SELF, exact=RUN),
    Target("CoTraining", "run", script=CO, exact=RUN),
    Target(
        "ingest",
        "graph",
        ("ingest", "--edges", "DATA/edges.csv", "--nodes", "DATA/rows.csv", "-o", "graph"),
        None,
        GRAPH,
    ),
    Target(
        "build", "graph", ("build", "DATA/rows.csv", "--columns", "a,b,c", "--id", "id", "-o", "graph"), None, GRAPH
    ),
    Target("predict csv", "out.csv", ("predict", "DATA/run", "DATA/rows.csv", "-o", "out.csv")),
    Target("predict parquet", "out.parquet", ("predict", "DATA/run", "DATA/rows.csv", "-o", "out.parquet")),
    Target("report", "page.html", ("report", "DATA/run", "-o", "page.html")),
    Target("export onnx", "model.onnx", ("export", "DATA/run", "-o", "model.onnx")),
    Target("export pt2", "model.pt2", ("export", "DATA/run", "-o", "model.pt2")),
)


@dataclass
class Row:
    """What became of the kills of one command.

    Args:
        name: The command.
        kills: How many.
        before: Came before anything was written.
        middle: Came in the middle.
        after: Came when everything was written, or the process had ended.
        resumed: Went on with --resume.
        restarted: Were started again.
        same: Left the bits of an uninterrupted run in the end.
        left_by_kill: Temporary names that a kill left, until the command was run again, and how often.
        failures: What was wrong, in words.
    """

    name: str
    kills: int = 0
    before: int = 0
    middle: int = 0
    after: int = 0
    resumed: int = 0
    restarted: int = 0
    same: int = 0
    left_by_kill: Counter[str] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)


def run(
    count: int, seed: int = 0, targets: Sequence[Target] = TARGETS, say: Callable[[str], None] = print
) -> list[Row]:
    """Kills so many processes, the same number of each command or one more."""
    draw = random.Random(seed)
    rows = [Row(target.name) for target in targets]
    with _bench() as bench:
        for i, target in enumerate(targets):
            mine = count // len(targets) + (i < count % len(targets))
            if mine:
                whole = bench.uninterrupted(target)
                for _ in range(mine):
                    bench.kill(target, whole, draw, rows[i])
                say(line(rows[i]))
    return rows


def as_json(rows: Sequence[Row]) -> dict[str, object]:
    """All rows, and their sums."""
    numbers = ("kills", "before", "middle", "after", "resumed", "restarted", "same")
    total = {name: sum(getattr(row, name) for row in rows) for name in numbers}
    failed = sum(len(row.failures) for row in rows)
    return {
        "total": total | {"failures": failed},
        "rows": [vars(row) | {"left_by_kill": dict(row.left_by_kill)} for row in rows],
    }


def line(row: Row) -> str:
    """A row in words."""
    said = (
        f"{row.name:16} {row.kills:3} kills: {row.before} before anything was written, {row.middle} in the middle, "
        f"{row.after} after; {row.resumed} resumed, {row.restarted} restarted, {row.same} to the same bits"
    )
    return said + "".join(f"\n    {wrong}" for wrong in row.failures)


# One kill


@dataclass(frozen=True)
class Whole:
    """What an uninterrupted run left: its files with their bytes, how long it took, how often it changed the disk."""

    files: dict[str, bytes]
    seconds: float
    changes: int


@contextmanager
def _bench() -> Iterator[_Bench]:
    with tempfile.TemporaryDirectory() as name:
        temporary = Path(name) / "tmp"
        temporary.mkdir()
        with Forked({"TMPDIR": str(temporary)}) as server:
            yield _Bench(server, Path(name), temporary)


class _Bench:
    """Runs commands in folders of their own, on the same small data."""

    def __init__(self, server: Forked, place: Path, temporary: Path) -> None:
        self.server, self.place, self.temporary = server, place, temporary
        self.usual: set[str] = set()
        self.data = place / "data"
        self.data.mkdir()
        write_tables(self.data)
        for words in (
            ("ingest", "--edges", "edges.csv", "--nodes", "rows.csv", "--label", "kind", "-o", "graph"),
            ("train", "rows.csv", "--columns", "a,b,c", "--hidden", "8", *TRAIN, "--no-report", "-o", "run"),
        ):
            _succeeded(self.server.run(Job(words, str(self.data))))

    def job(self, target: Target, folder: Path, mode: str = "", **more: object) -> Job:
        """The job of a target; `mode` is "resume" or "overwrite" for a training into a folder with a run."""
        words = [word.replace("DATA", str(self.data)) for word in target.words]
        words = [str(self.data / "graph"), mode] if target.script is not None else words + [f"--{mode}"] * bool(mode)
        return Job(words, str(folder), target.script, **more)  # type: ignore[arg-type]

    def uninterrupted(self, target: Target) -> Whole:
        """Runs a target to its end."""
        with self.folder() as folder:
            ended = _succeeded(self.server.run(self.job(target, folder)))
            self.usual = {path.name for path in self.temporary.iterdir()}  # caches of torch and onnxruntime
            return Whole(_files(folder), ended.seconds, ended.changes)

    @contextmanager
    def folder(self) -> Iterator[Path]:
        """A new folder, gone afterwards."""
        folder = self.place / "work"
        folder.mkdir()
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def kill(self, target: Target, whole: Whole, draw: random.Random, row: Row) -> None:
        """Starts a target, kills it, looks, runs it again and looks again."""
        with self.folder() as folder:
            replaces = not target.trains and draw.random() < 0.5
            if replaces:
                _put(folder, whole)
            before = _files(folder)
            if draw.random() < 0.5:
                moment = f"after {(after := draw.uniform(0, whole.seconds)):.3f} s of {whole.seconds:.3f}"
                ended = self.server.run(self.job(target, folder, signals=[Signal(signal.SIGKILL, after)]))
            else:
                moment = f"before change {(kill_at := draw.randint(1, whole.changes))} of {whole.changes} to the disk"
                ended = self.server.run(self.job(target, folder, kill_at=kill_at))
            found = [f"killed {moment}: {wrong}" for wrong in self.killed(target, folder, whole, ended, before, row)]
            found += [f"killed {moment}: {wrong}" for wrong in self.again(target, folder, whole, draw, row)]
            row.failures.extend(found)

    def killed(
        self, target: Target, folder: Path, whole: Whole, ended: Ended, before: dict[str, bytes], row: Row
    ) -> Iterator[str]:
        """Counts the kill; gives what is wrong right after it."""
        now = _files(folder)
        row.kills += 1
        done = ended.code == 0 or _without_temporary(now) == set(whole.files)
        row.before += now == before and not (done and not before)
        row.after += done and now != before
        row.middle += now != before and not done
        row.left_by_kill.update({_kind(name) for name in now if is_temporary(folder / name) or _in_temporary(name)})
        if ended.code not in (0, -signal.SIGKILL):
            yield f"ended with code {ended.code}: {ended.err.strip()[-300:]}"
        wrong = _loads(target, folder / target.product, whole)
        if wrong:
            yield wrong

    def again(self, target: Target, folder: Path, whole: Whole, draw: random.Random, row: Row) -> Iterator[str]:
        """Runs the command again; gives what is wrong then."""
        mode = ""
        if target.trains and (folder / "run" / "config.json").exists():
            mode = draw.choice(("resume", "overwrite"))
        row.resumed += mode == "resume"
        row.restarted += mode != "resume"
        ended = self.server.run(self.job(target, folder, mode))
        if ended.code:
            yield f"run again with {mode or 'no option'}, it ended with code {ended.code}: {ended.err.strip()[-300:]}"
            return
        now = _files(folder)
        more, less = sorted(set(now) - set(whole.files)), sorted(set(whole.files) - set(now))
        if more or less:
            yield f"run again with {mode or 'no option'}, there is {more} too much and {less} too little"
        exact = [f"{target.product}/{name}" for name in target.exact] or [target.product]
        other = [name for name in exact if now.get(name) != whole.files[name]]
        row.same += not other
        if other:
            yield f"run again with {mode or 'no option'}, {other} differ from an uninterrupted run"
        stays = {path.name for path in self.temporary.iterdir()} - self.usual
        if stays:
            yield f"{sorted(stays)} stays in the folder for temporary files"
            self.usual |= stays


def _succeeded(ended: Ended) -> Ended:
    if ended.code:
        raise RuntimeError(f"an uninterrupted run ended with code {ended.code}: {ended.err}")
    return ended


def _files(folder: Path) -> dict[str, bytes]:
    return {str(f.relative_to(folder)): f.read_bytes() for f in sorted(folder.rglob("*")) if f.is_file()}


def _put(folder: Path, whole: Whole) -> None:
    """Writes what an earlier run left."""
    for name, content in whole.files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)


def _in_temporary(name: str) -> bool:
    return any(is_temporary(part) for part in Path(name).parents)


def _without_temporary(files: dict[str, bytes]) -> set[str]:
    return {name for name in files if not is_temporary(Path(name)) and not _in_temporary(name)}


def _kind(name: str) -> str:
    """`.run.123@host.part/x` as `.run.part`."""
    first = next(part for part in Path(name).parts if is_temporary(Path(part)))
    words = first.split(".")
    return ".".join([*words[:-2], words[-1]])


def _loads(target: Target, product: Path, whole: Whole) -> str | None:
    """What is wrong with a product that is there; a run that is not finished must say so."""
    if not product.exists():
        return None
    try:
        if target.trains:
            ngm.load(product)
            same = (product / RUN[0]).read_bytes() == whole.files[f"run/{RUN[0]}"]
            return None if same else "the run loads, with other weights than those of an uninterrupted run"
        if product.is_dir():
            ngm.open_graph(product).ids.tolist()
        elif product.suffix in (".csv", ".parquet"):
            rows = len(read_table(product))
            return None if rows == ROWS else f"{product.name} has {rows} rows of {ROWS}"
        elif product.suffix == ".html":
            return None if product.read_text(encoding="utf-8").rstrip().endswith("</html>") else "the page is cut short"
        elif product.suffix == ".pt2":
            bad = zipfile.ZipFile(product).testzip()
            return None if bad is None else f"{bad} in the archive is damaged"
        elif product.read_bytes() != whole.files[product.name]:
            return f"{product.name} is not what an uninterrupted run wrote"
    except (OSError, ValueError) as error:
        unfinished = "training did not get that far" in str(error) or "has no config.json" in str(error)
        return None if target.trains and unfinished else f"{product.name} does not load: {error}"
    return None


# The data


def write_tables(folder: Path) -> None:
    """Rows with numbers, a text and, most of them, a class; edges mostly within the classes."""
    draw = np.random.default_rng(0)
    kind = np.arange(ROWS) % CLASSES
    x = draw.normal(size=(ROWS, 3)) + kind[:, None]
    lines = ["id,a,b,c,body,kind"]
    for i in range(ROWS):
        text = f"{WORDS[kind[i]]} {i} {WORDS[kind[i]][::-1]}"
        lines.append(f"n{i},{x[i, 0]:.4f},{x[i, 1]:.4f},{x[i, 2]:.4f},{text},{f'k{kind[i]}' if i < LABELED else ''}")
    (folder / "rows.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    ends = draw.integers(ROWS, size=(200, 2))
    ends[:, 1] = np.where(draw.random(200) < 0.9, ends[:, 1] - kind[ends[:, 1]] + kind[ends[:, 0]], ends[:, 1]) % ROWS
    edges = "\n".join(f"n{a},n{b}" for a, b in ends)
    (folder / "edges.csv").write_text(f"src,dst\n{edges}\n", encoding="utf-8")
