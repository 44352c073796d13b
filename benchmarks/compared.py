"""The same job in several libraries: Cora, 20 labels a class, predict new papers that no graph knew while training.

    python benchmarks/compared.py [--peer ours_strong ...] [--skip nsl ...] [--seeds 5] [--choose] [--keep]
        [--nsl-python PYTHON] [--work FOLDER] [--fresh] [--threads 1] [--table]

Each row is a script in benchmarks/compared that goes from plain files (compared/export.py writes them) to an accuracy.
It runs in a process of its own, once per seed, one at a time. `seconds` is the processor time of that process from
start to end, `training` that of its part from the files in memory to a fitted model, both the median over seeds; with
one thread on an idle machine that is the time one waits, and on a busy one it still says what the job costs (the wait
itself is kept as `wall_seconds`). `lines` are lines of code: neither blank nor comment nor docstring, imports included,
and without those marked `# measuring`, which only time and print. Formatting is ruff's.

`--choose` tries eight settings a row with two seeds each, where the 500 validation papers are the new ones and the test
papers are gone, and says which was best; that one is in the script. What is done is kept in the work folder and not
done again, unless `--fresh`. `--keep` writes benchmarks/results/compared.json, in which rows not run now stay as they
are; `--table` writes the table of docs/compared.md from it. Neural Structured Learning needs a Python of its own, with
`tensorflow-cpu==2.15.* neural-structured-learning==1.4.0 "numpy<2" "pandas<2.3" scipy`; without `--nsl-python` it is
left out.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import io
import itertools
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import tokenize
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast

HERE = Path(__file__).parent
SCRIPTS, RESULTS = HERE / "compared", HERE / "results" / "compared.json"
PAGE = HERE.parent / "docs" / "compared.md"
MEASURING = "# measuring"
CHOICE_SEEDS = 2
DRIVER = """
import contextlib, io, json, sys
for code, data, seed in json.loads(sys.argv[1]):
    sys.argv[1:] = [data, seed]
    with contextlib.redirect_stdout(io.StringIO()) as said:
        exec(compile(code, "script", "exec"), {"__name__": "__main__"})
    print(said.getvalue().strip().splitlines()[-1], flush=True)
