"""`ngm train`."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, cast, get_args

import numpy as np
import typer
from numpy.typing import NDArray
from rich.markup import escape
from rich.table import Table as Shown
from sklearn.base import clone

from ngm.build.reading import column_texts
from ngm.build.text import rows_graph, text_rows
from ngm.cli.progress import Progress, noted
from ngm.cli.terminal import AsJson, Debug, Delimiter, Header, app, err, out, print_json
from ngm.graph import Graph
from ngm.methods.classifier import NGMClassifier
from ngm.methods.recipes import Recipe
from ngm.methods.targets import encode_classes, unlabeled_rows
from ngm.names import nearest
from ngm.networks import TEXT_NETWORKS, WORD_NETWORKS
from ngm.reproduce.table import Row
from ngm.run import JSON, Run
from ngm.store import GraphData, open_graph
from ngm.tables import Table, read_table

_K, _CLASSES_SHOWN = 5, 10


@app.command("train")
def train_command(
    source: Annotated[str, typer.Argument(help="A table of texts: CSV, TSV, Parquet, JSON lines, a DuckDB query.")],
    text: Annotated[str | None, typer.Option(help="Column of texts; several as title,body.")] = None,
    label: Annotated[str | None, typer.Option(help="Column of labels; a text without one is unlabelled.")] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="Run folder.")] = Path("run"),
    graph: Annotated[
        Path | None, typer.Option(help="Graph folder over the rows of the table, from ngm build; else one is made.")
    ] = None,
    no_graph: Annotated[bool, typer.Option("--no-graph", help="Train on the labelled texts alone.")] = False,
    k: Annotated[
        int | None, typer.Option("-k", help="Neighbours of a text in the graph that is made.", show_default=str(_K))
    ] = None,
    vectors: Annotated[
        Path | None,
        typer.Option(help="Word vectors (GloVe, word2vec, .npz): for the graph that is made, for lstm, for strong."),
    ] = None,
    network: Annotated[str, typer.Option(help=f"One of: {', '.join(TEXT_NETWORKS)}.")] = "charcnn",
    recipe: Annotated[
        str | None,
        typer.Option(
            help="strong: the graph labels all texts softly; paper: it draws neighbours together.",
            show_default="strong; paper with --alpha or --no-graph",
        ),
    ] = None,
    alpha: Annotated[float | None, typer.Option(help="Weight of the graph, for all kinds of edges.")] = None,
    epochs: Annotated[int | None, typer.Option(help="At most; else as many as the recipe says.")] = None,
    batch_size: Annotated[
        int | None, typer.Option(help="Edges in a batch; texts where no edges are used.", show_default="128")
    ] = None,
    learning_rate: Annotated[float | None, typer.Option(help="Size of a step.", show_default="0.002")] = None,
    validation: Annotated[
        float, typer.Option(help="Share of the labelled texts to keep the best epoch by; 0: none.")
    ] = 0.1,
    patience: Annotated[int | None, typer.Option(help="Stop after so many epochs without improvement.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Same seed, same result.")] = 0,
    thesaurus: Annotated[
        Path | None, typer.Option(help="Synonyms (MyThes): the texts are rewritten in every epoch.")
    ] = None,
    cut: Annotated[
        float | None,
        typer.Option(
            help="Part of a text left out in training, at most, another in every epoch.",
            show_default="0.3 for strong on characters, else 0",
        ),
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with the run in the folder.")] = False,
    control: Annotated[bool, typer.Option("--control", help="Train again without the graph, and show both.")] = False,
    header: Header = None,
    delimiter: Delimiter = None,
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Trains a network on a table of texts, of which few need a label, and writes a run folder.

    Without --graph each text is joined to the texts most like it, by TF-IDF or, with --vectors, by the mean of its word
    vectors. The graph is used while training only: ngm predict needs none.

    Example:  ngm train news.csv --text body --label topic -o run/
    """
    start = time.perf_counter()
    recipe = recipe or ("strong" if alpha is None and not no_graph else "paper")
    _check(network, recipe, graph, no_graph, {"-k": k, "--alpha": alpha, "--control": control or None}, validation)
    if patience is not None and not validation:
        raise ValueError("--patience waits for accuracy on validation texts, and --validation is 0; give a share")
    if vectors is not None and (graph is not None or no_graph) and recipe != "strong" and network not in WORD_NETWORKS:
        raise ValueError("--vectors has nothing to do: it is for a graph made here, for lstm and for strong")
    Run.check(output)
    table = read_table(source, delimiter, header)
    if text is None or label is None:
        raise ValueError(f"give --text and --label; the columns of {table.name} are {', '.join(table.columns)}")
    with noted(quiet=as_json) as notes:
        for line in bad_lines(table):
            warnings.warn(line, UserWarning, stacklevel=1)
        data = _Data(column_texts(table, column_names(text, table)), labels_of(table, label))
        encode_classes(data.y, len(table))  # what is wrong with labels is said before the long part
        joined = None if no_graph else _opened(graph, table) if graph else _made(data.texts, vectors, k, seed)
        model = NGMClassifier(
            network=network,
            recipe=cast(Recipe, recipe),
            alpha_ll=alpha,
            alpha_lu=alpha,
            alpha_uu=alpha,
            epochs=epochs,
            batch_size=batch_size,
            learning_rate=learning_rate,
            validation=validation or None,
            patience=patience,
            word_vectors=vectors if recipe == "strong" or network in WORD_NETWORKS else None,
            thesaurus=thesaurus,
            cut=cut,
            seed=seed,
            folder=output,
            resume=resume,
        )
        _fit(model, data, joined, "with the graph" if control else "training", as_json)
        plain = _without(model, data, as_json) if control else None
    told = _Told(data, joined, model, plain, time.perf_counter() - start)
    said = {"source": source, "text": text, "label": label, **told.as_json(), "notes": list(notes)}
    run, content = Run.open(output), cast("dict[str, JSON]", said)
    run.write("metrics.json", run.read("metrics.json") | {"data": content, **told.control()})
    if as_json:
        print_json({"run": str(output), **content})
        return
    _show(told)
    where = escape(str(output))
    next_ = escape(f"next: ngm predict {output} new.csv --text {text}")
    out.print(f"Run folder: {where}   ({next_})", highlight=False, soft_wrap=True)


