"""`ngm ingest`, `build`, `check`, `train`, `predict`, `report` and `export` with odd files and options."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random

from fuzzing import folders
from fuzzing.command import command
from fuzzing.files import FIELDS, damaged, delimited, table_file
from fuzzing.readers import QUERIES

NAMES = ("id", "a", "b", "topic", "body", "src", "dst", "nothing", "", "a,b", "a,,b", "body,topic", "é", "ID")
ODD = (
    "",
    " ",
    "0",
    "1",
    "-1",
    "2.5",
    "nan",
    "inf",
    "1e400",
    "99999999999999999999",
    "word",
    "é",
    ",",
    "--",
    "[red]",
    "x" * 300,
)
PLACES = ("out", "out", "out", "a/b", "table.csv", ".", "", "x" * 300, "out [1]", "/proc/none/x", "trained", "graph")
OPTIONS: dict[str, dict[str, Sequence[str]]] = {
    "ingest": {
        "--id": NAMES,
        "--source": NAMES,
        "--target": NAMES,
        "--weight": NAMES,
        "--label": NAMES,
        "--merge": ("max", "sum", "mean"),
        "--dangling": ("error", "drop", "add"),
        "--delimiter": (";", "tab", "space", ",", "::"),
        "--memory-limit": ("1GB",),
    },
    "build": {
        "-k": ("1", "3"),
        "--metric": ("cosine", "euclidean", "inner_product"),
        "--weight": ("similarity", "self_tuned", "binary"),
        "--max-degree": ("2",),
        "--search": ("auto", "exact", "approximate"),
        "--recall": ("0.9",),
        "--seed": ("1",),
        "--id": NAMES,
        "--label": NAMES,
        "--delimiter": (",", ";"),
        "--vectors": ("v.txt",),
    },
    "check": {"--label": NAMES, "--columns": NAMES, "--seed": ("1",)},
    "train": {
        "--id": NAMES,
        "--alpha": ("0.1",),
        "-k": ("2",),
        "--seed": ("1",),
        "--validation": ("0.2", "0.5"),
        "--validation-column": NAMES,
        "--recipe": ("auto", "paper", "strong"),
        "--network": ("ffnn", "lstm"),
        "--learning-rate": ("0.1",),
        "--patience": ("1",),
        "--dropout": ("0.5",),
        "--optimizer": ("adam", "sgd"),
        "--distance": ("l1", "js"),
        "--layer": ("output",),
        "--graph": ("graph", "table.csv", "none"),
        "--thesaurus": ("none.dat",),
        "--sampling": ("plain", "edges", "balanced"),
        "--device": ("cpu",),
        "--dtype": ("float64", "bfloat16"),
        "--config": ("trained/config.json", "table.csv", "none.json"),
        "--batch-size": ("4",),
        "--task": ("classes", "numbers", "labels"),
    },
    "predict": {"--text": NAMES, "--id": NAMES, "--top": ("1", "2"), "--label": NAMES, "--delimiter": (",", ";")},
    "report": {"--format": ("png", "svg")},
    "export": {},
}
FLAGS = {
    "ingest": ("--directed", "--header", "--no-header", "--json"),
    "build": ("--idf", "--mutual", "--header", "--no-header", "--json"),
    "check": ("--json",),
    "train": ("--json", "--dry-run", "--resume", "--no-header", "--no-graph-screen"),
    "predict": ("--all", "--json", "--no-header"),
    "report": ("--json",),
    "export": ("--json",),
}


def make(rng: Random, folder: Path) -> Callable[[], object]:
    """One case."""
    templates = folder.parent / "templates"
    if not templates.exists():
        folders._make_templates(templates)
    name = rng.choice(["ingest", "ingest", "build", "build", "check", "train", "train", "predict", "predict", "report"])
    shutil.copy(templates / "table.csv", folder / "table.csv")
    if name in ("check", "train", "predict"):
        shutil.copytree(templates / "graph", folder / "graph")
    if name in ("train", "predict", "report"):
        shutil.copytree(templates / "trained", folder / "trained")
    before = {path.name for path in folder.iterdir()}
    words = [*rng.choice([_words(rng, folder, name)]), *_options(rng, name)]
    output: Path | None = None
    if name in ("ingest", "build", "predict"):
        place = rng.choice(PLACES).replace(".", "out" if name == "predict" else ".") + (
            rng.choice([".csv", ".parquet", ".jsonl", ".xlsx", ""]) if name == "predict" else ""
        )
        words += ["-o", place]
        output = None if place.split("/")[0] in before or place in ("", ".", "x" * 300) else folder / place
    elif name == "train":
        words += ["-o", rng.choice(PLACES)]
    return command(name, *words, output=output)


def _options(rng: Random, name: str) -> list[str]:
    words: list[str] = []
    for option, good in OPTIONS[name].items():
        if rng.random() < 1.5 / (len(OPTIONS[name]) + 1):
            words += [option, rng.choice(good) if rng.random() < 0.7 else rng.choice(ODD)]
    words += [flag for flag in FLAGS[name] if rng.random() < 0.1]
    return words + ([rng.choice(["--nothing", "extra", "--help"])] if rng.random() < 0.03 else [])


def _table(rng: Random, folder: Path) -> str:
    """The good table with some of it changed, or any other."""
    kind = rng.random()
    if kind < 0.35:
        return "table.csv"
    if kind < 0.7:
        file = folder / "table.csv"
        lines = file.read_text(encoding="utf-8").splitlines()
        for _ in range(rng.choice([1, 1, 5])):
            row = rng.randrange(len(lines))
            fields = lines[row].split(",")
            fields[rng.randrange(len(fields))] = rng.choice(FIELDS)
            lines[row] = ",".join(fields)
        file.write_bytes(
            damaged(rng, "\n".join(lines).encode(rng.choice(["utf-8", "utf-8", "utf-16", "latin-1"]), "replace"), 0.2)
        )
        return "table.csv"
    if kind < 0.9:
        return table_file(rng, folder).name
    return rng.choice([*QUERIES, "none.csv", "", ".", "graph", "*.csv", "http://"])


def _words(rng: Random, folder: Path, name: str) -> list[str]:
    if name == "ingest":
        (folder / "edges.csv").write_bytes(
            delimited(rng) if rng.random() < 0.5 else b"src,dst,w\nn0,n1,1\nn1,n2,0.5\nn3,n9,2\n"
        )
        return ["--edges", "edges.csv", *(["--nodes", _table(rng, folder)] if rng.random() < 0.6 else [])]
    if name == "build":
        how = rng.choice(
            [
                ["--columns", "a,b"],
                ["--text", "body"],
                ["--text", rng.choice(NAMES)],
                ["--columns", rng.choice(NAMES)],
                [],
            ]
        )
        return [_table(rng, folder), *how]
    if name == "check":
        return [rng.choice(["graph", "graph", "graph", "none", "table.csv", ""])]
    if name == "train":
        x = rng.choice(
            [
                ["--columns", "a,b"],
                ["--columns", "a,b"],
                ["--columns", rng.choice(NAMES)],
                ["--text", rng.choice(NAMES), "--network", "lstm"],
                [],
            ]
        )
        wide = ["--hidden", rng.choice(["4", "4", "4,3", "0", "a", ""])] if "--text" not in x else []
        label = ["--label", "topic"] if rng.random() < 0.8 else ["--label", rng.choice(NAMES)]
        return [_table(rng, folder), *x, *label, *wide, "--epochs", "1", "--no-report"]
    if name == "predict":
        return [rng.choice(["trained"] * 8 + ["graph", "none"]), _table(rng, folder)]
    return [rng.choice(["trained", "trained", "none", "graph", ""]), *rng.choice([[], [], ["trained"], ["none"]])]
