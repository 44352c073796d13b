"""Writes docs/commands.md from the commands' own help: `python docs/make_commands.py`. A test keeps the page true."""

from __future__ import annotations

import re
from pathlib import Path

import typer

from ngm.cli import app
from ngm.io.files import write_text

PAGE = Path(__file__).with_name("commands.md")
ORDER = ("demo", "ingest", "build", "check", "train", "report", "predict", "export", "datasets", "reproduce")
_EXAMPLE = re.compile(r"([A-Z][\w ]{3,40}): +(ngm .*)")
TOP = """# Commands

Made from the commands' own help by `python docs/make_commands.py`; `ngm COMMAND --help` shows the same.

What holds for all of them: a user's mistake ends in one line on standard error and exit code 2, Ctrl-C in 130, success
in 0; `--json` prints one JSON object on standard output and nothing else there; `--debug` shows where in the code an
error arose; progress and colours are for terminals only. `ngm --install-completion` teaches the shell the names of
commands and options.
"""


def page() -> str:
    """The whole page."""
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    names = sorted(commands, key=lambda name: (ORDER.index(name) if name in ORDER else len(ORDER), name))
    return "\n".join([TOP, *(section(name, commands[name]) for name in names)])


def section(name: str, command: object) -> str:
    """One command: what it does, its examples, its arguments and options."""
    lines, examples = [f"## ngm {name}", ""], []
    for paragraph in (getattr(command, "help", None) or "").strip().split("\n\n"):
        found = [_EXAMPLE.fullmatch(line.strip()) for line in paragraph.splitlines()]
        if not all(found):
            lines += [" ".join(paragraph.split()), ""]
            continue
        for line in filter(None, found):
            examples += [*([] if line[1] == "Example" else [f"# {line[1].lower()}"]), line[2]]
    lines += ["```bash", *examples, "```"] if examples else []
    shown = [parameter for parameter in command.params if not parameter.hidden]  # type: ignore[attr-defined]
    for panel in dict.fromkeys(parameter.rich_help_panel for parameter in shown):
        lines += ["", *([f"**{panel}**", ""] if panel else []), "| | |", "| --- | --- |"]
        lines += [f"| {called(p)} | {cell(told(p))} |" for p in shown if p.rich_help_panel == panel]
    return "\n".join([*lines, ""])


def called(parameter: object) -> str:
    """The names of an option, or that of an argument in capitals."""
    if parameter.param_type_name == "argument":  # type: ignore[attr-defined]
        return f"`{parameter.name.upper()}`"  # type: ignore[attr-defined]
    names = [*parameter.opts, *parameter.secondary_opts]  # type: ignore[attr-defined]
    return ", ".join(f"`{name}`" for name in names)


def told(parameter: object) -> str:
    """What it is for, and what holds where it is not given."""
    text = " ".join((getattr(parameter, "help", None) or "").split())
    shown, default = parameter.show_default, parameter.default  # type: ignore[attr-defined]
    if isinstance(shown, str):
        return f"{text} Default: {shown}."
    if parameter.required:  # type: ignore[attr-defined]
        return f"{text} Required."
    if default is None or isinstance(default, bool) or default in ((), [], "") or callable(default):
        return text
    words = default if isinstance(default, list | tuple) else [default]
    return f"{text} Default: {', '.join(str(word) for word in words)}."


def cell(text: str) -> str:
    """Text that a table can hold."""
    return text.replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    write_text(PAGE, page())
