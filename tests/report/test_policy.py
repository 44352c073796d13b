"""What the report lets strangers' text do, and what the browser lets the report do: nothing but what it needs."""

from __future__ import annotations

import base64
import gzip
import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ngm.report.page import Figure, Page, ReportTable, Section, Space
from ngm.report.render import render
from tests.browser import click, made_up_page, needs_browser, point_at, requests, show, text, wait, written

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

ATTACKS = [
    "<img src=x onerror=\"window.hacked='img'\">",
    "</script><script>window.hacked='script'</script>",
    "<svg onload=\"window.hacked='svg'\">",
    "<a href=\"javascript:window.hacked='link'\">press</a>",
    '"><iframe srcdoc="<script>parent.hacked=\'frame\'</script>"></iframe>',
    "javascript:window.hacked='address'",
    "-->]]></style></title></textarea><script>window.hacked='ends'</script>",
    "{{ constructor.constructor(\"window.hacked='template'\")() }}${window.hacked='literal'}%{x}",
    "<style>body { background: url(https://example.invalid/seen) }</style>",
    '<base href=https://example.invalid/><meta http-equiv=refresh content="0; url=https://example.invalid/">',
]


def attacked(space: Space) -> Space:
    """The space with an attack as id, text and name of every node and class."""
    count = len(space.ids)
    return replace(
        space,
        ids=[f"{ATTACKS[i % len(ATTACKS)]} {i}" for i in range(count)],
        texts=[ATTACKS[(i + 1) % len(ATTACKS)] for i in range(count)],
        classes=[f"{ATTACKS[k]} {k}" for k in range(len(space.classes))],
        how=ATTACKS[0],
    )


def attacked_page() -> Page:
    """Every text that a stranger may have written is an attack."""
    ends = [f"{attack} {number}" for number, attack in enumerate(ATTACKS)]
    bars = {"type": "bar", "x": ends, "y": list(range(len(ends))), "name": ATTACKS[1], "text": ends}
    heat = {"type": "heatmap", "x": ends, "y": ends, "z": [[1.0] * len(ends)] * len(ends), "showscale": False}
    titles = {"xaxis": {"title": {"text": ATTACKS[0]}}, "yaxis": {"title": {"text": ATTACKS[3]}}}
    rows = [[attack, attack, number] for number, attack in enumerate(ATTACKS)]
    space = next(section.space for section in made_up_page(40).sections if section.space is not None)
    figures = [Figure("bars", ATTACKS[0], ATTACKS[1], [bars], titles), Figure("heat", "Heat", ATTACKS[2], [heat])]
    table = ReportTable("table", ATTACKS[4], [ATTACKS[0], ATTACKS[1], "number"], rows, 2, "rows.csv", rows)
    return Page(
        f"{ATTACKS[6]} {ATTACKS[1]}",
        ATTACKS[2],
        [
            Section("texts", ATTACKS[3], " ".join(ATTACKS), ATTACKS, figures=figures, tables=[table]),
            Section("space", "Space", "Nodes.", space=attacked(space)),
        ],
    )


def policy_of(document: str) -> dict[str, list[str]]:
    """The directives of the page's content security policy."""
    (content,) = re.findall(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">', document)
    return {words[0]: words[1:] for words in (part.split() for part in content.split(";"))}


def scripts_of(document: str) -> list[str]:
    """The text of every script of the page that runs, plotly's as it is when unpacked."""
    (packed,) = re.findall(r'<script type="text/plain" id="plotly">([^<]*)</script>', document)
    running = re.findall(r"<script>(.*?)</script>", document, flags=re.DOTALL)
    return [*running, gzip.decompress(base64.b64decode(packed)).decode()]


def test_the_policy_names_the_scripts_of_the_page_by_hash_and_closes_everything_else() -> None:
    document = render(made_up_page(20))
    scripts = scripts_of(document)
    hashes = [f"'sha256-{base64.b64encode(hashlib.sha256(s.encode()).digest()).decode()}'" for s in scripts]
    assert len(scripts) == 3
    assert policy_of(document) == {
        "default-src": ["'none'"],
        "script-src": [*hashes, "'unsafe-eval'"],  # plotly makes the functions of its WebGL map from text
        "script-src-attr": ["'none'"],
        "style-src": ["'unsafe-inline'"],
        "img-src": ["data:", "blob:"],
        "connect-src": ["'none'"],
        "base-uri": ["'none'"],
        "form-action": ["'none'"],
    }


def test_a_page_without_a_map_makes_no_code_from_text() -> None:
    page = made_up_page(20)
    document = render(replace(page, sections=[section for section in page.sections if section.space is None]))
    assert "'unsafe-eval'" not in document
    assert len(policy_of(document)["script-src"]) == 3


@needs_browser
def test_text_of_strangers_neither_runs_nor_breaks_the_page(
    browser: WebDriver, downloads: Path, tmp_path: Path
) -> None:
    page = attacked_page()
    file = tmp_path / "report.html"
    file.write_text(render(page), encoding="utf-8")
    requests(browser)
    browser.get_log("browser")
    show(browser, file)
    space = page.sections[1].space
    assert space is not None
    point_at(browser, 7, pressed=True)
    wait(browser, "return document.querySelector('.panel h3')")
    assert text(browser, ".panel h3") in space.ids
    browser.find_element("css selector", ".search input").send_keys("iframe")
    wait(browser, "return document.querySelectorAll('.found li').length > 0")
    click(browser, "#table-table thead th button")
    click(browser, "[data-csv=table]")
    assert "<iframe" in written(downloads, "rows.csv").read_text(encoding="utf-8-sig")
    click(browser, "#theme")
    for link in browser.find_elements("css selector", "main a, svg a"):
        browser.execute_script("arguments[0].dispatchEvent(new MouseEvent('click', {bubbles: true}))", link)
    assert browser.execute_script("return window.hacked") is None
    strange = "main img, iframe, base, main script, main style, meta[http-equiv=refresh], [onerror], [onload]"
    assert browser.execute_script("return document.querySelectorAll(arguments[0]).length", strange) == 0
    assert browser.get_log("browser") == []
    asked = [url for url in requests(browser) if not url.startswith(("data:", "blob:"))]
    assert set(asked) == {file.as_uri()}
    assert text(browser, "h1") == page.title


@needs_browser
def test_the_browser_refuses_what_the_page_would_not_do_by_itself(browser: WebDriver, tmp_path: Path) -> None:
    smuggled = (
        "<script>window.hacked = 'script'</script><img src=x onerror=\"window.hacked = 'img'\">"
        "<base href='https://example.invalid/'>"
        "<iframe srcdoc=\"<script>parent.hacked = 'frame'</script>\"></iframe>"
        "<form id=form action='https://example.invalid/'></form></main>"
    )
    file = tmp_path / "report.html"
    file.write_text(render(made_up_page(20)).replace("</main>", smuggled, 1), encoding="utf-8")
    show(browser, file)
    heard = browser.execute_async_script(
        """
        const done = arguments[0], heard = [];
        document.addEventListener("securitypolicyviolation", (e) => heard.push(e.effectiveDirective));
        const late = document.createElement("script");
        late.textContent = "window.hacked = 'late'";
        document.body.append(late);
        document.getElementById("form").submit();
        new Image().src = "https://example.invalid/seen.png";
        fetch("https://example.invalid/").catch(() => setTimeout(() => done(heard), 200));
        """
    )
    assert {"script-src-elem", "connect-src", "form-action", "img-src"} <= set(heard)
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.baseURI") == file.as_uri()
