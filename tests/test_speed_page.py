"""The table of ratios: what is read from results, what meets its target, and the page that is made from it."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "benchmarks"))

import table
from speed_parts import goals, page

MACHINE = {"processor": "x86", "cores": 2, "threads": 2}


def contender(rate: int) -> dict[str, Any]:
    return {
        "edges_per_second": rate,
        "seconds": 1000 / rate,
        "spread": 0.05,
        "network_runs": 10,
        "settings": "K = 5",
    }


RESULTS: dict[str, Any] = {
    "epoch-peers": {
        "ratios": {"PubMed, ngm / NSL": 12.0, "PubMed, ngm / NSL, packed in its favour": 4.0, "PubMed, ngm / PyG": 2.5},
        "rows": {"PubMed": {"contenders": {"ngm": contender(1200), "NSL": contender(100), "PyG": contender(480)}}},
        "machine": MACHINE,
        "versions": {"torch": "2.13"},
        "command": "python benchmarks/epoch_peers.py --keep",
    },
    "time-to-accuracy": {
        "ratios": {"0.70, fastest peer / ours": 2.0, "0.80, fastest peer / ours": 0.0},
        "seconds": {"ngm, default, 0.70": 1.0, "PyG GCN, 0.70": 2.0, "PyG GCN, 0.80": 3.0},
        "curves": {"ngm, default": {"0": [[1.0, 0.71], [2.0, 0.70]]}, "PyG GCN": {"0": [[2.0, 0.7], [3.0, 0.81]]}},
    },
    "knn": {
        "ratios": {"50,000 rows, fastest peer / knn_graph": 1.2, "50,000 rows, exact / faiss flat": 0.53},
        "recall": 0.98,
        "lines": [
            {
                "rows": 50_000,
                "library": "ngm knn_graph",
                "seconds": 2.0,
                "recall": 1.0,
                "peak_mib": 600.0,
                "build": {"recall": 0.98},
                "search": {},
                "spread": 0.1,
            },
            {"rows": 50_000, "library": "usearch", "failed": "not within 6 minutes"},
        ],
    },
    "training-memory": {
        "rows": {
            size: {
                kind: {
                    "nodes": int(size),
                    "edges": 9 * int(size),
                    "bytes_an_edge": 30.0,
                    "anonymous_gib": gib,
                    "resident_gib": 1.0,
                    "seconds_an_epoch": 1.0,
                }
                for kind in ("in memory", "memory-mapped")
            }
            for size, gib in (("200000", 1.0), ("2000000", 1.5))
        }
    },
}


def lines() -> dict[str, goals.Line]:
    return {line.work: line for line in goals.lines_of(RESULTS)}


@pytest.mark.parametrize(
    ("work", "outcome"),
    [
        ("edges/s, ngm / NSL, PubMed", "met"),
        ("edges/s, ngm / NSL, BlogCatalog", "not measured"),
        ("edges/s, ngm / NSL packed in its favour, PubMed", ""),
        ("edges/s, ngm / PyG link loader, PubMed", "not met"),
        ("seconds to validation accuracy, PubMed, fastest peer / ngm, 0.80", "not met"),
        ("kNN graph, fastest peer / ngm, 50,000 rows", "met"),
        ("exact neighbours, ngm / faiss flat, 50,000 rows", "not met"),
        ("training, rows in memory, nodes, 2,000,000", "met"),
        ("training, memory-mapped, memory of, 2,000,000 against 200,000 nodes", "not met"),
        ("prediction / bare module", "not measured"),
    ],
)
def test_a_line_says_whether_its_target_is_met(work: str, outcome: str) -> None:
    assert lines()[work].outcome == outcome


def test_a_result_of_another_form_is_not_measured() -> None:
    old = {"ingest": {"ratios": {}, "seconds": {"ours": 28.0}}, "knn": {"lines": []}}
    found = [line for line in goals.lines_of(old) if "ingest" in line.command or "knn" in line.command]
    assert found
    assert {line.outcome for line in found} == {"not measured"}


def test_a_goal_that_is_reached_exactly_is_met() -> None:
    goal = goals.Goal("work", "some", goals.ratios(".*"), "python some.py", "most", 1.5)
    for value, met in ((1.5, True), (1.501, False)):
        assert [line.met for line in goals.lines_of({"some": {"ratios": {"a": value}}}, [goal])] == [met]


def test_every_command_is_a_script_of_the_benchmarks_or_of_a_row_without_result() -> None:
    root = Path(__file__).parent.parent
    kept = goals.read_results()
    for goal in goals.GOALS:
        assert goal.file not in kept or (root / goal.command.split()[1]).is_file(), goal.command


def test_the_page_shows_every_figure_and_where_it_comes_from() -> None:
    text = page.markdown(RESULTS)
    assert "| edges/s, ngm / NSL, PubMed | 12 | at least 10 | met |" in text
    assert "| PubMed | ngm | 1,200 | 0.833 | 5% | 10 | K = 5 |" in text
    assert "| .80 | never | **3** |" in text
    assert "| .70 | **1** | 2 |" in text
    assert "| 50,000 | ngm knn_graph | 2 | 10% | 1.000 | 600 | recall 0.98 |" in text
    assert "| 50,000 | usearch | not within 6 minutes |" in text
    assert "`python benchmarks/epoch_peers.py --keep` (x86, 2 cores, 2 threads; torch 2.13)" in text
    assert page.pictured(RESULTS) == ["epoch-peers", "time-to-accuracy"]  # there is one size of neighbours
    larger = {**RESULTS["knn"]["lines"][0], "rows": 500_000}
    both = RESULTS | {"knn": RESULTS["knn"] | {"lines": [*RESULTS["knn"]["lines"], larger]}}
    assert page.pictured(both) == list(page.PICTURES)


def test_the_page_is_made_from_the_kept_results() -> None:
    results, text = goals.read_results(), table.PAGE.read_text(encoding="utf-8")
    assert page.with_block(text, page.markdown(results)) == text, "run: python benchmarks/table.py --page"
    drawn = {name for name, (file, _) in page.PICTURES.items() if (table.IMAGES / file).exists()}
    assert drawn == set(page.pictured(results)), "run: python benchmarks/table.py --page"
    with pytest.raises(ValueError, match="the page has no lines"):
        page.with_block("no markers", "")


def test_every_plot_is_drawn(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from speed_parts.pictures import draw

    for name, (file, _) in page.PICTURES.items():
        draw(name, RESULTS[name], tmp_path / file)
        assert (tmp_path / file).read_text(encoding="utf-8").count('id="axes_') == 1
