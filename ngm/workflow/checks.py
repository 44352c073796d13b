"""Refuses options that contradict each other, or would have no effect, before anything is read."""

from __future__ import annotations

from collections.abc import Mapping

from ngm._spelling import nearest
from ngm.choices import TEXT_NETWORKS, WORD_NETWORKS
from ngm.io.files import is_graph_folder
from ngm.parameters import PARAMETERS
from ngm.workflow.options import ALPHAS, OF_EDGES, TrainOptions, TrainRequest, check_choices


def check(request: TrainRequest) -> None:
    """Checks all that can be checked without reading the data."""
    options, settings = request.options, request.settings
    check_choices(request)
    _check_settings(settings)
    if options.source is None:
        raise ValueError("give a table or a graph folder to train on, or --config with a run that has one")
    _check_inputs(options, settings.get("network"))
    _check_encoder(options, settings)
    _check_graph(options, settings)
    if settings.get("recipe") == "strong":
        check_edges(settings)
    _check_vectors(options, settings)
    _check_validation(options, settings)
    if options.label_separator is not None and options.task not in (None, "labels"):
        raise ValueError(f"--label-separator is for several labels a row, and --task is {options.task}; leave out one")
    if not request.resume and not request.dry_run and (request.output / "config.json").is_file():
        from ngm.io.tables.output_overlap import check_folder_apart

        read = [table for table in (options.source, options.graph, options.vectors) if table is not None]
        check_folder_apart(request.output, read)
    if request.resume and request.overwrite:
        raise ValueError("both --resume and --overwrite are given; choose whether to go on with the run or replace it")
    if request.resume and request.dry_run:
        raise ValueError("--dry-run starts nothing, so --resume has nothing to go on with; leave out one of them")


def _check_settings(settings: Mapping[str, object]) -> None:
    """Refuses names that are no settings of the estimators, or that are given otherwise."""
    for name in settings:
        if name in ("folder", "resume", "overwrite", "vectors"):
            instead = {"folder": "output"}.get(name, name)
            raise ValueError(f"settings has {name!r}, which is an argument of its own here; give {instead}= instead")
        if name not in PARAMETERS:
            raise ValueError(f"settings has {name!r}{nearest(name, PARAMETERS)}; choose from {', '.join(PARAMETERS)}")


def has_teachers(settings: Mapping[str, object]) -> bool:
    """Whether the recipe, given or not, has teachers."""
    return settings.get("recipe", PARAMETERS["recipe"].default) in ("auto", "strong")


def needs_vectors(options: TrainOptions, settings: Mapping[str, object]) -> bool:
    """Whether vectors of the texts are of use to a network that reads texts: to its teachers, or to make its graph."""
    taught = settings.get("recipe") != "strong" and has_teachers(settings) and not options.no_graph
    made_here = options.graph is None and not options.no_graph and not is_graph_folder(options.source or "")
    return taught or (made_here and options.encoder is not None and options.vectors is None)


def _check_inputs(options: TrainOptions, network: object) -> None:
    given = [f"--{name}" for name in ("text", "columns", "input") if getattr(options, name) is not None]
    if len(given) > 1:
        raise ValueError(f"both {given[0]} and {given[1]} are given; choose what to learn from")
    if network in TEXT_NETWORKS and options.text is None:
        raise ValueError(f"--network {network} reads texts; give --text, or --network ffnn for numbers")
    if options.input is not None and options.no_graph:
        raise ValueError("--input is about a graph, and --no-graph is given; leave it out")
    if options.input is not None and options.graph is None and not is_graph_folder(options.source or ""):
        raise ValueError("--input learns from the graph itself; give --graph, or a graph folder in place of the table")


def _check_encoder(options: TrainOptions, settings: Mapping[str, object]) -> None:
    if options.encoder is None:
        return
    if options.text is None:
        raise ValueError("--encoder makes vectors of texts; give --text")
    if settings.get("network") in TEXT_NETWORKS and not needs_vectors(options, settings):
        raise ValueError(
            f"--encoder has nothing to do: --network {settings['network']} reads the texts themselves, no teacher is "
            "asked and no graph is made of the vectors"
        )


def _check_graph(options: TrainOptions, settings: Mapping[str, object]) -> None:
    if options.graph is not None and options.no_graph:
        raise ValueError("both --graph and --no-graph are given; choose one")
    if options.graph is not None and options.k is not None:
        raise ValueError("-k is for a graph made here, and --graph is given; leave it out")
    if is_graph_folder(options.source or ""):
        own = {"--graph": options.graph, "-k": options.k, "--header": options.header, "--delimiter": options.delimiter}
        for flag, value in own.items():
            if value is not None:
                raise ValueError(f"{flag} is for tables, and {options.source} is a graph folder; leave it out")
    of_graphs: dict[str, object] = {"-k": options.k, "--alpha": _alpha(settings), "--control": options.control or None}
    of_graphs |= {f"--{name}": settings.get(name) for name in OF_EDGES}
    for option, given in of_graphs.items():
        if given is not None and options.no_graph:
            raise ValueError(f"{option} is about a graph, and --no-graph is given; leave it out")
    if options.no_graph and settings.get("recipe") == "strong":
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


def _check_vectors(options: TrainOptions, settings: Mapping[str, object]) -> None:
    network = settings.get("network")
    if options.vectors is None:
        return
    if options.text is None:
        raise ValueError("--vectors are of words; give --text")
    made_here = options.graph is None and not options.no_graph and not is_graph_folder(options.source or "")
    taught = has_teachers(settings) and not options.no_graph and network in TEXT_NETWORKS
    if not made_here and not taught and network not in WORD_NETWORKS:
        raise ValueError(
            "--vectors has nothing to do: it is for a graph made here, for lstm and for teachers of charcnn"
        )


def _check_validation(options: TrainOptions, settings: Mapping[str, object]) -> None:
    share, noun = settings.get("validation", "auto"), options.noun
    if options.validation_column is not None and "validation" in settings:
        raise ValueError("both --validation and --validation-column are given; choose one")
    if settings.get("patience") is not None and not share:
        raise ValueError(f"--patience waits for accuracy on validation {noun}, and --validation is 0; give a share")
    if options.control and not share:
        raise ValueError(f"--control compares accuracies on validation {noun}, and --validation is 0; give a share")
    if options.seeds is not None and not options.control:
        raise ValueError("--seeds repeats the comparison of --control; give --control as well")
