"""A headless Chromium, and a report page of made-up content to look at in it."""

from __future__ import annotations

import base64
import json
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from ngm.report.page import Figure, Page, ReportTable, Section, Space

if TYPE_CHECKING:
    from selenium.webdriver.chrome.webdriver import WebDriver

NASTY = "</script><img src=x onerror=\"window.hacked=1\"> & <b>bold</b> 'q' {{ 7*7 }}"
_WORDS = "card transfer rate refund balance top up cash abroad fee pending lost new pin limit account identity"


def why_not() -> str | None:
    """Why no browser can be driven here; None if one can."""
    try:
        import selenium  # noqa: F401
    except ImportError:
        return "selenium is not installed"
    for name in ("chromium", "chromedriver"):
        if shutil.which(name) is None:
            return f"{name} is not installed"
    return None


needs_browser = pytest.mark.skipif(why_not() is not None, reason=f"no browser: {why_not()}")


@contextmanager
def opened(downloads: Path, webgl: bool = True) -> Iterator[WebDriver]:
    """A browser that logs its console and its requests and saves files into `downloads`; closed at the end."""
    from selenium.webdriver import Chrome, ChromeOptions
    from selenium.webdriver.chrome.service import Service

    options = ChromeOptions()
    options.binary_location = str(shutil.which("chromium"))
    for word in ("headless=new", "no-sandbox", "disable-dev-shm-usage", "force-device-scale-factor=1"):
        options.add_argument(f"--{word}")
    if webgl:
        options.add_argument("--use-angle=swiftshader")
        options.add_argument("--enable-unsafe-swiftshader")
    else:
        options.add_argument("--disable-gpu")
        options.add_argument("--disable-3d-apis")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    several = "profile.default_content_setting_values.automatic_downloads"  # files in a row, without being asked
    options.add_experimental_option("prefs", {"download.default_directory": str(downloads), several: 1})
    driver = Chrome(options=options, service=Service(shutil.which("chromedriver")))
    try:
        yield driver
    finally:
        driver.quit()


def show(driver: WebDriver, file: Path, width: int = 1600, height: int = 1000, dark: bool = False) -> None:
    """Opens a file in a window of that size, and waits until its plots are drawn."""
    driver.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500},
    )
    scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
    driver.get(file.as_uri())
    wait(driver, "return document.documentElement.dataset.ready === 'true'")


