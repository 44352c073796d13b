"""The report in headless Chromium: opened from disk, and used with mouse and keyboard."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from ngm.report.page import Page, Space
from ngm.report.render import render
from tests.browser import (
    NASTY,
    alone,
    as_opened,
    click,
    column,
    finger,
    groups,
    made_up_page,
    needs_browser,
    neighbours,
    opened,
    point_at,
    press,
    requests,
    show,
    shown,
    text,
    wait,
    where,
    written,
)

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

pytestmark = needs_browser


@pytest.fixture(scope="module")
def page() -> Page:
    return made_up_page(300)


@pytest.fixture(scope="module")
def space(page: Page) -> Space:
    return next(section.space for section in page.sections if section.space is not None)


@pytest.fixture(scope="module")
def file(page: Page, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("page") / "report.html"
    file.write_text(render(page), encoding="utf-8")
    return file


@pytest.fixture
def wide(browser: WebDriver, file: Path) -> WebDriver:
    return as_opened(browser, file)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [390, 1600])
def test_page_opens_from_disk_without_a_word_on_the_console_or_a_request(
    browser: WebDriver, file: Path, width: int, dark: bool
) -> None:
    requests(browser)
    browser.get_log("browser")
    show(browser, file, width, dark=dark)
    assert browser.get_log("browser") == []
    asked = [url for url in requests(browser) if not url.startswith("data:")]
    assert set(asked) == {file.as_uri()}
    assert browser.execute_script("return window.hacked") is None
    assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    ground = browser.execute_script("return getComputedStyle(document.body).backgroundColor")
    assert ground == ("rgb(18, 22, 29)" if dark else "rgb(246, 245, 241)")
    plots = browser.execute_script(
        "return [...document.querySelectorAll('.plot')].map((p) => p._fullLayout.paper_bgcolor)"
    )
    assert set(plots) == {"#1a202a" if dark else "#ffffff"}
    drawn = browser.execute_script(
        "return [...document.querySelectorAll('.plot, .map')].map((p) => p.getBoundingClientRect())"
    )
    assert all(box["width"] <= width and box["height"] > 200 for box in drawn)


def test_names_that_look_like_html_are_shown_as_they_are_written(wide: WebDriver) -> None:
    assert text(wide, "h1") == f"Report of {NASTY}"
    assert wide.execute_script("return document.querySelectorAll('main img').length") == 0
    ticks = wide.execute_script(
        "return [...document.querySelectorAll('[data-plot=confusion] .ytick text')].map((t) => t.textContent)"
    )
    assert NASTY in ticks


def test_hovering_shows_text_prediction_and_neighbours_and_draws_the_edges(wide: WebDriver, space: Space) -> None:
    node = alone(space)
    near = neighbours(space, node)
    point_at(wide, node)
    wait(wide, "return !document.querySelector('.tip').hidden")
    said = text(wide, ".tip")
    assert said.startswith(space.ids[node])
    assert space.texts is not None
    assert str(space.texts[node])[:60] in said
    assert f"Predicted: {space.classes[space.predicted[node]]} ({space.probability[node]:.2f})" in said
    assert f"Neighbours: {', '.join(space.ids[i] for i in near[:8])}" in said
    assert wide.execute_script("return document.querySelectorAll('.over line').length") == len(near)


def test_clicking_a_node_pins_it_and_its_neighbours_can_be_walked(wide: WebDriver, space: Space) -> None:
    node = alone(space)
    near = neighbours(space, node)
    point_at(wide, node, pressed=True)
    wait(wide, "return document.querySelector('.panel h3')")
    assert text(wide, ".panel h3") == space.ids[node]
    assert text(wide, ".panel h4") == f"Neighbours ({len(near)})"
    click(wide, ".panel li button")
    assert text(wide, ".panel h3") == space.ids[near[0]]


def test_searching_by_text_suggests_and_enter_centres_marks_and_says_the_node(wide: WebDriver, space: Space) -> None:
    box = wide.find_element("css selector", ".search input")
    box.send_keys("m00042")
    wait(wide, "return document.querySelectorAll('.found li').length === 1")
    assert box.get_attribute("aria-expanded") == "true"
    press(wide, "\ue007")
    wait(wide, "return document.querySelector('.panel h3')?.textContent === 'm00042'")
    assert text(wide, "[data-part=live]").startswith(f"Node m00042. {space.texts[42] if space.texts else ''}")
    middle = wide.execute_script(
        "const {xaxis, yaxis} = document.querySelector('.map')._fullLayout;"
        "return [xaxis, yaxis].map((a) => (a.range[0] + a.range[1]) / 2)"
    )
    assert middle == pytest.approx([space.x[42], space.y[42]], abs=1e-3)
    ring = wide.execute_script(
        "const c = [...document.querySelectorAll('.over circle')].pop(); return c.getAttribute('cx')"
    )
    assert float(ring) == pytest.approx(
        wide.execute_script("return document.querySelector('.map').clientWidth") / 2, abs=2
    )


def test_search_prefers_the_id_itself_and_finds_words_of_texts(wide: WebDriver, space: Space) -> None:
    box = wide.find_element("css selector", ".search input")
    box.send_keys("onerror")
    wait(wide, "return document.querySelectorAll('.found li').length === 1")
    assert text(wide, ".found li").startswith(NASTY)
    box.clear()
    words = str(space.texts[7] if space.texts else "")[:25].upper()
    box.send_keys(words)
    wait(wide, "return document.querySelectorAll('.found li').length > 0")
    found = wide.execute_script("return [...document.querySelectorAll('.found li')].map((li) => li.firstChild.data)")
    assert space.ids[7] in found
    box.clear()
    box.send_keys("nothing like it")
    assert text(wide, "[data-part=live]") == "No node has that in its id or text."


def test_colours_switch_and_the_legend_counts_and_hides_groups(wide: WebDriver, space: Space) -> None:
    names = [space.classes[k] for k in space.predicted]
    assert groups(wide) == {name: names.count(name) for name in space.classes}
    click(wide, "input[value=right]")
    wait(wide, "return document.querySelector('.legend button').dataset.group === 'Not known'")
    known = [(y, p) for y, p in zip(space.label, space.predicted, strict=True) if y >= 0]
    right = sum(y == p for y, p in known)
    assert groups(wide) == {"Not known": 300 - len(known), "Right": right, "Wrong": len(known) - right}
    colors = wide.execute_script("return document.querySelector('.map').data.slice(1).map((t) => t.marker.color)")
    symbols = wide.execute_script("return document.querySelector('.map').data.slice(1).map((t) => t.marker.symbol)")
    assert len(set(colors)) == 3
    assert symbols == ["circle", "circle", "x"]
    click(wide, "[data-group=Wrong]")
    wait(wide, "return document.querySelector('.map').data[3].visible === false")
    assert wide.execute_script("return document.querySelector('[data-group=Wrong]').ariaPressed") == "false"


def test_edges_can_be_switched_off(wide: WebDriver, space: Space) -> None:
    ends = "return document.querySelector('.map').data[0].x.length"
    assert wide.execute_script(ends) == len(space.edges) // 2 * 3
    click(wide, "[data-part=edges]")
    wait(wide, "return document.querySelector('.map').data[0].visible === false")


def test_a_table_sorts_by_the_heading_pressed(wide: WebDriver) -> None:
    before = column(wide, "scores", 4)
    head = wide.find_element("css selector", "#table-scores thead th:nth-child(4) button")
    wide.execute_script("arguments[0].focus()", head)
    press(wide, "\ue007")
    assert column(wide, "scores", 4) == sorted(before, key=float, reverse=True)
    assert wide.execute_script("return arguments[0].parentElement.ariaSort", head) == "descending"
    press(wide, "\ue007")
    assert column(wide, "scores", 4) == sorted(before, key=float)
    click(wide, "#table-scores thead th:nth-child(1) button")
    assert wide.execute_script("return arguments[0].parentElement.ariaSort", head) is None
    assert column(wide, "scores", 1)[0] == NASTY


def test_a_long_table_unfolds(wide: WebDriver) -> None:
    shown = "return [...document.querySelectorAll('#table-least tbody tr')].filter((r) => r.offsetHeight).length"
    assert wide.execute_script(shown) == 12
    click(wide, "#table-least [data-fold]")
    assert wide.execute_script(shown) == 30


def test_a_table_is_downloaded_whole_and_harmless(wide: WebDriver, downloads: Path, page: Page) -> None:
    shown = page.sections[-1].tables[0]
    click(wide, "[data-csv=least]")
    content = written(downloads, "label-next.csv").read_text(encoding="utf-8-sig")
    rows = list(csv.reader(io.StringIO(content, newline="")))
    assert rows[0] == list(shown.columns)
    assert len(rows) == 1 + 30 + 2
    assert rows[1] == ["m00000", "what is the fee " * 5, "class a", "0.4"]
    assert rows[31] == ["'=1+2", 'a "quoted", text', "-3.5", "-1.5"]
    assert rows[32] == [NASTY, "zwei\nZeilen ü", "", "0.5"]


@pytest.mark.parametrize("ending", ["png", "svg"])
def test_a_plot_is_downloaded_as_a_picture(wide: WebDriver, downloads: Path, ending: str) -> None:
    click(wide, f"[data-figure=gain][data-save={ending}]")
    content = written(downloads, f"gain.{ending}").read_bytes()
    assert content.startswith(b"\x89PNG" if ending == "png" else b"<svg")


def test_the_theme_switch_changes_page_and_plots_and_is_kept(wide: WebDriver, file: Path) -> None:
    click(wide, "#theme")
    paper = "return document.querySelector('[data-plot=gain]')._fullLayout.paper_bgcolor"
    assert wide.execute_script(paper) == "#1a202a"
    bars = "return document.querySelector('[data-plot=gain]').data[0].marker.color"
    assert wide.execute_script(bars) == ["#86b6ff", "#a4aebc"]
    show(wide, file)
    assert wide.execute_script("return document.querySelector('#theme').ariaPressed") == "true"
    click(wide, "#theme")
    assert wide.execute_script(paper) == "#ffffff"
    wide.execute_script("localStorage.clear(); delete document.documentElement.dataset.theme")


def test_tab_reaches_search_colours_map_and_buttons_in_order(wide: WebDriver) -> None:
    wide.execute_script("getSelection().removeAllRanges(); document.querySelector('.skip').focus()")
    told = (
        "const e = document.activeElement; return e.id || e.dataset.save || e.dataset.csv || e.value || e.dataset.do"
        " || e.hash || e.classList[0] || e.textContent"
    )
    seen = []
    while len(seen) < 90 and "least" not in seen:
        press(wide, "\ue004")
        seen.append(wide.execute_script(told))
    wanted = ["theme", "#help", "png", "find-space", "predicted", "map", "in", "least"]
    places = [seen.index(name) for name in wanted]
    assert places == sorted(places)


def test_arrow_keys_move_and_plus_zooms_the_map(wide: WebDriver) -> None:
    ranges = "const l = document.querySelector('.map')._fullLayout; return [...l.xaxis.range, ...l.yaxis.range]"
    x0, x1, y0, y1 = wide.execute_script(ranges)
    wide.execute_script("document.querySelector('.map').focus()")
    press(wide, "\ue014")
    step = 0.12 * (x1 - x0)
    assert wide.execute_script(ranges) == pytest.approx([x0 + step, x1 + step, y0, y1])
    press(wide, "+")
    a, b, _, _ = wide.execute_script(ranges)
    assert b - a == pytest.approx((x1 - x0) / 1.6)
    press(wide, "0")
    assert wide.execute_script(ranges) == pytest.approx([x0, x1, y0, y1])


def test_everything_has_a_name_and_headings_are_in_order(wide: WebDriver) -> None:
    problems = wide.execute_script(
        """
        const out = [];
        const others = (e, name) => (e.getAttribute(name) ?? "").split(/\\s+/).map((id) => document.getElementById(id));
        const told = (e) => Boolean(e?.textContent.trim());
        const named = (e) => Boolean(e.ariaLabel?.trim()) || others(e, "aria-labelledby").some(told)
          || (e.matches("button, a[href]") && told(e)) || [...(e.labels || [])].some(told);
        const all = "button, a[href], input, figure, nav, section, [role=img], [role=region], [role=application],"
          + "[role=group], [role=listbox]";
        for (const e of document.querySelectorAll(all)) if (!named(e)) out.push("no name: " + e.outerHTML.slice(0, 80));
        for (const e of document.querySelectorAll("img:not([alt])")) out.push("no alt: " + e.outerHTML.slice(0, 80));
        let last = 0;
        for (const h of document.querySelectorAll("h1, h2, h3, h4")) {
          const level = Number(h.tagName[1]);
          if (level > last + 1) out.push(`h${level} after h${last}: ${h.textContent}`);
          last = level;
        }
        const ids = [...document.querySelectorAll("main [id], nav [id]")].map((e) => e.id);
        for (const id of ids) if (ids.filter((other) => other === id).length > 1) out.push("twice: " + id);
        for (const e of document.querySelectorAll("[aria-labelledby], [aria-describedby], [aria-controls]"))
          for (const name of ["aria-labelledby", "aria-describedby", "aria-controls"])
            if (e.hasAttribute(name) && others(e, name).includes(null)) out.push("points nowhere: " + name);
        for (const tag of ["h1", "main", "header", "footer", "nav", "title"])
          if (document.querySelectorAll(tag).length !== 1) out.push("not one " + tag);
        if (!document.documentElement.lang) out.push("lang");
        return out;
        """
    )
    assert problems == []


def test_a_finger_scrolls_the_page_taps_a_node_and_drags_the_map_when_asked(
    browser: WebDriver, file: Path, space: Space
) -> None:
    browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
    try:
        show(browser, file, 390, 844)
        node = alone(space)
        for seconds in (3, 5, 30):  # a tap is lost while the page still scrolls to the map
            finger(browser, where(browser, node))
            if shown(browser, "return document.querySelector('.panel h3')", seconds):
                break
        assert text(browser, ".panel h3") == space.ids[node]
        assert browser.execute_script("return document.documentElement.scrollWidth") == 390
        x, y = where(browser, node)
        up = [(x, y - 10 * step) for step in range(12)]
        ranges = "return document.querySelector('.map')._fullLayout.yaxis.range"
        before, top = browser.execute_script(ranges), browser.execute_script("return scrollY")
        browser.execute_script(
            "document.querySelector('.map .nsewdrag').addEventListener('touchstart', () => { window.told = true; })"
        )
        finger(browser, *up)
        wait(browser, f"return scrollY > {top} + 50")
        assert browser.execute_script(ranges) == before
        assert browser.execute_script("return window.told") is None  # plotly would take it for a tap
        wait(browser, "const last = window.last; window.last = scrollY; return last === scrollY")  # it has come to rest
        where(browser, node)
        click(browser, "[data-do=drag]")
        finger(browser, *up)
        wait(browser, f"return document.querySelector('.map')._fullLayout.yaxis.range[0] < {before[0]}")
        assert browser.execute_script("return window.told")
    finally:
        browser.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": False})


def test_a_browser_that_cannot_unpack_says_so_and_keeps_the_rest(browser: WebDriver, file: Path) -> None:
    gone = {"source": "delete window.DecompressionStream"}
    old = browser.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", gone)
    try:
        browser.get(file.as_uri())
        wait(browser, "return !document.getElementById('notice').hidden")
        said = browser.find_element("css selector", "main").text
    finally:
        browser.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", old)
    assert said.startswith("This browser is too old to draw the plots of this page.")
    assert "Most are on the diagonal." in said
    assert "Download CSV" not in said


def test_paper_is_light_and_as_wide_as_a_page(browser: WebDriver, file: Path) -> None:
    show(browser, file, dark=True)
    browser.execute_script("dispatchEvent(new Event('beforeprint'))")
    look = "const p = document.querySelector('.plot')._fullLayout; return [p.paper_bgcolor, p.width]"
    paper, width = browser.execute_script(look)
    assert paper == "#ffffff"
    assert 500 < width < 704  # 44 rem, less margins
    browser.execute_script("dispatchEvent(new Event('afterprint'))")
    paper, width = browser.execute_script(look)
    assert paper == "#1a202a"
    assert width > 900


def test_without_javascript_the_answers_tables_and_plots_in_words_are_there(browser: WebDriver, file: Path) -> None:
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        browser.get(file.as_uri())
        said = browser.find_element("css selector", "main").text
    finally:
        browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    assert "Yes: with the graph the network is right on 81.2 %" in said
    assert "Most are on the diagonal." in said
    assert "300 nodes and " in said
    assert "m00029" in said  # a row that scripts would fold away
    assert "Download CSV" not in said


def test_without_webgl_a_sample_is_drawn_and_says_so(tmp_path: Path) -> None:
    file = tmp_path / "report.html"
    page = made_up_page(3500)
    file.write_text(render(page), encoding="utf-8")
    with opened(tmp_path, webgl=False) as driver:
        show(driver, file)
        kinds = driver.execute_script("return document.querySelector('.map').data.map((t) => t.type)")
        assert set(kinds) == {"scatter"}
        assert "This browser has no WebGL: " in text(driver, ".space figcaption")
        box = driver.find_element("css selector", ".search input")
        box.send_keys("m03499\ue007")
        wait(driver, "return document.querySelector('.panel h3')?.textContent === 'm03499'")
        assert driver.execute_script(
            "return document.querySelector('.map').data.some((t) => (t.customdata || []).includes(3499))"
        )
