"""What a repository is expected to have: metadata, hooks, a workflow, forms, and a version that the changelog knows."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parent.parent
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"


def text_of(file: str) -> str:
    return (ROOT / file).read_text(encoding="utf-8")


def parsed(file: str) -> Any:
    return yaml.safe_load(text_of(file))


def project() -> dict[str, Any]:
    return dict(tomllib.loads(text_of("pyproject.toml"))["project"])


def recipe(target: str) -> list[str]:
    """The commands of a target of the Makefile."""
    found = re.search(rf"^{target}:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)
    assert found is not None, target
    return [line.strip() for line in found[1].splitlines()]


# Metadata


def test_the_authors_are_those_of_the_citation() -> None:
    assert project()["authors"] == parsed("CITATION.cff")["authors"]


def test_the_metadata_have_addresses_keywords_and_classifiers() -> None:
    found = project()
    assert all(address.startswith("https://") for address in found["urls"].values())
    assert found["urls"]
    assert found["keywords"]
    for start in ("Development Status", "Intended Audience", "Operating System", "Programming Language", "Topic"):
        assert any(entry.startswith(f"{start} :: ") for entry in found["classifiers"]), start
    assert not [entry for entry in found["classifiers"] if entry.startswith("License")]  # `license` says it


def test_the_lowest_python_and_the_workflows_are_among_the_classifiers() -> None:
    found = project()
    pythons = re.findall(r"Programming Language :: Python :: (3\.\d+)", "\n".join(found["classifiers"]))
    assert f">={pythons[0]}" == found["requires-python"]
    assert steps("actions/setup-python")[0]["with"]["python-version"] in pythons


# The version and the changelog


def version_mistakes(changelog: str, version: str) -> list[str]:
    """What is wrong with the headings of a changelog, beside the version in pyproject.toml."""
    headings = re.findall(r"^## (.*)$", changelog, re.MULTILINE)
    released = [re.fullmatch(r"(\d+)\.(\d+)\.(\d+) - \d{4}-\d\d-\d\d", heading) for heading in headings[1:]]
    if headings[:1] != ["Unreleased"] or None in released:
        return ["headings are Unreleased, then version - day of each release"]
    order = [tuple(int(part) for part in match.groups()) for match in released if match]
    if order != sorted(set(order), reverse=True):
        return ["the newest release stands first"]
    newest = ".".join(str(part) for part in order[0]) if order else version
    return [] if newest == version else [f"pyproject.toml has {version}, the newest release is {newest}"]


def test_the_version_is_that_of_the_newest_release_in_the_changelog() -> None:
    assert version_mistakes(text_of("CHANGELOG.md"), project()["version"]) == []


@pytest.mark.parametrize(
    ("headings", "mistake"),
    [
        (["Unreleased"], None),
        (["Unreleased", "0.2.0 - 2026-01-31", "0.1.0 - 2025-12-01"], None),
        (["Unreleased", "0.10.0 - 2026-01-31", "0.2.0 - 2025-12-01"], "has 0.2.0, the newest release is 0.10.0"),
        (["Unreleased", "0.1.0 - 2025-12-01", "0.2.0 - 2026-01-31"], "the newest release stands first"),
        (["0.2.0 - 2026-01-31"], "headings are Unreleased"),
        (["Unreleased", "0.2.0"], "headings are Unreleased"),
    ],
)
def test_a_changelog_and_a_version_that_disagree_are_found(headings: list[str], mistake: str | None) -> None:
    found = version_mistakes("".join(f"## {heading}\n\n### Added\n\n" for heading in headings), "0.2.0")
    assert len(found) == (mistake is not None)
    assert not found or mistake in found[0]


# Hooks, workflow, forms


def test_hooks_run_the_commands_of_make_check_from_its_environment() -> None:
    (repository,) = parsed(".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"  # nothing is fetched
    entries = [hook["entry"].replace(".venv/bin", "$(BIN)") for hook in repository["hooks"]]
    assert entries == [command for command in recipe("check") if command.startswith("$(BIN)")]
    assert all((hook["language"], hook["pass_filenames"]) == ("system", False) for hook in repository["hooks"])


def steps(uses: str) -> list[dict[str, Any]]:
    """The steps of the workflow that use an action, whatever its version."""
    found = parsed(".github/workflows/ci.yml")["jobs"]["check"]["steps"]
    return [step for step in found if step.get("uses", "").startswith(f"{uses}@")]


def test_the_workflow_runs_what_ci_runs_on_pushes_and_pull_requests() -> None:
    workflow = parsed(".github/workflows/ci.yml")
    assert set(workflow[True]) == {"push", "pull_request"}  # `on` is a truth value in YAML 1.1
    assert workflow["permissions"] == {"contents": "read"}
    job = workflow["jobs"]["check"]
    assert job["timeout-minutes"] == 30
    assert [step["run"] for step in job["steps"] if "run" in step] == [".ci/run"]
    python = steps("actions/setup-python")[0]["with"]
    assert python["cache"] == "pip"
    assert all((ROOT / file).is_file() for file in python["cache-dependency-path"].split())


@pytest.mark.parametrize("form", ["bug", "request"])
def test_forms_for_issues_ask_for_something(form: str) -> None:
    found = parsed(f".github/ISSUE_TEMPLATE/{form}.yml")
    assert found["name"]
    assert found["description"]
    fields = [field for field in found["body"] if field["type"] != "markdown"]
    assert len({field["id"] for field in fields}) == len(fields)
    assert any(field.get("validations", {}).get("required") for field in fields)


def test_no_form_is_left_untested() -> None:
    assert sorted(file.name for file in FORMS.iterdir()) == ["bug.yml", "config.yml", "request.yml"]
    assert parsed(".github/ISSUE_TEMPLATE/config.yml") == {"blank_issues_enabled": True}


def test_the_template_for_pull_requests_asks_for_the_check_and_the_changelog() -> None:
    asked = re.findall(r"^- \[ \] (.*)$", text_of(".github/PULL_REQUEST_TEMPLATE.md"), re.MULTILINE)
    assert asked[0] == "`make check` passes"
    assert any("`CHANGELOG.md`" in line for line in asked)


def test_contributing_leads_to_what_is_expected_of_a_release_and_a_report() -> None:
    page = text_of("CONTRIBUTING.md")
    for word in ("SECURITY.md", "pre-commit install", "## Releasing", "-m build", "git tag -a v", "-c constraints.txt"):
        assert word in page, word


# Tests


def imported(code: str) -> Iterator[str]:
    """The modules that a file imports, by their dotted names; `from a import b` gives `a` and `a.b`."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_no_file_of_the_tests_imports_a_test_module() -> None:
    for file in sorted((ROOT / "tests").rglob("*.py")):
        found = [name for name in imported(file.read_text(encoding="utf-8")) if re.match(r"tests\..*\btest_\w+", name)]
        assert not found, f"{file.name} imports {found}: what two files need goes to a file of its own"


