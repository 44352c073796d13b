"""Refuses what does not go together, or would quietly do nothing, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping

from ngm.choices import TEXT_NETWORKS, WORD_NETWORKS
from ngm.cli.training.config import ALPHAS, OF_EDGES, Asked
from ngm.cli.training.options import SHARE, Told, check_words
from ngm.io.files import is_graph_folder
from ngm.parameters import PARAMETERS


def check(asked: Asked) -> None:
    """Sees to what needs no reading."""
    told, call, settings = asked.told, asked.call, asked.settings
    check_words(told, call)
    if told.source is None:
        raise ValueError("give a table or a graph folder to train on, or --config with a run that has one")
    _check_inputs(told, settings.get("network"))
    _check_encoder(told, settings)
    _check_graph(told, settings)
    if settings.get("recipe") == "strong":
        check_edges(settings)
    _check_vectors(told, settings)
    _check_validation(told, settings)
    if told.label_separator is not None and told.task not in (None, "labels"):
        raise ValueError(f"--label-separator is for several labels a row, and --task is {told.task}; leave out one")
    if not call.resume and not call.dry_run and (call.output / "config.json").is_file():
        from ngm.io.tables.output_overlap import check_folder_apart

        read = [table for table in (told.source, told.graph, told.vectors) if table is not None]
        check_folder_apart(call.output, read)
    if call.resume and call.overwrite:
        raise ValueError("both --resume and --overwrite are given; choose whether to go on with the run or replace it")
    if call.resume and call.dry_run:
        raise ValueError("--dry-run starts nothing, so --resume has nothing to go on with; leave out one of them")


def has_teachers(settings: Mapping[str, object], task: str | None) -> bool:
    """Whether the recipe, given or not, has teachers for what is to be learned; None: not known yet."""
    recipe = settings.get("recipe", PARAMETERS["recipe"].default)
    return recipe == "strong" or (recipe == "auto" and task != "number")


def needs_vectors(told: Told, settings: Mapping[str, object], task: str | None) -> bool:
    """Whether vectors of the texts are of use to a network that reads texts: to its teachers, or to make its graph."""
    taught = settings.get("recipe") != "strong" and has_teachers(settings, task) and not told.no_graph
    made_here = told.graph is None and not told.no_graph and not is_graph_folder(told.source or "")
    return taught or (made_here and told.encoder is not None and told.vectors is None)


def _check_inputs(told: Told, network: object) -> None:
    given = [f"--{name}" for name in ("text", "columns", "input") if getattr(told, name) is not None]
    if len(given) > 1:
        raise ValueError(f"both {given[0]} and {given[1]} are given; choose what to learn from")
    if network in TEXT_NETWORKS and told.text is None:
        raise ValueError(f"--network {network} reads texts; give --text, or --network ffnn for numbers")
    if told.input is not None and told.no_graph:
        raise ValueError("--input is about a graph, and --no-graph is given; leave it out")
    if told.input is not None and told.graph is None and not is_graph_folder(told.source or ""):
        raise ValueError("--input learns from the graph itself; give --graph, or a graph folder in place of the table")


def _check_encoder(told: Told, settings: Mapping[str, object]) -> None:
    if told.encoder is None:
        return
    if told.text is None:
        raise ValueError("--encoder makes vectors of texts; give --text")
    if settings.get("network") in TEXT_NETWORKS and not needs_vectors(told, settings, told.task):
        raise ValueError(
            f"--encoder has nothing to do: --network {settings['network']} reads the texts themselves, no teacher is "
            "asked and no graph is made of the vectors"
        )


def _check_graph(told: Told, settings: Mapping[str, object]) -> None:
    if told.graph is not None and told.no_graph:
        raise ValueError("both --graph and --no-graph are given; choose one")
    if told.graph is not None and told.k is not None:
        raise ValueError("-k is for a graph made here, and --graph is given; leave it out")
    if is_graph_folder(told.source or ""):
        own = {"--graph": told.graph, "-k": told.k, "--header": told.header, "--delimiter": told.delimiter}
        for option, value in own.items():
            if value is not None:
                raise ValueError(f"{option} is for tables, and {told.source} is a graph folder; leave it out")
    of_graphs: dict[str, object] = {"-k": told.k, "--alpha": _alpha(settings), "--control": told.control or None}
    of_graphs |= {f"--{name}": settings.get(name) for name in OF_EDGES}
    for option, given in of_graphs.items():
        if given is not None and told.no_graph:
            raise ValueError(f"{option} is about a graph, and --no-graph is given; leave it out")
    if told.no_graph and settings.get("recipe") == "strong":
        raise ValueError("--recipe strong learns from a graph, and --no-graph is given; leave out one of them")


def _alpha(settings: Mapping[str, object]) -> object:
    return next((settings[name] for name in ALPHAS if settings.get(name) is not None), None)


def check_edges(settings: Mapping[str, object]) -> None:
    """A recipe with teachers has no distances across edges, unless it is given alphas."""
    if _alpha(settings) is not None:
        return
    recipe = settings.get("recipe", PARAMETERS["recipe"].default)
    for name in OF_EDGES:
        if settings.get(name) not in (None, 0, PARAMETERS[name].default):
            raise ValueError(
                f"--{name} is about distances across edges, which --recipe {recipe} has none of; give --alpha, or "
                "--recipe paper"
            )


def _check_vectors(told: Told, settings: Mapping[str, object]) -> None:
    network = settings.get("network")
    if told.vectors is None:
        return
    if told.text is None:
        raise ValueError("--vectors are of words; give --text")
    made_here = told.graph is None and not told.no_graph and not is_graph_folder(told.source or "")
    taught = has_teachers(settings, told.task) and not told.no_graph and network in TEXT_NETWORKS
    if not made_here and not taught and network not in WORD_NETWORKS:
        raise ValueError(
            "--vectors has nothing to do: it is for a graph made here, for lstm and for teachers of charcnn"
        )


def _check_validation(told: Told, settings: Mapping[str, object]) -> None:
    share, noun = settings.get("validation", SHARE), told.noun
    if told.validation_column is not None and "validation" in settings:
        raise ValueError("both --validation and --validation-column are given; choose one")
    if settings.get("patience") is not None and not share:
        raise ValueError(f"--patience waits for accuracy on validation {noun}, and --validation is 0; give a share")
    if told.control and not share:
        raise ValueError(f"--control compares accuracies on validation {noun}, and --validation is 0; give a share")
    if told.seeds is not None and not told.control:
        raise ValueError("--seeds repeats the comparison of --control; give --control as well")
