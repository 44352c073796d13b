"""What `ngm train` is asked to do: by the command line and, where it says nothing, by the file of `--config`."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import cast

from ngm._spelling import nearest
from ngm.cli.settings import Setting, every_setting, fields_of, settings
from ngm.cli.training.options import CallOptions
from ngm.io.files import path_exists
from ngm.parameters import renamed_settings
from ngm.workflow.options import ALPHAS, OF_EDGES, TrainOptions, TrainRequest

_KEYS = ("format", "version", "estimator", "settings", "versions", "commit", "command", "data")
_ESTIMATORS = ("NGMClassifier", "NGMRegressor")
_ALWAYS = ("network",)  # where the command's default may be another
_INPUTS = ("text", "columns", "input")
_INSTEAD: dict[str, Sequence[str]] = {  # what is given -> what of the file no longer holds
    "text": _INPUTS,
    **dict.fromkeys(("columns", "input"), (*_INPUTS, "encoder")),
    "source": ("k", "graph", "header", "delimiter"),
    "task": ("label_separator",),
    "graph": ("no_graph", "k"),
    "k": ("no_graph", "graph"),
    "no_graph": ("graph", "k", "input", "control", "seeds", *ALPHAS, *OF_EDGES),
    "validation": ("validation_column",),
    "validation_column": ("validation",),
}


def train_request(given: Mapping[str, object]) -> TrainRequest:
    """The training that is asked for, by the command line and, where it says nothing, by the file.

    Args:
        given: Every option by name; None where it was not given.
    """
    call = CallOptions(**{f.name: given[f.name] for f in fields(CallOptions)})  # type: ignore[arg-type]
    own: dict[str, object] = {f.name: given[f.name] for f in fields(TrainOptions) if given[f.name] is not None}
    known = settings()
    own_settings = {n: s.checked(given[n], s.flag) for n, s in known.items() if given[n] is not None}
    if call.alpha is not None:
        own_settings = {**dict.fromkeys(ALPHAS, call.alpha), **own_settings}
    instead = {name for option in (*own, *own_settings) for name in (option, *_INSTEAD.get(option, ()))}
    if own.get("control") is False:
        instead.add("seeds")  # of the comparison that is not wanted
    earlier, earlier_settings = ({}, {}) if call.config is None else read_config(call.config, instead)
    _check_there(earlier.get("source"))
    return TrainRequest(
        TrainOptions(**{**earlier, **own}),  # type: ignore[arg-type]
        {**earlier_settings, **own_settings},
        output=call.output,
        resume=call.resume,
        overwrite=call.overwrite,
        dry_run=call.dry_run,
        log=call.log or (),
        report=call.report,
        trusted="source" not in earlier or "source" in own,
    )


def read_config(path: Path, instead: Collection[str]) -> tuple[dict[str, object], dict[str, object]]:
    """(options of the command, settings other than the defaults) of a run.

    Args:
        path: A run folder, or its `config.json`.
        instead: What is given otherwise, and is not read.
    """
    from ngm.io.run_folder import FORMAT, VERSION

    file = path / "config.json" if path.is_dir() else path
    content = _read(file)
    _check_keys(content, _KEYS, str(file), "settings are under 'settings', the data is under 'command'")
    form, version = content.get("format", FORMAT), content.get("version", VERSION)
    if form != FORMAT or version != VERSION:
        raise ValueError(
            f"{file} says format {form!r} version {version!r}; this release reads {FORMAT!r} version {VERSION}"
        )
    estimator = content.get("estimator", "NGMClassifier")
    if estimator not in _ESTIMATORS:
        raise ValueError(f"{file} is of a {estimator}; ngm train has {' and '.join(_ESTIMATORS)}")
    options = _checked(file, "command", content.get("command"), fields_of(TrainOptions), instead)
    marked = options.get("validation_column") is not None
    found = _settings(file, content.get("settings"), {*instead, *(["validation"] if marked else [])})
    if "no_graph" in instead and found.get("recipe") == "strong":
        del found["recipe"]  # it needs a graph
    vectors = found.pop("vectors", None)
    if "command" not in content:  # a run of one's own, from Python
        options = {"vectors": vectors} if vectors is not None and "vectors" not in instead else {}
        options |= {"task": "number"} if estimator == "NGMRegressor" and "task" not in instead else {}
    return options, found


def _check_there(source: object) -> None:
    """A file that the run names may be elsewhere; patterns and queries are seen to where they are read."""
    path = Path(str(source))
    if source is None or path.is_absolute() or any(sign in str(source) for sign in " *?[:") or path_exists(path):
        return
    raise FileNotFoundError(f"{source} is not there (relative to where the run was trained; give the table as well)")


def _settings(file: Path, content: object, instead: Collection[str]) -> dict[str, object]:
    """The settings of the file that are not the defaults."""
    elsewhere, known = set(instead), every_setting()
    if isinstance(content, dict):
        content = renamed_settings(content)
    for name, value in content.items() if isinstance(content, dict) else ():
        in_python = isinstance(value, str) and value.startswith(("function ", "in memory: ", "given as "))
        if in_python and name not in elsewhere:
            flag = f"--{name.replace('_', '-')}"
            raise ValueError(f"{file}: settings.{name} was given in Python ({value}); give {flag} as well")
    if isinstance(content, dict) and "validation" in content:
        share = content.pop("validation")
        content |= {} if share == known["validation"].declared.default else {"validation": share or 0.0}
    found = _checked(file, "settings", content, known, elsewhere)
    return {n: v for n, v in found.items() if n in _ALWAYS or v != known[n].declared.default}


def _checked(
    file: Path, key: str, content: object, known: Mapping[str, Setting], instead: Collection[str]
) -> dict[str, object]:
    """The entries under a key, each as its option takes it, but for those that are given otherwise."""
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise ValueError(f"{file}: {key} is {content!r}; give an object with a value for each name")
    _check_keys(content, tuple(known), f"{file}: {key}", f"choose from {', '.join(known)}")
    read = {name: value for name, value in content.items() if name not in instead}
    return {name: known[name].checked(value, f"{file}: {key}.{name}") for name, value in read.items()}


def _check_keys(content: Mapping[str, object], known: Sequence[str], where: str, remedy: str) -> None:
    for key in content:
        if key not in known:
            raise ValueError(f"{where} has the unknown key {key!r}{nearest(key, known)}; {remedy}")


def _read(file: Path) -> dict[str, object]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise FileNotFoundError(
            f"--config is {str(file)!r}, which is not there; give a run folder, or its config.json"
        ) from None
    except ValueError as error:
        raise ValueError(f"{file} is not JSON ({error}); give a run folder, or its config.json") from None
    if not isinstance(content, dict):
        raise ValueError(f"{file} holds no object; give a run folder, or its config.json")
    return cast("dict[str, object]", content)