"""
Value = str | float | int | bool


@dataclass(frozen=True)
class Peer:
    """A row of the table.

    Args:
        key: Its script is `<key>.py`, unless `script` says otherwise.
        name: What the table calls it.
        library: The package that it shows.
        grid: Settings that are tried, eight in all.
        script: See above.
        data: The folder of files that it gets for its figure.
        needs: What it takes to predict a new paper.
    """

    key: str
    name: str
    library: str
    grid: Mapping[str, Sequence[Value]] = field(default_factory=dict)
    script: str = ""
    data: str = "test"
    needs: str = "its words"

    @property
    def file(self) -> Path:
        """The script."""
        return SCRIPTS / (self.script or f"{self.key}.py")


LIBRARIES = {
    "ngm": "**this one**",
    "neural-structured-learning": "NSL",
    "torch-geometric": "PyG",
    "scikit-learn": "scikit-learn",
}
EDGES, ROWS = "its words, its edges, the words around it", "its words, all training rows"
IDF = {"use_idf": (False, True)}
GNN = {"hidden_channels": (16, 64), "dropout": (0.5, 0.8), "weight_decay": (5e-4, 5e-3)}
PEERS = {
    peer.key: peer
    for peer in (
        Peer("ours_strong", 'NGMClassifier(recipe="strong")', "ngm"),
        Peer("ours_commands", "ngm ingest, train, predict", "ngm", script="ours_commands.sh"),
        Peer(
            "ours_paper",
            'NGMClassifier(recipe="paper")',
            "ngm",
            {"alpha_uu": (0.2, 1.0), "dropout": (0.0, 0.5), "weight_decay": (0.0, 5e-3)},
        ),
        Peer(
            "nsl_mlp",
            "GraphRegularization",
            "neural-structured-learning",
            {"multiplier": (0.1, 1.0), "max_neighbors": (1, 5), "epochs": (100, 300)},
        ),
        Peer("pyg_gcn", "GCN, new papers with their edges", "torch-geometric", GNN, needs=EDGES),
        Peer("pyg_sage", "GraphSAGE, new papers with their edges", "torch-geometric", GNN, needs=EDGES),
        Peer("pyg_gcn_alone", "GCN, new papers without edges", "torch-geometric", {}, "pyg_gcn.py", "alone"),
        Peer("pyg_sage_alone", "GraphSAGE, new papers without edges", "torch-geometric", {}, "pyg_sage.py", "alone"),
        Peer(
            "pyg_mlp",
            "MLP",
            "torch-geometric",
            GNN,
        ),
        Peer("sklearn_logistic", "LogisticRegression", "scikit-learn", {"C": (1.0, 10.0, 100.0, 1000.0), **IDF}),
        Peer("sklearn_mlp", "MLPClassifier", "scikit-learn", {"alpha": (0.01, 0.1, 1.0, 10.0), **IDF}),
        Peer(
            "sklearn_self_training",
            "SelfTrainingClassifier",
            "scikit-learn",
            {"C": (10.0, 100.0), "threshold": (0.5, 0.7), **IDF},
        ),
        Peer(
            "sklearn_spreading_rbf",
            'LabelSpreading("rbf")',
            "scikit-learn",
            {"gamma": (2.0, 10.0), "alpha": (0.2, 0.8), **IDF},
            needs=ROWS,
        ),
        Peer(
            "sklearn_spreading_knn",
            'LabelSpreading("knn")',
            "scikit-learn",
            {"n_neighbors": (7, 30), "alpha": (0.2, 0.8), **IDF},
            needs=ROWS,
        ),
    )
}


def count_lines(source: str, *, shell: bool = False) -> int:
    """Lines of code: not blank, not comment, not docstring, not marked `# measuring`."""
    lines = source.splitlines()
    left_out = {i for i, line in enumerate(lines, 1) if line.rstrip().endswith(MEASURING)}
    if shell:
        code = {i for i, line in enumerate(lines, 1) if line.strip() and not line.lstrip().startswith("#")}
        return len(code - left_out)
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left_out |= set(range(node.lineno, cast(int, node.end_lineno) + 1))
    code = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in blank:
            code |= set(range(token.start[0], token.end[0] + 1))
    return len(code - left_out)


def settings_of(source: str, names: Sequence[str]) -> dict[str, Value]:
    """The values that a script gives to keyword arguments, each of which must occur once."""
    return {name: ast.literal_eval(_given(source, name)) for name in names}


def with_settings(source: str, settings: Mapping[str, Value]) -> str:
    """The script with other values in their place."""
    for name, value in settings.items():
        node, lines = _given(source, name), source.splitlines(keepends=True)
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + repr(value) + line[cast(int, node.end_col_offset) :]
        source = "".join(lines)
    return source


def _given(source: str, name: str) -> ast.expr:
    nodes = list(ast.walk(ast.parse(source)))
    found = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == name]
    if len(found) != 1:
        raise ValueError(f"{name} is set {len(found)} times in the script; it must be set once")
    return found[0]


@dataclass(frozen=True)
class Done:
    """What one process came to."""

    accuracy: float
    seconds: float
    training_seconds: float
    wall_seconds: float


def told(folder: Path) -> dict[str, float]:
    """What a script of commands left behind: the words of `ngm predict`, processor time before and after training."""
    spent = []
    for name in ("before.txt", "after.txt"):
        children = (folder / name).read_text(encoding="utf-8").splitlines()[1]  # 0m1.500s 0m0.250s
        parts = [part.rstrip("s").split("m") for part in children.split()]
        spent.append(sum(60 * int(minutes) + float(seconds) for minutes, seconds in parts))
    accuracy = json.loads((folder / "told.json").read_text(encoding="utf-8"))["accuracy"]
    return {"accuracy": accuracy, "training_seconds": spent[1] - spent[0]}


class Runner:
    """Runs scripts on the exported files and keeps what they came to."""

    def __init__(self, options: argparse.Namespace) -> None:
        self.work, self.nsl_python, self.threads = options.work, options.nsl_python, options.threads
        self.fresh = options.fresh
        self.kept = self.work / "done.jsonl"
        self.work.mkdir(parents=True, exist_ok=True)
        if not (self.work / "alone" / "all_edges.csv").exists():
            subprocess.run([sys.executable, str(SCRIPTS / "export.py"), str(self.work)], check=True)
        lines = self.kept.read_text(encoding="utf-8").splitlines() if self.kept.exists() else []
        self.done = {line["key"]: Done(**line["done"]) for line in map(json.loads, lines)}

    def python(self, peer: Peer) -> str:
        """The interpreter of a row."""
        return cast(str, self.nsl_python) if peer.library == "neural-structured-learning" else sys.executable

    def run(self, peer: Peer, source: str, data: str, seed: int) -> Done:
        """One process, or what it came to before."""
        key = self._key(peer, source, data, seed)
        if key in self.done and not self.fresh:
            return self.done[key]
        with tempfile.TemporaryDirectory() as folder:
            script = Path(folder) / peer.file.name
            script.write_text(source, encoding="utf-8")
            interpreter = ["bash", "-e"] if script.suffix == ".sh" else [self.python(peer)]
            command = [*interpreter, str(script), str((self.work / data).resolve()), str(seed)]
            started, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
            done = subprocess.run(command, cwd=folder, env=self._environment(), capture_output=True, text=True)
            wall, after = time.perf_counter() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
            if done.returncode:
                raise RuntimeError(f"{peer.file.name} failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}")
            said = told(Path(folder)) if script.suffix == ".sh" else json.loads(done.stdout.splitlines()[-1])
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        result = Done(said["accuracy"], seconds, said["training_seconds"], wall)
        self._keep(key, result)
        return result

    def _key(self, peer: Peer, source: str, data: str, seed: int) -> str:
        code = source if peer.file.suffix == ".sh" else ast.dump(ast.parse(source))  # whatever its comments
        return hashlib.sha256(f"{data} {seed} {self.threads} {code}".encode()).hexdigest()

    def _keep(self, key: str, done: Done) -> None:
        self.done[key] = done
        with self.kept.open("a", encoding="utf-8") as stream:
            stream.write(json.dumps({"key": key, "done": asdict(done)}) + "\n")

    def _environment(self) -> dict[str, str]:
        threads = dict.fromkeys(("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"), self.threads)
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
        return {**os.environ, **threads, "TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": str(HERE.parent), "PATH": path}

    def choose(self, peer: Peer) -> dict[str, object]:
        """Tries all settings of a row on the validation papers, in one process; the best, and what each came to."""
        source = peer.file.read_text(encoding="utf-8")
        settings = [dict(zip(peer.grid, values, strict=True)) for values in itertools.product(*peer.grid.values())]
        jobs = [(with_settings(source, each), seed) for each in settings for seed in range(CHOICE_SEEDS)]
        todo = [job for job in jobs if self._key(peer, job[0], "choice", job[1]) not in self.done]
        said = json.dumps([[code, str((self.work / "choice").resolve()), str(seed)] for code, seed in todo])
        command = [self.python(peer), "-c", DRIVER, said]
        with subprocess.Popen(command, env=self._environment(), stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            for (code, seed), line in zip(todo, process.stdout, strict=True):
                found = json.loads(line)
                spent = [found["training_seconds"]] * 3  # no process of its own, so training is all there is
                self._keep(self._key(peer, code, "choice", seed), Done(found["accuracy"], *spent))
        tried = []
        for i, each in enumerate(settings):
            part = jobs[i * CHOICE_SEEDS : (i + 1) * CHOICE_SEEDS]
            scores = [self.done[self._key(peer, code, "choice", seed)].accuracy for code, seed in part]
            tried.append({"settings": each, "accuracy": statistics.fmean(scores)})
            print(f"{peer.key:24} {tried[-1]['accuracy']:.4f} {each}", file=sys.stderr, flush=True)
        best = max(tried, key=lambda t: cast(float, t["accuracy"]))
        return {"best": best["settings"], "tried": tried}

    def row(self, peer: Peer, seeds: int) -> dict[str, object]:
        """A row of the table."""
        source, shell = peer.file.read_text(encoding="utf-8"), peer.file.suffix == ".sh"
        found = [self.run(peer, source, peer.data, seed) for seed in range(seeds)]
        accuracies, lines = [d.accuracy for d in found], count_lines(source, shell=shell)
        return {
            "key": peer.key,
            "library": peer.library,
            "version": self._version(peer),
            "lines": 0 if shell else lines,
            "commands": lines if shell else 1,
            "seconds": statistics.median(d.seconds for d in found),
            "training_seconds": statistics.median(d.training_seconds for d in found),
            "wall_seconds": statistics.median(d.wall_seconds for d in found),
            "mean": statistics.fmean(accuracies),
            "std": statistics.stdev(accuracies) if seeds > 1 else 0.0,
            "accuracies": accuracies,
            "threads": int(self.threads),
        }

    def _version(self, peer: Peer) -> str:
        package = "neural-graph-machines" if peer.library == "ngm" else peer.library
        code = f"from importlib.metadata import version; print(version({package!r}))"
        done = subprocess.run([self.python(peer), "-c", code], capture_output=True, text=True, check=True)
        return done.stdout.strip()


def table(rows: Sequence[Mapping[str, object]]) -> str:
    """The rows as Markdown, in the order of `PEERS`."""
    lines = [
        "| library | method | to predict a new paper it needs | lines | commands | seconds | training | accuracy |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in sorted(rows, key=lambda r: list(PEERS).index(str(r["key"]))):
        peer = PEERS[str(row["key"])]
        accuracy = f"{row['mean']:.3f} ± {row['std']:.3f}".replace("0.", ".")
        counts = f"{row['lines'] or 'none'} | {row['commands']} | {row['seconds']:.1f} | {row['training_seconds']:.1f}"
        lines.append(f"| {LIBRARIES[peer.library]} | {peer.name} | {peer.needs} | {counts} | {accuracy} |")
    return "\n".join(lines)


def with_table(page: str, new: str) -> str:
    """The page with another table in place of its own, which begins as all of them do."""
    before, header, rest = page.partition(new.splitlines()[0])
    if not header:
        raise ValueError(f"the page has no table that begins with {new.splitlines()[0]!r}; put one in")
    return before + new + "\n\n" + rest.partition("\n\n")[2]


def main() -> None:
    options = arguments()
    if options.table:
        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, table(list(kept()["rows"].values()))), encoding="utf-8")
        return
    runner = Runner(options)
    for peer in chosen(options):
        if options.choose and not peer.grid:
            continue
        found = runner.choose(peer) if options.choose else runner.row(peer, options.seeds)
        if not options.choose:
            print(table([found]).splitlines()[-1], flush=True)
        if options.keep:
            keep("choice" if options.choose else "rows", peer.key, found)


def kept() -> dict[str, dict[str, dict[str, object]]]:
    """What benchmarks/results/compared.json has, by row: `rows` and `choice`."""
    if not RESULTS.exists():
        return {"rows": {}, "choice": {}}
    found = json.loads(RESULTS.read_text(encoding="utf-8"))
    return {"rows": {row["key"]: row for row in found["rows"]}, "choice": found["choice"]}


def keep(part: str, key: str, value: dict[str, object]) -> None:
    """Writes one row's part of benchmarks/results/compared.json and leaves the others as they are."""
    parts = kept()
    parts[part][key] = value
    rows, choice = ({each: parts[name][each] for each in PEERS if each in parts[name]} for name in ("rows", "choice"))
    machine = {"processor": platform.machine(), "cores": os.cpu_count(), "python": platform.python_version()}
    result = {"name": "compared", "rows": list(rows.values()), "choice": choice, "machine": machine}
    RESULTS.write_text(json.dumps(result, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--peer", nargs="*", default=list(PEERS), help="rows to run, or beginnings of their names")
    parser.add_argument("--skip", nargs="*", default=[], help="rows not to run, likewise")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--choose", action="store_true", help="try settings on the validation papers instead")
    parser.add_argument("--nsl-python", help="Python that has Neural Structured Learning")
    parser.add_argument("--work", type=Path, default=Path("runs/compared"), help="for exported files and what is done")
    parser.add_argument("--fresh", action="store_true", help="run again what is done")
    parser.add_argument("--threads", default="1", help="threads of a script")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/compared.json")
    parser.add_argument("--table", action="store_true", help="write the table of docs/compared.md")
    return parser.parse_args()


def chosen(options: argparse.Namespace) -> list[Peer]:
    """The rows to run, in order."""
    for name in [*options.peer, *options.skip]:
        if not any(key.startswith(name) for key in PEERS):
            raise SystemExit(f"there is no row {name!r}; choose from {', '.join(PEERS)}")
    skip = [*options.skip, *([] if options.nsl_python else ["nsl"])]
    wanted = [key for key in PEERS if key.startswith(tuple(options.peer)) and not key.startswith(tuple(skip))]
    if not options.nsl_python:
        print("nsl is left out: give --nsl-python, a Python that has it", file=sys.stderr)
    return [PEERS[key] for key in wanted]


if __name__ == "__main__":
    main()