@dataclass(frozen=True, eq=False)
class _Data:
    """The texts and their labels, None where there is none."""

    texts: list[str]
    y: NDArray[np.generic]


@dataclass(frozen=True)
class _Joined:
    """A graph over the texts, and where it is from, in words."""

    graph: Graph
    origin: str


@dataclass(frozen=True, eq=False)
class _Told:
    """What there is to tell of a training."""

    data: _Data
    joined: _Joined | None
    model: NGMClassifier
    plain: NGMClassifier | None
    seconds: float

    def as_json(self) -> dict[str, JSON]:
        """Counts, the graph and the accuracies."""
        unlabeled = int(unlabeled_rows(self.data.y).sum())
        graph: JSON = None
        if self.joined is not None:
            nodes, edges = self.joined.graph.num_nodes, self.joined.graph.num_edges
            used: JSON = {**self.model.edges_by_kind_}
            graph = {"nodes": nodes, "edges": edges, "origin": self.joined.origin, "edges_used": used}
        return {
            "labeled": len(self.data.texts) - unlabeled,
            "unlabeled": unlabeled,
            "classes": {str(name): int((self.data.y == name).sum()) for name in self.model.classes_.tolist()},
            "graph": graph,
            "network": str(self.model.network),
            "weights": sum(p.numel() for p in self.model.network_.parameters()),
            "epochs": self.model.n_iter_,
            "best_epoch": self.model.history_.best_epoch,
            "accuracy": accuracy_of(self.model),
            "accuracy_without_graph": None if self.plain is None else accuracy_of(self.plain),
            "seconds": round(self.seconds, 3),
        }

    def control(self) -> dict[str, JSON]:
        """Both accuracies as rows, for `metrics.json`; nothing where there is no control."""
        rows: dict[str, JSON] = {}
        for name, model in (("with_graph", self.model), ("without_graph", self.plain)):
            accuracy = None if model is None else accuracy_of(model)
            if accuracy is None or model is None:
                return {}
            seconds = sum(epoch["seconds"] for epoch in model.history_.epochs)
            row = Row(str(model.network), "validation", "accuracy", accuracy, 0.0, 1, None, seconds)
            rows[name] = asdict(row)
        return {"control": rows}


