from __future__ import annotations

from pathlib import Path

import pytest

from ngm.experiments.plot import FORMATS, draw
from ngm.experiments.table import ResultTable, Row

ROWS = [
    Row(method, "inductive", "accuracy", mean, 0.01, 2, None, 1.0, "pubmed", labels=labels)
    for method, mean in (("FFNN", 0.5), ("NGM (ours)", 0.7), ("Something else", 0.6))
    for labels in (3, 60)
]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_curve_is_drawn_into_a_file_of_its_ending(tmp_path: Path, ending: str) -> None:
    pytest.importorskip("matplotlib")
    draw(ResultTable("pubmed-curve", ROWS), tmp_path / f"curve{ending}")
    start = (tmp_path / f"curve{ending}").read_bytes()[:200]
    assert {".png": b"PNG", ".svg": b"<?xml", ".pdf": b"%PDF"}[ending] in start
    assert [f.name for f in tmp_path.iterdir()] == [f"curve{ending}"]


def test_the_picture_names_methods_and_counts(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    draw(ResultTable("pubmed-curve", ROWS), tmp_path / "curve.svg")
    text = (tmp_path / "curve.svg").read_text(encoding="utf-8")
    for words in ("NGM (ours)", "Something else", "labelled nodes"):
        assert words in text


def test_an_unknown_ending_is_refused(tmp_path: Path) -> None:
    words = "^cannot draw .*curve.gif: its ending is '.gif'; choose from .svg, .png, .pdf$"
    with pytest.raises(ValueError, match=words):
        draw(ResultTable("pubmed-curve", ROWS), tmp_path / "curve.gif")
