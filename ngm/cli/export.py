"""`ngm export`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer
from rich.markup import escape
from rich.table import Table as RichTable

from ngm.cli.terminal import AsJson, Debug, app, out, print_json

if TYPE_CHECKING:
    from ngm.estimators.model_export import Exported
    from ngm.io.run_folder import JSON

_CLASSES_SHOWN = 10


@app.command("export")
def export_command(
    folder: Annotated[Path, typer.Argument(help="Run folder, from ngm train or NGMClassifier.save.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="File to write: .onnx, or .pt2 for torch.export.")
    ] = Path("model.onnx"),
    as_json: AsJson = False,
    debug: Debug = False,
) -> None:
    """Exports a trained network to a file for other programs, after checking that it gives the same results.

    Example:  ngm export run/ -o model.onnx
    """
    from ngm.estimators.base import trained_model
    from ngm.estimators.loading import load
    from ngm.estimators.model_export import export, format_of
    from ngm.io.files import check_writable

    kind = format_of(output)
    if kind is None:
        raise ValueError(f"--output is {str(output)!r}; name a file that ends in .onnx, or in .pt2 for torch.export")
    check_writable(output)
    model = load(folder, device="cpu")
    try:
        exported = export(trained_model(model), kind, output, further=_vectors(folder))
    except ImportError as error:  # a package that not everybody installs
        raise ValueError(str(error)) from None
    if as_json:
        print_json(_as_json(exported))
        return
    facts = RichTable(show_header=False, box=None, pad_edge=False)
    for name, value in _facts(exported).items():
        facts.add_row(name, escape(value))
    out.print(facts, highlight=False)
    out.print(f"Model: {escape(str(exported.file))}", highlight=False, soft_wrap=True)


def _vectors(folder: Path) -> dict[str, JSON]:
    """The encoders of the network's input rows; empty unless it reads vectors of texts."""
    from ngm.features import Features
    from ngm.io.run_folder import Run

    features = Features.open(Run.open(folder))
    if features is None or features.vectors is None:
        return {}
    encoders: list[JSON] = [{"encoder": part.name, "width": part.width} for part in features.vectors.encoders]
    return {"text": list(features.names), "encoders": encoders}


def _as_json(exported: Exported) -> dict[str, JSON]:
    return {
        "model": str(exported.file),
        "format": exported.format,
        "bytes": exported.file.stat().st_size,
        "difference": exported.difference,
        "rows_checked": exported.rows,
        **{name: value for name, value in exported.metadata.items() if name != "words"},
    }


def _facts(exported: Exported) -> dict[str, str]:
    inputs = cast("dict[str, dict[str, JSON]]", exported.metadata["inputs"])
    input_texts = [f"{name}: {kind['type']} ({_sizes(kind['shape'])})" for name, kind in inputs.items()]
    facts = {
        "network": f"{exported.metadata['network']}, {exported.file.stat().st_size / 1e6:.1f} MB",
        "takes": ", ".join(input_texts),
        "gives": ", ".join(cast("list[str]", exported.metadata["outputs"])),
    }
    encoders = cast("list[dict[str, JSON]]", exported.metadata.get("encoders", []))
    if encoders:
        facts["made of"] = " beside ".join(
            f"{encoder['width']:,} numbers of {encoder['encoder']}" for encoder in encoders
        )
    classes = cast("list[JSON]", exported.metadata.get("classes", []))
    if classes:
        more = f", ... ({len(classes):,})" if len(classes) > _CLASSES_SHOWN else ""
        facts["classes"] = ", ".join(str(name) for name in classes[:_CLASSES_SHOWN]) + more
    facts["checked"] = f"differs by {exported.difference:.1e} at most from the network here, on {exported.rows} rows"
    return facts


def _sizes(shape: JSON) -> str:
    return ", ".join(str(size) for size in cast("list[JSON]", shape))