def accuracy_of(model: NGMClassifier) -> float | None:
    """On the validation texts, of the epoch that is kept."""
    history = model.history_
    return history.epochs[history.best_epoch].get("validation_accuracy") if history.epochs else None


def column_names(given: str, table: Table) -> list[str]:
    """The columns that a user named, several of them with commas between."""
    return [given] if given in table.columns else [name.strip() for name in given.split(",")]


def labels_of(table: Table, name: str) -> NDArray[np.generic]:
    """(n,) labels, None or NaN where there is none; a label of blanks is none."""
    values = table.column(name)
    if values.dtype.kind == "f":  # whole numbers beside gaps, as pandas writes them
        there = values[np.isfinite(values)]
        if len(there) and not np.isinf(values).any() and bool((there % 1 == 0).all()):
            whole = np.empty(len(values), dtype=object)
            whole[:] = [None if v != v else int(v) for v in values.tolist()]
            return whole
    if values.dtype.kind != "O":
        return values if values.dtype.kind in "iufbU" else values.astype(str)
    there = values.tolist()
    wrong = next((v for v in there if isinstance(v, list | dict | np.ndarray)), None)
    if wrong is not None:
        raise ValueError(f"column {name!r} of {table.name} holds {str(wrong)[:30]}; give one label per text")
    out = np.empty(len(there), dtype=object)
    out[:] = [None if isinstance(v, str) and not v.strip() else v for v in there]
    return out


def bad_lines(table: Table) -> list[str]:
    """What was left out of a text file, in words."""
    if not table.bad.count:
        return []
    return [f"{table.bad.count:,} lines of {table.name} did not fit and were left out: {'; '.join(table.bad.examples)}"]


def _check(
    network: str, recipe: str, graph: Path | None, no_graph: bool, of_graphs: Mapping[str, object], validation: float
) -> None:
    """Sees to what needs no reading before anything is read."""
    for option, value, known in (("network", network, TEXT_NETWORKS), ("recipe", recipe, get_args(Recipe))):
        if value not in known:
            raise ValueError(f"--{option} is {value!r}{nearest(value, known)}; choose from {', '.join(known)}")
    if graph is not None and no_graph:
        raise ValueError("both --graph and --no-graph are given; choose one")
    if graph is not None and of_graphs["-k"] is not None:
        raise ValueError("-k is for a graph made here, and --graph is given; leave it out")
    for option, given in of_graphs.items():
        if given is not None and no_graph:
            raise ValueError(f"{option} is about a graph, and --no-graph is given; leave it out")
    if no_graph and recipe == "strong":
        raise ValueError("--recipe strong learns from a graph, and --no-graph is given; leave out one of them")
    if of_graphs["--control"] and not validation:
        raise ValueError("--control compares accuracies on validation texts, and --validation is 0; give a share")


def _opened(folder: Path, table: Table) -> _Joined:
    """The graph of a folder, which must be over the rows of the table."""
    data = open_graph(folder)
    if len(data.graph) != len(table):
        raise ValueError(f"{folder} has {len(data.graph):,} nodes, {table.name} has {len(table):,} rows; {_REMEDY}")
    _check_ids(data, folder, table)
    return _Joined(data.graph, str(folder))


_REMEDY = "a node is a row, so build the graph from this table"


def _check_ids(data: GraphData, folder: Path, table: Table) -> None:
    if data.id_column is None or data.id_column not in table.columns:
        return
    pairs = zip(table.column(data.id_column).tolist(), data.ids.tolist(), strict=True)
    for row, (mine, theirs) in enumerate(pairs):
        if mine != theirs:
            raise ValueError(f"row {row} of {table.name} is {mine!r}, node {row} of {folder} is {theirs!r}; {_REMEDY}")