def wait(driver: WebDriver, script: str, seconds: float = 30) -> object:
    """What a script returns, as soon as that is true; fails with the console's words if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := driver.execute_script(script):
            return value
        time.sleep(0.05)
    raise AssertionError(f"never true: {script}; console: {driver.get_log('browser')}")


def requests(driver: WebDriver) -> list[str]:
    """Addresses that were asked for since the last call."""
    messages = [json.loads(entry["message"])["message"] for entry in driver.get_log("performance")]
    return [
        message["params"]["request"]["url"] for message in messages if message["method"] == "Network.requestWillBeSent"
    ]


def screenshots(driver: WebDriver, file: Path, height: int = 1500) -> list[Path]:
    """The whole page as pictures of that height each: name-0.png, name-1.png, ... for name.png."""
    size = driver.execute_cdp_cmd("Page.getLayoutMetrics", {})["cssContentSize"]
    files = []
    for number, top in enumerate(range(0, size["height"], height)):
        clip = {"x": 0, "y": top, "width": size["width"], "height": min(height, size["height"] - top), "scale": 1}
        shot = driver.execute_cdp_cmd("Page.captureScreenshot", {"clip": clip, "captureBeyondViewport": True})
        files.append(file.with_stem(f"{file.stem}-{number}"))
        files[-1].write_bytes(base64.b64decode(shot["data"]))
    return files


def text(driver: WebDriver, selector: str) -> str:
    """What an element says."""
    return str(driver.execute_script("return document.querySelector(arguments[0]).textContent", selector))


def press(driver: WebDriver, *keys: str) -> None:
    """Types on the keyboard, into what has the focus."""
    from selenium.webdriver import ActionChains

    ActionChains(driver).send_keys(*keys).perform()


def click(driver: WebDriver, selector: str) -> None:
    """Clicks an element, wherever it is on the page."""
    driver.execute_script("document.querySelector(arguments[0]).click()", selector)


def where(driver: WebDriver, node: int) -> tuple[float, float]:
    """Where on the screen a node is drawn; the map is scrolled into view."""
    driver.execute_script("document.querySelector('.map').scrollIntoView({block: 'center', behavior: 'instant'})")
    x, y = driver.execute_script(
        "const map = document.querySelector('.map'), {xaxis, yaxis} = map._fullLayout;"
        "const box = map.getBoundingClientRect();"
        "for (const trace of map.data) { const k = (trace.customdata || []).indexOf(arguments[0]);"
        "if (k >= 0) return [box.left + xaxis.l2p(trace.x[k]), box.top + yaxis.l2p(trace.y[k])]; }",
        node,
    )
    return float(x), float(y)


def point_at(driver: WebDriver, node: int, pressed: bool = False) -> None:
    """Moves the mouse to a node, and presses it if asked."""
    x, y = where(driver, node)
    for kind in ["mouseMoved", *(["mousePressed", "mouseReleased"] if pressed else [])]:
        event = {"type": kind, "x": x, "y": y, "button": "left" if kind != "mouseMoved" else "none", "clickCount": 1}
        driver.execute_cdp_cmd("Input.dispatchMouseEvent", event)


def finger(driver: WebDriver, *points: tuple[float, float]) -> None:
    """Puts a finger down, moves it along the points and lifts it."""
    for number, (x, y) in enumerate(points):
        kind = "touchMove" if number else "touchStart"
        driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y}]})
        time.sleep(0.02)  # as a hand does
    driver.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})


def written(folder: Path, name: str) -> Path:
    """The file that a download writes, once it is there whole."""
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if (folder / name).exists() and not list(folder.glob("*.crdownload")) and (folder / name).stat().st_size:
            return folder / name
        time.sleep(0.05)
    raise AssertionError(f"{name} was never written; there is {[f.name for f in folder.iterdir()]}")


def made_up_space(num_nodes: int, num_classes: int = 4, seed: int = 0, degree: int = 3) -> Space:
    """Classes as clouds of points; edges mostly inside a class; the first node has a nasty name and text."""
    rng = np.random.default_rng(seed)
    true = rng.integers(num_classes, size=num_nodes)
    angle = 2 * np.pi * true / num_classes
    points = np.stack([np.cos(angle), np.sin(angle)], axis=1) * 4 + rng.normal(size=(num_nodes, 2))
    predicted = np.where(rng.random(num_nodes) < 0.85, true, rng.integers(num_classes, size=num_nodes))
    role = rng.choice(3, p=[0.05, 0.15, 0.8], size=num_nodes)
    order = np.argsort(true, kind="stable")
    ends = rng.integers(num_nodes, size=num_nodes * degree)
    near = order[np.clip(np.argsort(order)[ends] + rng.integers(1, 20, size=len(ends)), 0, num_nodes - 1)]
    edges = np.stack([ends, near], axis=1)[ends != near]
    texts = [" ".join(rng.choice(_WORDS.split(), size=rng.integers(4, 22))).capitalize() for _ in range(num_nodes)]
    return Space(
        ids=[NASTY, *(f"m{i:05d}" for i in range(1, num_nodes))],
        texts=[NASTY, *texts[1:]],
        x=points[:, 0].tolist(),
        y=points[:, 1].tolist(),
        classes=[f"class {chr(97 + k)}" for k in range(num_classes)],
        predicted=predicted.tolist(),
        label=np.where(role < 2, true, -1).tolist(),
        role=role.tolist(),
        probability=np.round(rng.uniform(0.4, 1, size=num_nodes), 2).tolist(),
        edges=edges.ravel().tolist(),
        how="Two principal components of h; they hold 61 % of its spread.",
    )


def neighbours(space: Space, node: int) -> list[int]:
    """In the order of the edges, by a plain loop."""
    found: list[int] = []
    for u, v in zip(space.edges[::2], space.edges[1::2], strict=True):
        other = v if u == node else u if v == node else None
        if other is not None and other not in found:
            found.append(other)
    return found


def alone(space: Space) -> int:
    """The node that is farthest from all others, so that the mouse cannot mean another."""
    points = np.stack([space.x, space.y], axis=1)
    gaps = np.linalg.norm(points[:, None] - points[None], axis=2) + np.eye(len(points)) * 1e9
    return int(gaps.min(axis=1).argmax())


def _curves(rng: np.random.Generator) -> list[Figure]:
    steps = list(range(40))
    names = ("supervised", "labelled–labelled", "labelled–unlabelled", "unlabelled–unlabelled")
    costs = [
        {"type": "scatter", "name": name, "x": steps, "y": (np.exp(-np.arange(40) / 9) * rng.random() + 0.05).tolist()}
        for name in names
    ]
    score = {
        "type": "scatter",
        "name": "validation",
        "x": steps,
        "y": (0.8 - 0.5 * np.exp(-np.arange(40) / 6)).tolist(),
    }
    axes = {"xaxis": {"title": {"text": "epoch"}}, "yaxis": {"title": {"text": "cost"}, "type": "log"}}
    return [
        Figure("costs", "Cost by term", "All four terms fall; the supervised one from 0.9 to 0.06.", costs, axes),
        Figure("metric", "Accuracy on validation", "It rises from 0.30 to 0.80 at epoch 31.", [score]),
    ]


def made_up_page(num_nodes: int = 300, num_classes: int = 4, seed: int = 0) -> Page:
    """A page with every kind of content."""
    rng = np.random.default_rng(seed)
    space = made_up_space(num_nodes, num_classes, seed)
    names = [*space.classes[:-1], NASTY]
    counts = (rng.random((num_classes, num_classes)) * 9 + np.eye(num_classes) * 60).astype(int).tolist()
    heat = {"type": "heatmap", "x": names, "y": names, "z": counts, "texttemplate": "%{z}", "showscale": False}
    scores = [[name, *rng.uniform(0.6, 1, 3).tolist(), int(rng.integers(20, 200))] for name in names]
    least = [[f"m{i:05d}", "what is the fee " * 5, names[i % num_classes], 0.4 + i / 1000] for i in range(30)]
    more = [["=1+2", 'a "quoted", text', "-3.5", -1.5], [NASTY, "zwei\nZeilen ü", None, 0.5]]
    bars = {"type": "bar", "x": [0.81, 0.74], "y": ["with the graph", "without"], "orientation": "h"}
    bars |= {"error_x": {"type": "data", "array": [0.01, 0.02]}, "marker": {"color": ["var(--accent)", "var(--muted)"]}}
    help_ = (
        "Yes: with the graph the network is right on 81.2 % of the validation nodes, without it on 74.0 % (5 seeds)."
    )
    settings = [[f"setting {i}", f"value {i}", "the default"] for i in range(24)]
    return Page(
        f"Report of {NASTY}",
        f"Classifier on {num_nodes:,} nodes, {num_classes} classes, trained on a graph of made-up messages.",
        [
            Section(
                "help",
                "Did the graph help?",
                help_,
                ["The spread is over seeds.", NASTY],
                verdict="good",
                figures=[Figure("gain", "Accuracy on validation", "0.81 with the graph, 0.74 without.", [bars])],
                tables=[
                    ReportTable(
                        "control",
                        "With and without",
                        ["run", "mean", "std"],
                        [["with", 0.812, 0.01], ["without", 0.74, None]],
                    )
                ],
            ),
            Section(
                "run",
                "What was run?",
                "A network of two layers.",
                tables=[ReportTable("set", "Settings", ["name", "value", "from"], settings)],
            ),
            Section("curves", "How did it learn?", "It settled after 31 epochs.", figures=_curves(rng)),
            Section(
                "classes",
                "Which classes are confused?",
                "Mostly a and b.",
                verdict="open",
                figures=[
                    Figure("confusion", "Known against predicted", "Most are on the diagonal.", [heat], {"height": 420})
                ],
                tables=[
                    ReportTable("scores", "Scores by class", ["class", "precision", "recall", "F1", "nodes"], scores)
                ],
            ),
            Section("space", "What does the network see?", "Classes are apart.", space=space),
            Section(
                "next",
                "What to label next?",
                "These are the least certain nodes.",
                verdict="bad",
                tables=[
                    ReportTable(
                        "least",
                        "Least certain",
                        ["id", "text", "predicted", "margin"],
                        least,
                        2,
                        "label-next.csv",
                        more,
                    )
                ],
            ),
        ],
    )


def as_opened(browser: WebDriver, file: Path) -> WebDriver:
    """The page on a wide, light screen as it is when opened; opened again only if something else is shown."""
    state = (
        "const {ready, theme} = document.documentElement.dataset;"
        "return [innerWidth, matchMedia('(prefers-color-scheme: dark)').matches, ready, theme]"
    )
    if browser.current_url != file.as_uri() or browser.execute_script(state) != [1600, False, "true", None]:
        show(browser, file)
        return browser
    for selector in ("input[value=predicted]:not(:checked)", "[data-part=edges]:not(:checked)", ".panel .name button"):
        browser.execute_script("document.querySelector(arguments[0])?.click()", selector)
    browser.execute_script(
        "const box = document.querySelector('.search input'); box.value = ''; box.dispatchEvent(new Event('input'));"
        "document.querySelector('[data-do=home]').click(); document.activeElement.blur();"
    )
    return browser


def groups(driver: WebDriver) -> dict[str, int]:
    """Groups of the legend, and how many nodes each has."""
    return {
        name: int(count)
        for name, count in driver.execute_script(
            "return [...document.querySelectorAll('.legend button')]"
            ".map((b) => [b.dataset.group, b.querySelector('.n').textContent])"
        )
    }


def column(driver: WebDriver, table: str, place: int) -> list[str]:
    """What the cells of a column of a table say."""
    cells = f"#table-{table} tbody tr > :nth-child({place})"
    found = driver.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((c) => c.textContent)", cells
    )
    return [str(cell) for cell in found]


def shown(browser: WebDriver, script: str, seconds: float) -> bool:
    """Whether a script comes to return something within so many seconds."""
    try:
        return bool(wait(browser, script, seconds))
    except AssertionError:
        return False
