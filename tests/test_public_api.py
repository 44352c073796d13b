"""The names that others rely on: there, documented, and with the signatures that were promised."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import metadata
from pathlib import Path
from types import ModuleType

import pytest

import ngm

REQUIRED = inspect.Parameter.empty

# Leading arguments in their order, with their defaults; more may follow, each with a default of its own. A change in
# these tables breaks other people's programs: it is an entry of its own in CHANGELOG.md.
SIGNATURES: dict[str, dict[str, object]] = {
    "Graph.from_edges": {"edges": REQUIRED, "weight": None, "num_nodes": None, "directed": False},
    "Graph.from_scipy": {"adjacency": REQUIRED, "directed": False},
    "Graph.from_networkx": {"graph": REQUIRED, "weight": "weight"},
    "Graph.from_pyg": {"data": REQUIRED, "directed": None},
    "Graph.open": {"folder": REQUIRED},
    "Graph.save": {"self": REQUIRED, "folder": REQUIRED},
    "knn_graph": {"x": REQUIRED, "k": 5, "metric": "cosine"},
    "EdgeLoader": {"x": REQUIRED, "y": REQUIRED, "graph": REQUIRED},
    "NGMLoss": {"regularizers": None},
    "NGMClassifier": {"hidden": (250, 100)},
    "NGMClassifier.fit": {"self": REQUIRED, "x": REQUIRED, "y": REQUIRED, "graph": None},
    "NGMClassifier.predict": {"self": REQUIRED, "x": REQUIRED},
    "NGMClassifier.predict_proba": {"self": REQUIRED, "x": REQUIRED},
    "NGMClassifier.transform": {"self": REQUIRED, "x": REQUIRED},
    "NGMClassifier.save": {"self": REQUIRED, "folder": REQUIRED},
    "NGMRegressor.fit": {"self": REQUIRED, "x": REQUIRED, "y": REQUIRED, "graph": None},
    "NGMRegressor.predict": {"self": REQUIRED, "x": REQUIRED},
    "LabelPropagation": {"mu1": 1.0, "mu2": 0.5, "mu3": 0.01},
    "LabelPropagation.fit": {"self": REQUIRED, "x": REQUIRED, "y": REQUIRED, "graph": None},
    "LabelPropagation.predict": {"self": REQUIRED, "x": REQUIRED},
    "LabelPropagation.predict_proba": {"self": REQUIRED, "x": REQUIRED},
    "SelfTraining": {"estimator": REQUIRED},
    "SelfTraining.fit": {"self": REQUIRED, "x": REQUIRED, "y": REQUIRED, "graph": None, "truth": None},
    "SelfTraining.predict": {"self": REQUIRED, "x": REQUIRED},
    "SelfTraining.predict_proba": {"self": REQUIRED, "x": REQUIRED},
    "SelfTraining.save": {"self": REQUIRED, "folder": REQUIRED},
    "CoTraining": {"estimator": REQUIRED, "propagation": None},
    "CoTraining.fit": {"self": REQUIRED, "x": REQUIRED, "y": REQUIRED, "graph": None, "truth": None},
    "CoTraining.predict": {"self": REQUIRED, "x": REQUIRED},
    "CoTraining.predict_proba": {"self": REQUIRED, "x": REQUIRED},
    "CoTraining.save": {"self": REQUIRED, "folder": REQUIRED},
    "load": {"folder": REQUIRED, "network": None},
    "without_graph": {"model": REQUIRED, "y": REQUIRED},
    "NGMClassifier.export": {"self": REQUIRED, "format": "onnx", "file": None},
    "write_report": {"folder": REQUIRED, "others": (), "output": None},
    "sparse_graph": {"x": REQUIRED, "k": 5},
    "knowledge_graph": {"triples": REQUIRED},
    "shared_graph": {"triples": REQUIRED, "k": 5},
    "text_graph": {"texts": REQUIRED, "k": 5},
    "read_graph": {"edges": REQUIRED, "nodes": None},
    "open_graph": {"folder": REQUIRED},
    "read_table": {"source": REQUIRED, "delimiter": None, "header": None},
    "partition_graph": {"folder": REQUIRED, "graph": REQUIRED, "x": REQUIRED, "y": REQUIRED, "parts": REQUIRED},
    "open_partition": {"folder": REQUIRED},
    "propagate_parts": {"partition": REQUIRED, "settings": None},
    "NGMClassifier.fit_parts": {"self": REQUIRED, "partition": REQUIRED},
    "save_graph": {"folder": REQUIRED, "graph": REQUIRED, "nodes": None},
    "diagnose": {"graph": REQUIRED, "y": REQUIRED, "x": None},
    "diagnose_parts": {"partition": REQUIRED},
}
# Arguments that are given by name; each has a default.
BY_NAME: dict[str, set[str]] = {
    "EdgeLoader": {"batch_size", "seed"},
    "NGMLoss": {"alpha_ll", "alpha_lu", "alpha_uu", "distance", "layer", "cost"},
    "Regularizer": {"alpha_ll", "alpha_lu", "alpha_uu", "distance", "layer", "influence", "negatives", "margin"},
    "NGMClassifier": {"alpha_ll", "alpha_lu", "alpha_uu", "distance", "layer", "network", "epochs", "seed"},
    "NGMRegressor": {"alpha_ll", "alpha_lu", "alpha_uu", "distance", "layer", "network", "epochs", "seed"},
    "LabelPropagation": {"mu1", "mu2", "mu3", "prior", "keep", "k", "influence", "solver", "tolerance", "max_steps"},
    "SelfTraining": {"rounds", "candidates", "teacher", "confidence", "per_round", "balance", "soft", "relabel"},
    "knn_graph": {"join", "weight", "max_degree", "search", "seed", "on_step"},
    "read_graph": {"id", "source", "target", "weight", "label", "directed", "merge", "dangling", "folder"},
    "CoTraining": {"propagation", "rounds", "temperature", "confidence", "patience"},
}
FIELDS: dict[str, set[str]] = {
    "Graph": {"num_nodes", "edges", "weight", "directed"},
    "EdgeBatch": {"nodes", "x", "y", "ends", "weight", "kind", "graph", "label_share"},
    "Cost": {"supervised", "ll", "lu", "uu", "total"},
}
SETTINGS_AS = {"NGMRegressor": "NGMClassifier"}  # whose docstring refers to that of the other
OWN_SIGNATURE = ("CollapseWarning", "EdgeKind")  # that of Python's own exceptions and enumerations
each = pytest.mark.parametrize("name", sorted({*ngm.__all__} - {"__version__"}))


def parameters(name: str) -> dict[str, inspect.Parameter]:
    thing: object = ngm
    for part in name.split("."):
        thing = getattr(thing, part)
    assert callable(thing)
    return dict(inspect.signature(thing).parameters)


def members(owner: type) -> dict[str, object]:
    """Public methods and properties that a class of ours or a base of ours defines."""
    classes = [c for c in owner.__mro__ if c.__module__.startswith("ngm.")]
    found = {name: value for c in reversed(classes) for name, value in vars(c).items() if not name.startswith("_")}
    return {name: value for name, value in found.items() if callable(value) or hasattr(value, "__get__")}


def test_public_names_are_sorted_and_there() -> None:
    assert ngm.__all__ == sorted(set(ngm.__all__))
    assert [name for name in ngm.__all__ if not hasattr(ngm, name)] == []


def test_nothing_but_public_names_and_modules_of_ours_is_on_the_package() -> None:
    public = {name: getattr(ngm, name) for name in dir(ngm)}
    modules = {n for n, value in public.items() if isinstance(value, ModuleType) and value.__name__ == f"ngm.{n}"}
    assert set(public) - modules == set(ngm.__all__)


def test_the_version_is_that_of_the_installed_package() -> None:
    assert ngm.__version__ == metadata.version("neural-graph-machines")


def test_a_name_that_is_not_there_is_said_to_be_missing() -> None:
    with pytest.raises(AttributeError, match=r"^module 'ngm' has no attribute 'NGMClasifier'$"):
        _ = ngm.NGMClasifier
    with pytest.raises(ImportError, match="NGMClasifier"):
        from ngm import NGMClasifier  # noqa: F401


def test_type_checkers_python_and_readers_are_told_the_same_names() -> None:
    tree = ast.parse(Path(ngm.__file__).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    imports = [node for node in checked.body if isinstance(node, ast.ImportFrom)]
    assert {alias.name: node.module for node in imports for alias in node.names} == ngm._HOMES
    assert {*ngm._HOMES, "__version__"} == set(ngm.__all__)


@each
def test_public_names_are_documented(name: str) -> None:
    thing = getattr(ngm, name)
    own = vars(thing).get("__doc__") if isinstance(thing, type) else thing.__doc__  # not that of a base class
    first = (own or "").split("\n")[0]
    assert len(first.split()) >= 4, f"{name} has no line that says what it does"
    assert not first.startswith(f"{name}("), f"{name} has the docstring that `dataclass` makes"


@each
def test_public_methods_are_documented(name: str) -> None:
    thing = getattr(ngm, name)
    if not isinstance(thing, type):
        return
    for member, value in members(thing).items():
        if inspect.isroutine(value) or isinstance(value, property | classmethod | staticmethod):
            assert inspect.getdoc(getattr(thing, member)), f"{name}.{member} has no docstring"


@each
def test_every_argument_is_explained(name: str) -> None:
    text = (inspect.getdoc(getattr(ngm, SETTINGS_AS.get(name, name))) or "").partition("Args:\n")[2]
    if name in OWN_SIGNATURE:
        return
    missing = [p for p in parameters(name) if not re.search(rf"(^ +{p}: |`{p}`)", text, re.MULTILINE)]
    assert missing == [], f"the docstring of {name} does not explain {', '.join(missing)}"


@pytest.mark.parametrize("name", SIGNATURES)
def test_leading_arguments_keep_their_order_and_defaults(name: str) -> None:
    found, promised = list(parameters(name).values()), SIGNATURES[name]
    if "self" in promised:
        assert found[0].name == "self"
    assert {p.name: p.default for p in found[: len(promised)]} == promised
    assert [p.name for p in found[: len(promised)]] == list(promised)
    assert all(p.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for p in found[: len(promised)])
    assert [p.name for p in found[len(promised) :] if p.default is REQUIRED] == []


def test_the_loop_takes_a_network_a_loader_and_a_loss_and_is_told_how_long() -> None:
    needed = [p for p in parameters("train").values() if p.default is REQUIRED]
    assert [p.name for p in needed] == ["network", "loader", "loss", "epochs"]
    assert needed[3].kind is inspect.Parameter.KEYWORD_ONLY


@pytest.mark.parametrize("name", BY_NAME)
def test_arguments_given_by_name_are_there_with_a_default(name: str) -> None:
    found = parameters(name)
    assert BY_NAME[name] - set(found) == set()
    assert [argument for argument in BY_NAME[name] if found[argument].default is REQUIRED] == []
    assert all(p.kind is not inspect.Parameter.VAR_KEYWORD for p in found.values())


@pytest.mark.parametrize("name", FIELDS)
def test_records_keep_their_fields(name: str) -> None:
    assert FIELDS[name] - set(parameters(name)) == set()


def test_kinds_of_edges_have_the_names_and_numbers_of_the_papers_alphas() -> None:
    assert [(kind.name, kind.value) for kind in ngm.EdgeKind] == [("LL", 0), ("LU", 1), ("UU", 2)]


def test_estimators_start_from_seed_zero() -> None:
    assert ngm.NGMClassifier().seed == ngm.NGMRegressor().seed == 0
    assert parameters("EdgeLoader")["seed"].default == 0


@each
def test_every_argument_has_a_type(name: str) -> None:
    if name not in OWN_SIGNATURE:
        assert [p.name for p in parameters(name).values() if p.annotation is REQUIRED] == []