def _made(texts: list[str], vectors: Path | None, k: int | None, seed: int) -> _Joined:
    rows = text_rows(texts, vectors=vectors)
    for line in rows.left_out():
        warnings.warn(line, UserWarning, stacklevel=2)
    k = k if k is not None else max(min(_K, len(texts) - 1), 1)
    graph = rows_graph(rows, k, seed=seed).graph
    known = "" if rows.coverage is None else f" ({100 * rows.coverage:.1f} % of the words known)"
    return _Joined(graph, f"the {k} most similar texts by {'word vectors' if vectors else 'TF-IDF'}{known}")


def _fit(model: NGMClassifier, data: _Data, joined: _Joined | None, what: str, quiet: bool) -> None:
    try:
        with Progress(model, what, quiet) as on_epoch:
            model.fit(data.texts, data.y, graph=None if joined is None else joined.graph, on_epoch=on_epoch)
    except KeyboardInterrupt:
        if model.folder is not None and hasattr(model, "n_iter_"):
            kept = f"{model.n_iter_:,} epoch{' is' if model.n_iter_ == 1 else 's are'} kept"
            err.print(f"{kept}; the same command with --resume goes on", highlight=False)
        raise


def _without(model: NGMClassifier, data: _Data, quiet: bool) -> NGMClassifier:
    """The same network trained without the graph: same seed, same validation texts, as many steps."""
    settings, size = model.settings_, model.settings_.batch_size
    labeled = int((~unlabeled_rows(data.y)).sum() * (1 - cast(float, model.validation)))
    steps = -(-max(sum(model.edges_by_kind_.values()), model.num_labeled_, 1) // size)
    longer = max(steps / -(-max(labeled, 1) // size), 1.0)  # an epoch over few labels has fewer steps
    plain = clone(model).set_params(
        recipe="paper",
        alpha_ll=None,
        alpha_lu=None,
        alpha_uu=None,
        learning_rate=settings.learning_rate,
        average=settings.average,
        cut=settings.cut,
        epochs=round(cast(int, settings.epochs) * longer),
        patience=None if model.patience is None else round(model.patience * longer),
        word_vectors=model.word_vectors if model.network in WORD_NETWORKS else None,
        folder=None,
        resume=False,
    )
    _fit(plain, data, None, "without the graph", quiet)
    return cast(NGMClassifier, plain)


def _show(told: _Told) -> None:
    facts = Shown(show_header=False, box=None, pad_edge=False)
    for name, value in _facts(told).items():
        facts.add_row(name, escape(value))
    out.print(facts, highlight=False)


def _use(model: NGMClassifier) -> str:
    """What became of the graph."""
    if not all(model.graphs_used_):
        return "left out, since it tells nothing"
    if model.recipe == "strong":
        return f"{model.num_labeled_:,} texts labelled by it"
    return "trained on " + ", ".join(f"{count:,} {kind.upper()}" for kind, count in model.edges_by_kind_.items())


def _facts(told: _Told) -> dict[str, str]:
    said, classes = told.as_json(), cast("dict[str, int]", told.as_json()["classes"])
    shown = [f"{name} {count:,}" for name, count in list(classes.items())[:_CLASSES_SHOWN]]
    more = f", ... ({len(classes):,} classes)" if len(classes) > _CLASSES_SHOWN else ""
    facts = {
        "labelled": f"{said['labeled']:,} texts ({', '.join(shown)}{more})",
        "unlabelled": f"{said['unlabeled']:,} texts",
        "graph": "none",
    }
    if told.joined is not None:
        facts["graph"] = f"{told.joined.graph.num_edges:,} edges: {told.joined.origin}; {_use(told.model)}"
    facts["network"] = f"{said['network']}, {said['weights']:,} weights"
    facts["epochs"] = f"{said['epochs']:,}, of which {cast(int, said['best_epoch']) + 1:,} is kept"
    for name, accuracy in (("accuracy", said["accuracy"]), ("without the graph", said["accuracy_without_graph"])):
        if accuracy is not None:
            facts[name] = f"{accuracy:.3f} on {told.model.num_validation_:,} validation texts, whose labels were hidden"
    facts["seconds"] = f"{told.seconds:.1f}"
    return facts