def test_a_test_module_that_is_imported_is_found() -> None:
    code = "from tests.test_graph import PATH\nfrom tests import test_store\nimport tests.test_walks\nimport ngm"
    wanted = {"tests.test_graph", "tests.test_graph.PATH", "tests", "tests.test_store", "tests.test_walks", "ngm"}
    assert set(imported(code)) == wanted


def without_a_package(tests: Path, package: Path) -> list[str]:
    """The folders of the tests that no package is called after."""
    folders = [f.relative_to(tests) for f in tests.rglob("*") if f.is_dir() and f.name != "__pycache__"]
    return sorted(f.as_posix() for f in folders if not (package / f / "__init__.py").is_file())


def test_every_folder_of_the_tests_is_called_after_a_package() -> None:
    assert without_a_package(ROOT / "tests", ROOT / "ngm") == []


def test_a_folder_of_tests_without_a_package_is_found(tmp_path: Path) -> None:
    for folder in ("build", "io/tables", "io/__pycache__", "other"):
        (tmp_path / "tests" / folder).mkdir(parents=True)
        (tmp_path / "ngm" / folder).mkdir(parents=True)
    for package in ("build", "io"):
        (tmp_path / "ngm" / package / "__init__.py").touch()
    assert without_a_package(tmp_path / "tests", tmp_path / "ngm") == ["io/tables", "other"]
