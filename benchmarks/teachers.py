"""Teachers of recipe "auto" one by one, and all together: how well they label the unlabelled nodes of a graph.

    python benchmarks/teachers.py [--datasets acm trec ...] [--labels 1 2 5 20] [--draws 2] [--keep] [--json]

The data sets and draws are those of `benchmarks/battery.py`, with draws of their own (100 and up): the report of the
battery does not rest on them. Scored are nodes that take part in training, so this is about teachers, not the network.
`--keep` writes benchmarks/results/teachers.json.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import fmean

sys.path.insert(0, str(Path(__file__).parent))  # for tests

import numpy as np
from battery import machine
from battery_parts.problems import GRAPHS, LABELS_PER_CLASS, TEXTS, Problem, prepare, problem
from rich.console import Console
from rich.table import Table

from ngm.io.files import file_written_whole
from ngm.recipes.label_matrix import Targets
from ngm.recipes.node_views import NodeViews, scaled_features
from ngm.recipes.stacking import stack_teachers
from ngm.recipes.teachers import predict_all

RESULTS = Path(__file__).parent / "results" / "teachers.json"
FIRST_DRAW = 100
TOGETHER = "all, weighted"


def scores(drawn: Problem, seed: int) -> dict[str, float]:
    """Accuracy of each teacher, and of their weighted labels, on unlabelled nodes with an edge."""
    labeled = np.zeros(len(drawn.y), dtype=bool)
    labeled[drawn.labeled] = True
    targets = Targets(np.eye(drawn.num_classes, dtype=np.float32)[np.maximum(drawn.y, 0)])
    views = NodeViews({"features": scaled_features(drawn.x)}, [drawn.graph], drawn.num_classes)
    scored = ~labeled & (drawn.graph.degree > 0).numpy() & (drawn.y >= 0)
    found = {one.name: one.values for one in predict_all(views, targets, labeled)}
    found[TOGETHER] = stack_teachers(views, targets, labeled, seed).soft_labels
    return {name: float((proba[scored].argmax(axis=1) == drawn.y[scored]).mean()) for name, proba in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=[*GRAPHS, *TEXTS], choices=[*GRAPHS, *TEXTS], metavar="NAME")
    parser.add_argument("--labels", nargs="+", type=int, default=list(LABELS_PER_CLASS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--work", type=Path, default=Path("runs/battery"), help="where the battery keeps vectors")
    parser.add_argument("--keep", action="store_true", help="write benchmarks/results/teachers.json")
    parser.add_argument("--json", action="store_true", help="print one JSON object on standard output")
    options = parser.parse_args()
    accuracy: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)  # data set -> labels a class -> teacher
    for name in options.datasets:
        prepare(name, options.work)
        drawn: dict[int, list[dict[str, float]]] = defaultdict(list)
        for draw in range(FIRST_DRAW, FIRST_DRAW + options.draws):
            for labels in options.labels:
                drawn[labels].append(scores(problem(name, labels, draw, "validation", options.work), draw))
        for labels, found in drawn.items():
            accuracy[name][labels] = {teacher: fmean(one[teacher] for one in found) for teacher in found[0]}
        print(f"{name} done", file=sys.stderr, flush=True)
    teachers = list(next(iter(accuracy.values()))[options.labels[0]])
    means = {
        teacher: {labels: fmean(accuracy[name][labels][teacher] for name in accuracy) for labels in options.labels}
        for teacher in teachers
    }
    command = " ".join(["python", "benchmarks/teachers.py", *sys.argv[1:]])
    about = {"name": "teachers", "draws": options.draws, "machine": machine(), "command": command}
    content = {**about, "means": means, "accuracy": accuracy}
    if options.keep:
        with file_written_whole(RESULTS) as part:
            part.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if options.json:
        print(json.dumps(content))
        return
    table = Table("teacher", *(f"{labels} a class" for labels in options.labels), title="Mean accuracy over data sets")
    for teacher, row in means.items():
        table.add_row(teacher, *(f"{value:.3f}" for value in row.values()))
    Console().print(table)


if __name__ == "__main__":
    main()
