"""What the documentation names is there: tests, functions, commands and their options, links, pages, figures."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import runpy
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from statistics import fmean
from types import ModuleType

import pytest
import typer

import ngm
from ngm.cli import app

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = ["README.md", "CONTRIBUTING.md", "SECURITY.md", *(f"docs/{page.name}" for page in sorted(DOCS.glob("*.md")))]
each_page = pytest.mark.parametrize("page", PAGES)
SHARED = {"--help", "--install-completion", "--show-completion", "--version"}  # typer's own, and those of no command


def text_of(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def blocks(page: str) -> list[tuple[str, str]]:
    """(language, text) of every code block."""
    return re.findall(r"^```(\w*)[^\n]*\n(.*?)^```", text_of(page), re.MULTILINE | re.DOTALL)


def prose(page: str) -> str:
    """The page without its code blocks."""
    return re.sub(r"^```.*?^```", "", text_of(page), flags=re.MULTILINE | re.DOTALL)


def spans(page: str) -> list[str]:
    """Words in code type, each on one line."""
    return [" ".join(span.split()) for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", prose(page))]


@cache
def names_of_tests() -> frozenset[str]:
    found = set()
    for file in (ROOT / "tests").rglob("test_*.py"):
        tree = ast.parse(file.read_text(encoding="utf-8"))
        found |= {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    return frozenset(found)


@each_page
def test_every_test_that_a_page_names_exists(page: str) -> None:
    named = set(re.findall(r"(?<![\w/])(test_[a-z0-9_]+)(?!\w|\.py|\*)", prose(page)))
    files = {name for name in named if any((ROOT / "tests").rglob(f"{name}.py"))}
    assert named - files - names_of_tests() == set()


@each_page
def test_every_file_of_the_project_that_a_page_names_exists(page: str) -> None:
    named = set(
        re.findall(r"(?<![\w/.])((?:tests|benchmarks|examples|docs|ngm)/[\w/.-]*\w\.(?:py|md|json|svg))", text_of(page))
    )
    named |= {f"tests/{name}" for name in re.findall(r"(?<![\w/])(test_\w+\.py)", text_of(page))}
    assert {name for name in named if not (ROOT / name).exists()} == set()


def resolve(name: str) -> object:
    """What a dotted name stands for: modules first, then attributes."""
    parts = name.split(".")
    for stop in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:stop]))
        except ModuleNotFoundError:
            continue
        for part in parts[stop:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields else getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@each_page
def test_every_name_of_the_package_that_a_page_uses_can_be_imported(page: str) -> None:
    code = [*spans(page), *(text for language, text in blocks(page) if language == "python")]
    names = {name for text in code for name in re.findall(r"(?<![\w.'\"/-])(ngm(?:\.[A-Za-z_]\w*)+)", text)}
    wrong = []
    for name in sorted(names - {"ngm.json"}):
        try:
            resolve(name)
        except (AttributeError, ModuleNotFoundError):
            wrong.append(name)
    assert wrong == []


def commands() -> dict[str, set[str]]:
    """The options of every command, by its name."""
    group = typer.main.get_command(app)
    found = {}
    for name, command in group.commands.items():  # type: ignore[attr-defined]
        options = {option for p in command.params for option in (*p.opts, *p.secondary_opts)}
        found[name] = {option for option in options if option.startswith("-")} | SHARED
    return found


def command_lines(page: str) -> Iterator[str]:
    """What a page tells the reader to type after `ngm`, a command each."""
    for language, text in blocks(page):
        if language in ("bash", "text", "console", "sh"):
            joined = re.sub(r"\\\n\s*", " ", text)
            yield from re.findall(r"^(?:\$ |.*?(?:&&|\|)\s*)?ngm ([^\n#]*)", joined, re.MULTILINE)
    yield from (span[4:] for span in spans(page) if span.startswith("ngm "))


@each_page
def test_every_command_and_option_that_a_page_names_exists(page: str) -> None:
    known, wrong = commands(), []
    for line in command_lines(page):
        words = line.split()
        name = words[0]
        if name == "COMMAND" or name in SHARED:
            continue
        if name not in known:
            wrong.append(f"ngm {name}")
            continue
        options = {word.split("=")[0].rstrip(",;.)") for word in words[1:] if re.match(r"--?[a-zA-Z]", word)}
        wrong += [f"ngm {name} {option}" for option in sorted(options - known[name])]
    assert wrong == []


def anchors(page: Path) -> set[str]:
    """The anchors that headings have, as Python-Markdown makes them."""
    found: set[str] = set()
    for heading in re.findall(r"^#+ (.+)$", prose(str(page.relative_to(ROOT))), re.MULTILINE):
        plain = re.sub(r"[`*]|\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain.encode("ascii", "ignore").decode()).strip().lower())
        found.add(slug if slug not in found else f"{slug}_1")
    return found


@each_page
def test_every_link_to_another_page_leads_somewhere(page: str) -> None:
    wrong = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        if not file.exists() or (anchor and anchor not in anchors(file)):
            wrong.append(target)
    assert wrong == []


def test_links_within_the_site_stay_within_it() -> None:
    pages = [page for page in PAGES if page.startswith("docs/")]
    outside = {(page, target) for page in pages for target in re.findall(r"\]\((\.\.[^)]*)\)", prose(page))}
    assert outside == set()


def test_the_table_of_contents_has_every_page_once() -> None:
    listed = re.findall(r"(?:- |: )([\w-]+\.md)\s*$", text_of("mkdocs.yml"), re.MULTILINE)
    assert sorted(listed) == sorted(page.name for page in DOCS.glob("*.md"))


def test_the_page_of_commands_is_what_their_help_says() -> None:
    made = runpy.run_path(str(DOCS / "make_commands.py"))["page"]()
    assert text_of("docs/commands.md") == made, "run: python docs/make_commands.py"


def test_the_page_of_commands_names_every_command_and_option() -> None:
    page = text_of("docs/commands.md")
    for name, options in commands().items():
        section = page.partition(f"\n## ngm {name}\n")[2].partition("\n## ")[0]
        assert [option for option in sorted(options - SHARED) if f"`{option}`" not in section] == [], name


# Modules whose public names are all in the reference.
REFERENCE = [
    "ngm",
    "ngm.build",
    "ngm.datasets",
    "ngm.diagnosis",
    "ngm.distances",
    "ngm.io.node_records",
    "ngm.features",
    "ngm.inputs",
    "ngm.logs",
    "ngm.metrics",
    "ngm.networks",
    "ngm.report",
    "ngm.text",
    "ngm.text.encoders",
    "ngm.workflow",
]


def public(module: ModuleType) -> set[str]:
    """The names of a module that others may use: functions and classes of our own."""
    names = getattr(module, "__all__", None) or [
        name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__
    ]
    things = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name for name, value in things.items() if inspect.isroutine(value) or isinstance(value, type)}


@cache
def documented() -> frozenset[int]:
    """The things that the pages of the reference show, by identity."""
    found = set()
    for page in DOCS.glob("api*.md"):
        for name, options in re.findall(r"^::: (\S+)\n((?:    .*\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE):
            thing = resolve(name)
            found.add(id(thing))
            if isinstance(thing, ModuleType) and "members: false" not in options:
                found |= {id(getattr(thing, member)) for member in public(thing)}
    return frozenset(found)


@pytest.mark.parametrize("name", REFERENCE)
def test_the_reference_has_every_public_name(name: str) -> None:
    module = importlib.import_module(name)
    assert sorted(n for n in public(module) if id(getattr(module, n)) not in documented()) == []


def test_the_overview_of_the_reference_lists_every_public_name() -> None:
    listed = set(re.findall(r"^\| `ngm\.(\w+)`", text_of("docs/api.md"), re.MULTILINE))
    assert listed == set(ngm.__all__)


def figure(row: dict[str, float]) -> str:
    """`.714 ± .015`; without a spread where there was one seed."""
    words = f"{row['mean']:.3f} ± {row['std']:.3f}" if row["seeds"] > 1 else f"{row['mean']:.3f}"
    return re.sub(r"\b0\.", ".", words)


def numbers(cell: str) -> list[float]:
    return [float(number) for number in re.findall(r"\.\d+", cell)]


@pytest.mark.parametrize("setting", ["inductive", "transductive"])
def test_the_tables_of_results_are_those_of_the_kept_runs(setting: str) -> None:
    title = {"inductive": "## Test nodes out of the graph", "transductive": "## Test nodes in the graph"}[setting]
    table = text_of("docs/results.md").partition(title)[2].partition("\n## ")[0].replace("*", "")
    split = [[cell.strip() for cell in line.split("|")[1:8]] for line in table.splitlines() if line.startswith("|")]
    cells = {line[0]: line[1:] for line in split}
    checked = 0
    for place, name in enumerate(("pubmed", "cora", "citeseer")):
        kept = json.loads(text_of(f"benchmarks/results/{name}.json"))["rows"]
        known = {row["method"] for row in kept}
        later = json.loads(text_of(f"benchmarks/results/{name}-default.json"))["rows"]
        kept += [row for row in later if row["method"] not in known]
        for row in (row for row in kept if row["setting"] == setting):
            ours, published = cells[row["method"]][2 * place : 2 * place + 2]
            expected = [row["mean"], row["std"]] if row["seeds"] > 1 else [row["mean"]]
            assert numbers(ours) == pytest.approx(expected, abs=0.0005 + 1e-9), (name, row["method"])
            assert numbers(published) == ([] if row["paper"] is None else [row["paper"]]), (name, row["method"])
            checked += 1
    assert checked == 3 * (len(cells) - 2)  # but for the heading and the rule below it


def test_the_table_of_which_k_is_that_of_the_kept_run() -> None:
    kept = json.loads(text_of("benchmarks/results/which-k.json"))
    page = text_of("docs/which-k.md").replace("*", "")
    for k, graph in kept["graphs"].items():
        within = f"{graph['within_a_class']:.3f}".removeprefix("0")
        scores = " | ".join(figure(row) for row in graph["rows"])
        assert f"| {k} | {graph['edges']:,} | {graph['components']} | {within} | {scores} |" in page
    two, ten = (figure(row) for row in kept["without_graph"])
    assert f"| none | | | | | {two} | | {ten} |" in page


def test_the_table_of_texts_is_that_of_the_kept_run() -> None:
    kept = json.loads(text_of("benchmarks/results/text-command.json"))
    page = text_of("docs/text.md").partition("## How good it is")[2].partition("\n## ")[0]
    expected = []
    for name, row in kept["datasets"].items():
        ours, linear = (fmean(row[key]) for key in ("command", "minilm_logistic"))
        figures = " | ".join(f"{value:.3f}".removeprefix("0") for value in (ours, linear))
        data = name.removesuffix(f"_{row['labels']}")  # numbers of labels other than the usual are in the name
        expected.append(f"| {data} | {row['labels']} | {figures} | {100 * (ours - linear):+.1f} |")
    assert [line for line in page.splitlines() if re.match(r"\| \w+ \| \d", line)] == expected
    assert f"it gains {100 * kept['ratios']['mean_gain']:.1f} points" in page
    assert f"predicting 2,000 takes {kept['timed']['seconds']:.0f} s" in page


def test_the_digits_of_the_readme_are_those_of_the_kept_run() -> None:
    kept = json.loads(text_of("benchmarks/results/demo.json"))["rows"]
    section = text_of("README.md").partition("**Digits**")[2].partition("\n\n**")[0].replace("*", "")
    shown = [line for line in section.splitlines() if re.match(r"\| \d", line)]
    expected = []
    for without, with_graph in zip(kept[::2], kept[1::2], strict=True):
        assert (without["method"], with_graph["method"]) == ("FFNN", "NGM-FFNN")
        assert without["labels"] == with_graph["labels"]
        gain = f"{100 * (with_graph['mean'] - without['mean']):+.1f}{'' if expected else ' points'}"
        expected.append(f"| {without['labels'] // 10} | {figure(without)} | {figure(with_graph)} | {gain} |")
    assert shown == expected
    assert f"{kept[0]['seeds']} seeds" in section


def table_figures(text: str) -> set[str]:
    """Figures such as `.714` or `.714 ± .015` in the tables of some text."""
    lines = (
        "\n".join(line for line in text.splitlines() if line.startswith("|")).replace("*", "").replace("&nbsp;", " ")
    )
    return set(re.findall(r"(?<![\d.])\.\d{3}(?: ± \.\d{3})?", lines))


@pytest.mark.parametrize(
    ("page", "title", "source"),
    [
        ("docs/gnn.md", "## In figures", "docs/results.md"),
        ("docs/gnn.md", "### New items", "docs/compared.md"),
        ("docs/inductive.md", "## How much is lost", "docs/results.md"),
        ("docs/paper.md", "### Section 4.4", "docs/results.md"),
        ("docs/paper.md", "### Section 4.3", "docs/intents.md"),
    ],
)
def test_figures_that_a_page_repeats_are_those_of_the_results(page: str, title: str, source: str) -> None:
    repeated = table_figures(text_of(page).partition(title)[2].partition("\n##")[0])
    known = text_of(source).replace("*", "")
    assert len(repeated) > 4
    assert {figure for figure in repeated if figure not in known} == set()


def test_the_figures_of_the_first_page_are_those_of_the_kept_runs() -> None:
    page = table_figures(text_of("docs/index.md"))
    rows = {name: json.loads(text_of(f"benchmarks/results/{name}.json"))["rows"] for name in ("demo", "pubmed")}
    rows["ag-news-curve"] = json.loads(text_of("benchmarks/results/ag-news-curve.json"))["rows"]
    wanted = [
        ("demo", {"labels": 20, "metric": "accuracy"}, ("FFNN", "NGM-FFNN")),
        ("pubmed", {"setting": "inductive"}, ("FFNN", "NGM (ours)")),
        ("ag-news-curve", {"labels": 400, "metric": "accuracy"}, ("tiny CNN", "NGM (ours)")),
    ]
    for name, which, methods in wanted:
        found = {row["method"]: row for row in rows[name] if which.items() <= row.items()}
        assert {figure(found[method]) for method in methods} <= page


def test_the_table_of_ag_news_is_that_of_the_kept_runs() -> None:
    section = text_of("docs/text.md").partition("## AG News")[2].partition("\n##")[0].replace("*", "")
    kept = json.loads(text_of("benchmarks/results/ag-news.json"))["rows"]
    by_metric = {(row["method"], row["metric"]): row for row in kept}
    accuracies = [row for row in kept if row["metric"] == "accuracy"]
    assert len(accuracies) > 8
    for row in accuracies:
        spread = f" ± {100 * row['std']:.1f}" if row["seeds"] > 1 else ""
        validation = 100 * by_metric[row["method"], "validation"]["mean"]
        assert f"\n| {row['method']} | {100 * row['mean']:.1f}{spread} | {row['seeds']} | {validation:.1f} |" in section


def test_the_counts_of_kills_and_bad_input_are_those_of_the_kept_runs() -> None:
    page = text_of("docs/reliability.md")
    kills = json.loads(text_of("benchmarks/results/faults-kills.json"))["kills"]
    for row in [*kills["rows"], {"name": "all", **kills["total"]}]:
        counts = [str(row[name]) for name in ("kills", "before", "middle", "after", "resumed", "same")]
        assert f"| {row['name']} | {' | '.join(counts)} |" in page
    for area, row in json.loads(text_of("benchmarks/results/faults-fuzz.json"))["fuzz"].items():
        counts = [f"{row[name]:,}" for name in ("cases", "accepted", "refused", "findings")]
        assert f"| {area} | {' | '.join(counts)} |" in page
