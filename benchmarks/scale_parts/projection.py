"""From measured constants to a graph that nobody here has: what a billion nodes and 100 billion edges would take.

Nothing below is measured at that size. Each figure is a constant of the benchmark times a count; the counts and the
machine are assumptions, which the page names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil
from typing import Any

GIB = 2**30


@dataclass(frozen=True)
class Target:
    """The graph, and the machines to train on it.

    Args:
        nodes: Nodes.
        edges: Edges.
        width: Columns of x, float32.
        classes: Columns of what is propagated.
        cores: Of a machine; each runs a process of one thread.
        memory_gib: Of a machine.
        network_gbit: Of a machine, both ways at once.
        batch_size: Edges in a batch, over all processes.
    """

    nodes: float = 1e9
    edges: float = 1e11
    width: int = 64
    classes: int = 10
    cores: int = 64
    memory_gib: float = 512.0
    network_gbit: float = 25.0
    batch_size: float = 1e8


@dataclass(frozen=True)
class Projection:
    """What it would take.

    Args:
        disk_gib: All parts together.
        memory_gib: Of all processes together, beside mapped rows.
        machines: So many hold it.
        hours: An epoch on that many.
        steps: In an epoch.
        gradient_seconds: An epoch's gradients on the network.
        border_gib: Rows that a step of propagation sends in all.
        border_seconds: The same on the network.
        edges_per_second: Of all machines in training.
    """

    disk_gib: float
    memory_gib: float
    machines: int
    hours: float
    steps: float
    gradient_seconds: float
    border_gib: float
    border_seconds: float
    edges_per_second: float


def project(constants: Mapping[str, Any], target: Target | None = None) -> Projection:
    """What the target would take.

    Args:
        constants: `disk_bytes_an_edge`, `bytes_an_edge`, `bytes_a_node` (of own and border nodes), `process_bytes`,
            `border_share` (border rows over nodes), `seconds_an_edge` of a process, `gradient_bytes`.
        target: The graph and the machines.
    """
    t = target or Target()
    rows = t.nodes * (1 + constants["border_share"])
    disk = constants["disk_bytes_an_edge"] * t.edges + rows * (4 * t.width + 17)
    data = constants["bytes_an_edge"] * t.edges + constants["bytes_a_node"] * rows
    machines = max(ceil(data / (t.memory_gib * GIB - t.cores * constants["process_bytes"])), 1)
    memory = data + machines * t.cores * constants["process_bytes"]
    seconds = constants["seconds_an_edge"] * t.edges / (machines * t.cores)
    steps = t.edges / t.batch_size
    bytes_per_second = t.network_gbit * 1e9 / 8
    border = 2 * constants["border_share"] * t.nodes * 4 * t.classes  # a row comes, and its sum goes back
    return Projection(
        disk_gib=disk / GIB,
        memory_gib=memory / GIB,
        machines=machines,
        hours=seconds / 3600,
        steps=steps,
        gradient_seconds=steps * 2 * constants["gradient_bytes"] / bytes_per_second,  # a ring passes each machine once
        border_gib=border / GIB,
        border_seconds=border / machines / bytes_per_second,
        edges_per_second=t.edges / seconds,
    )
