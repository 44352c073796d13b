"""The report as HTML: what is in the text, whatever browser shows it."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest

from ngm.io.run_folder import JSON
from ngm.report.page import Figure, Page, ReportTable, Section, Space
from ngm.report.render import describe_space, plotly_figure, render
from ngm.report.table_cells import format_table
from ngm.report.theme import DARK, LIGHT, plotly_template, resolve_colors
from tests.browser import NASTY, made_up_page, made_up_space


class Reader(HTMLParser):
    """Tags with their attributes, the text that is seen, and what is in the data script."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.seen: list[str] = []
        self.scripts: dict[str, str] = {}
        self._open: list[tuple[str, str | None]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self._open.append((tag, dict(attrs).get("id")))

    def handle_endtag(self, tag: str) -> None:
        if tag in ("script", "style"):
            self._open.pop()

    def handle_data(self, data: str) -> None:
        if not self._open:
            self.seen.append(data)
        elif self._open[-1][1]:
            self.scripts[str(self._open[-1][1])] = data

    @property
    def words(self) -> str:
        return " ".join("".join(self.seen).split())

    def data(self) -> dict[str, dict[str, JSON]]:
        whole: dict[str, dict[str, JSON]] = json.loads(gzip.decompress(base64.b64decode(self.scripts["data"])))
        return whole


@pytest.fixture(scope="module")
def page() -> Page:
    return made_up_page(60)


@pytest.fixture(scope="module")
def reader(page: Page) -> Reader:
    return Reader(render(page))


def one(section: Section) -> Page:
    return Page("A run", "in a line", [section])


def test_strangers_text_makes_no_tag(reader: Reader) -> None:
    assert not [tag for tag, attributes in reader.tags if tag == "img" or "onerror" in attributes]
    assert [tag for tag, _ in reader.tags].count("script") == 4  # theme, data, plotly, and what runs
    assert f"Report of {' '.join(NASTY.split())}" in reader.words
    assert "{{ 7*7 }}" in reader.words
    assert "49" not in reader.words.split()


def test_page_names_no_other_file_or_host(reader: Reader) -> None:
    addresses = [
        str(attributes[name])
        for _, attributes in reader.tags
        for name in ("src", "href", "action", "srcset")
        if name in attributes
    ]
    assert all(address.startswith(("#", "data:,")) for address in addresses)
    policy = next(a["content"] for _, a in reader.tags if a.get("http-equiv") == "Content-Security-Policy")
    assert str(policy).startswith("default-src 'none'; ")
    assert "http" not in str(policy)


def test_answers_tables_and_alternative_texts_are_plain_html(page: Page, reader: Reader) -> None:
    for section in page.sections:
        assert " ".join(section.answer.split()) in reader.words
        for figure in section.figures:
            assert figure.alt in reader.words
        for table in section.tables:
            assert table.caption in reader.words
            assert all(" ".join(str(row[0]).split()) in reader.words for row in table.rows)
        if section.space is not None:
            assert section.space.how in reader.words


def test_a_verdict_is_said_in_words() -> None:
    said = {
        verdict: Reader(render(one(Section("s", "Did it?", "Well.", verdict=verdict)))).words
        for verdict in ("good", "bad", "open")
    }
    assert "✓ Positive: Well." in said["good"]
    assert "✕ Negative: Well." in said["bad"]
    assert "? Undecided: Well." in said["open"]


def test_tables_have_a_caption_and_scopes(reader: Reader) -> None:
    scopes = [attributes.get("scope") for tag, attributes in reader.tags if tag == "th"]
    assert set(scopes) == {"col", "row"}
    tags = [tag for tag, _ in reader.tags]
    assert tags.count("table") == tags.count("caption") == 4


def test_landmarks_language_and_skip_link(reader: Reader) -> None:
    tags = [tag for tag, _ in reader.tags]
    assert [tags.count(tag) for tag in ("header", "nav", "main", "footer", "h1")] == [1, 1, 1, 1, 1]
    assert dict(reader.tags)["html"] == {"lang": "en"}
    skip = next(attributes for _, attributes in reader.tags if attributes.get("class") == "skip")
    assert skip["href"] == "#main"
    assert "main" in [attributes.get("id") for _, attributes in reader.tags]


def test_contents_list_every_section_in_order(page: Page, reader: Reader) -> None:
    links = [a["href"] for tag, a in reader.tags if tag == "a" and str(a.get("href")).startswith("#")]
    assert links == ["#main", *(f"#{section.key}" for section in page.sections)]


def test_twenty_thousand_nodes_with_long_texts_stay_under_eight_megabytes() -> None:
    space = made_up_space(20_000, 7, degree=5)
    noise = np.random.default_rng(0)
    hard = replace(space, texts=[base64.b64encode(noise.bytes(225)).decode() for _ in range(20_000)])  # 300 letters
    for each, longest in ((space, 400), (hard, 160)):
        text = render(one(Section("space", "What does it see?", "This.", space=each)))
        assert len(text.encode()) < 8_000_000
        sent = Reader(text).data()["spaces"]["space"]
        assert isinstance(sent, dict)
        assert isinstance(sent["texts"], list)
        assert max(len(str(words)) for words in sent["texts"]) <= longest


def test_texts_of_nodes_are_cut_only_as_far_as_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    space = replace(made_up_space(3), texts=["a" * 500, "b" * 100, None])
    page = one(Section("space", "What?", "This.", space=space))
    spaces = Reader(render(page)).data()["spaces"]
    assert isinstance(spaces["space"], dict)
    assert spaces["space"]["texts"] == ["a" * 399 + "…", "b" * 100, None]
    monkeypatch.setattr(import_module("ngm.report.render"), "MAX_DATA", 0)
    spaces = Reader(render(page)).data()["spaces"]
    assert isinstance(spaces["space"], dict)
    assert spaces["space"]["texts"] is None


def test_data_travel_whole(page: Page, reader: Reader) -> None:
    data = reader.data()
    least = data["tables"]["least"]
    assert isinstance(least, dict)
    assert least["rows"] == [[*row] for table in page.sections[-1].tables for row in (*table.rows, *table.more)]
    sent = data["spaces"]["space"]
    space = page.sections[4].space
    assert isinstance(sent, dict)
    assert space is not None
    assert sent["edges"] == list(space.edges)
    assert sent["x"] == pytest.approx(list(space.x), rel=1e-4)


def test_numbers_that_json_does_not_have_become_null() -> None:
    nan = float("nan")
    figure = Figure("f", "F", "alt", [{"y": [1.0, nan, float("inf")]}])
    table = ReportTable("t", "T", ["a"], [[nan]], download="t.csv")
    space = replace(made_up_space(2), probability=[None, nan])
    data = Reader(render(one(Section("s", "S", "A", figures=[figure], tables=[table], space=space)))).data()
    assert data["figures"]["f"]["data"] == [{"y": [1.0, None, None]}]  # type: ignore[call-overload,index]
    assert data["tables"]["t"]["rows"] == [[None]]  # type: ignore[call-overload,index]
    assert data["spaces"]["s"]["probability"] == [None, None]  # type: ignore[call-overload,index]


def test_names_in_plots_are_escaped_and_templates_are_not() -> None:
    trace = {"x": ["<b>a</b> & b", "b<br>c"], "hovertemplate": "<b>%{x}</b><extra></extra>"}
    layout = {"xaxis": {"ticktext": ["<i>"], "title": {"text": "a < b"}}}
    got = plotly_figure(Figure("f", "F", "alt", [trace], layout))  # type: ignore[list-item,arg-type]
    assert got["data"] == [
        {"x": ["&lt;b&gt;a&lt;/b&gt; &amp; b", "b&lt;br&gt;c"], "hovertemplate": "<b>%{x}</b><extra></extra>"}
    ]
    assert got["layout"]["xaxis"] == {"ticktext": ["&lt;i&gt;"], "title": {"text": "a &lt; b"}}  # type: ignore[call-overload,index]


def test_a_drawn_figure_wears_the_colours_of_the_page() -> None:
    figure = Figure("f", "F", "alt", [{"marker": {"color": ["var(--good)", "#123456"]}}], {"height": 200})
    for dark, colors in ((False, LIGHT), (True, DARK)):
        got = plotly_figure(figure, dark)
        assert got["data"] == [{"marker": {"color": [colors["good"], "#123456"]}}]
        assert got["layout"] == {"height": 200, "template": plotly_template(colors)}


def test_a_drawn_figure_is_one_that_plotly_takes() -> None:
    import plotly.graph_objects as go

    for figure in (figure for section in made_up_page(20).sections for figure in section.figures):
        made = go.Figure(plotly_figure(figure))
        assert made.layout.template.layout.paper_bgcolor == LIGHT["card"]


def test_a_colour_that_is_none_of_the_page_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^there is no colour 'var\(--gold\)'; the colours are page, card, ink, "):
        resolve_colors("var(--gold)", LIGHT)


def luminance(color: str) -> float:
    """Relative luminance after WCAG 2."""
    shares = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("colors", [LIGHT, DARK])
def test_text_has_a_contrast_of_at_least_four_and_a_half(colors: dict[str, str]) -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    for ground in ("page", "card", "tint", "good-tint", "bad-tint", "open-tint"):
        for ink in ("ink", "muted", "accent", "good", "bad", "open"):
            assert contrast(colors[ink], colors[ground]) >= 4.5, (ink, ground)
    for sign in ("good", "bad", "open"):
        assert contrast(colors["card"], colors[sign]) >= 4.5
    for i in range(1, 11):
        assert contrast(colors[f"series-{i}"], colors["card"]) >= 3


def test_both_themes_have_the_same_colours_and_the_style_uses_no_other() -> None:
    assert list(LIGHT) == list(DARK)
    folder = Path(__file__).parents[2] / "ngm" / "report"
    style = (folder / "page.css").read_text(encoding="utf-8")
    own = set(re.findall(r"(--[a-z0-9-]+):", style))
    assert set(re.findall(r"var\((--[a-z0-9-]+)\)", style)) - own <= {f"--{name}" for name in LIGHT}


def words(shown: ReportTable) -> list[list[str]]:
    return [[cell.text for cell in row] for row in format_table(shown)[1]]


def test_numbers_are_written_by_column() -> None:
    columns = ["whole", "parts", "floats", "small", "mixed"]
    rows = [[12_345, 0.5, 3.0, 0.00002, "text"], [7, 1.0, 2.0, 0.1, 17.5], [None, 2, float("nan"), float("inf"), True]]
    assert words(ReportTable("t", "T", columns, rows, digits=2)) == [
        ["12,345", "0.50", "3", "2.0e-05", "text"],
        ["7", "1.00", "2", "0.10", "17.5"],
        ["–", "2", "–", "∞", "yes"],
    ]


def test_columns_of_numbers_percents_and_spreads_are_sorted_by_number() -> None:
    columns = ["number", "percent", "spread", "id", "yes"]
    heads, rows = format_table(
        ReportTable(
            "t", "T", columns, [[0.25, "8.2 %", "0.81 ± 0.02", "12", True], [None, "1,000%", "−0.5 ± 0.1", "9", False]]
        )
    )
    assert [head.kind for head in heads] == ["num", "num", "num", "short", "short"]
    assert [[cell.order for cell in row] for row in rows] == [
        ["0.25", "8.2", "0.81", None, None],
        [None, "1000", "-0.5", None, None],
    ]


def test_a_column_with_long_texts_gets_room_and_one_with_short_ones_is_not_broken() -> None:
    heads, _ = format_table(ReportTable("t", "T", ["a", "b", "c", "d"], [["x" * 41, "x" * 40, "x" * 17, "x" * 16]]))
    assert [head.kind for head in heads] == ["long", "", "", "short"]


def test_the_space_in_words_counts_by_class_and_right_ones() -> None:
    space = Space(
        ids=["a", "b", "c"], texts=None, x=[0, 1, 2], y=[0, 0, 0], classes=["x", "y"], predicted=[1, 1, 0],
        label=[0, 1, -1], role=[1, 1, 2], probability=[None, 0.5, 0.9], edges=[0, 1, 1, 2], how="PCA",
    )  # fmt: skip
    assert describe_space(space) == (
        "3 nodes and 2 edges; 0 labelled, 2 for validation, 1 unlabelled. Predicted: y (2), x (1). "
        "Of the nodes for validation 1 of 2 are predicted right."
    )


def test_numbers_in_words_are_neither_right_nor_wrong() -> None:
    space = replace(made_up_space(30), kind="numbers")
    assert "Predicted: " in describe_space(space)
    assert "right" not in describe_space(space)
    assert "right" in describe_space(made_up_space(30))
    sent = Reader(render(one(Section("space", "What?", "This.", space=space)))).data()["spaces"]["space"]
    assert isinstance(sent, dict)
    assert sent["kind"] == "numbers"


def test_long_names_of_classes_are_cut_in_words() -> None:
    space = replace(made_up_space(30), classes=["x" * 3000] * len(made_up_space(30).classes))
    assert f"Predicted: {'x' * 59}… (" in describe_space(space)
    assert "x" * 61 not in describe_space(space)


def test_half_an_emoji_is_written_as_its_code() -> None:
    space = replace(made_up_space(2), ids=["\ud83d", "b"])
    text = render(one(Section("space", "What?", "Is it \ud83d?", space=space)))
    assert r"Is it \ud83d?" in text
    assert text.encode()
    sent = Reader(text).data()["spaces"]["space"]
    assert isinstance(sent, dict)
    assert sent["ids"] == ["\ud83d", "b"]


def test_the_same_page_gives_the_same_text(page: Page) -> None:
    assert render(page) == render(page)


@pytest.mark.parametrize(
    ("section", "error"),
    [
        (
            Section("s", "S", "A", verdict="fine"),
            "section 's' has the verdict 'fine'; it is good, bad, open or None",
        ),
        (
            Section("s", "S", "A", tables=[ReportTable("t", "T", ["a", "b"], [["x"]])]),
            "table 't' has 2 columns and a row of 1 cells; give one cell per column",
        ),
        (
            Section("s", "S", "A", figures=[Figure("f", "F", "", []), Figure("f", "G", "", [])]),
            "2 figures have the key 'f'; give each a different key",
        ),
        (
            Section("s", "S", "A", space=replace(made_up_space(3), role=[0])),
            "the hidden space has 3 ids and 1 entries of role; give one per node",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused(section: Section, error: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(error)}$"):
        render(one(section))


def test_a_figure_of_something_else_than_json_is_refused() -> None:
    figure = Figure("f", "F", "alt", [{"y": {1, 2}}])  # type: ignore[dict-item]
    with pytest.raises(
        TypeError, match=r"^a figure holds \{1, 2\}, which is not JSON; give numbers, texts, lists and d"
    ):
        render(one(Section("s", "S", "A", figures=[figure])))
