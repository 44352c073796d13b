"""What a graph of a billion nodes would take follows from measured constants; the page is made from the kept result."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

from scale_parts.page import BEGIN, END, markdown, with_block
from scale_parts.projection import GIB, Target, project

CONSTANTS: dict[str, Any] = {
    "disk_bytes_an_edge": 20.0,
    "bytes_an_edge": 32.0,
    "bytes_a_node": 100.0,
    "process_bytes": 2.0**26,
    "border_share": 0.5,
    "seconds_an_edge": 1e-6,
    "gradient_bytes": 1e6,
    "partition_bytes_an_edge": 40.0,
}


def test_every_figure_is_a_constant_times_a_count() -> None:
    target = Target(nodes=1e6, edges=1e8, width=64, classes=10, cores=4, memory_gib=1.0, batch_size=1e6)
    found = project(CONSTANTS, target)
    rows = 1.5e6  # own and border
    assert found.machines == 5  # 3.1 GiB, where four processes leave 3/4 GiB of a machine
    assert found.memory_gib == pytest.approx((32e8 + 100 * rows) / GIB + 5 * 4 / 16)
    assert found.disk_gib == pytest.approx((20e8 + rows * (256 + 17)) / GIB)
    assert found.hours == pytest.approx(100 / (5 * 4) / 3600)  # 100 s of work on 20 processes
    assert found.edges_per_second == pytest.approx(20e6)
    assert found.steps == 100
    assert found.gradient_seconds == pytest.approx(100 * 2e6 / (25e9 / 8))
    assert found.border_gib == pytest.approx(2 * 0.5e6 * 40 / GIB)
    assert found.border_seconds == pytest.approx(2 * 0.5e6 * 40 / 5 / (25e9 / 8))


def test_the_page_has_the_figures_of_the_result() -> None:
    rank = {"own": 500, "border": 60, "edges": 4000}
    row = {**CONSTANTS, "ranks": [rank, rank], "exchanged_bytes": 2048.0, "gradient_bytes": 4096.0}
    cut = {"parts": 8, "cut": 0.25, "border_share": 0.4, "balance": 1.05}
    result = {"rows": {"2": row}, "cuts": {"PubMed": {"streaming": [cut]}}, "constants": CONSTANTS, "command": "c"}
    page = with_block(f"before\n{BEGIN}\nold\n{END}\nafter", markdown(result))
    assert "old" not in page
    assert "| 2 | 1,000 | 8,000 | 50 | 32 | 100 | 64 | 1 | 4 | 2 |" in page
    assert "| PubMed | 8 | streaming | 25 | 0.4 | 1.05 |" in page
    assert (page[:6], page[-5:]) == ("before", "after")
    with pytest.raises(ValueError, match="has no lines"):
        with_block("nothing", "")
