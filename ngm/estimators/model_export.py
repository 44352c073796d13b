"""Trained networks as files for other programs: ONNX, or the archive of `torch.export`; checked before they are kept.

A file holds the network alone, as prediction needs it: no graph, no rows of anybody's data. Classifiers give `logits`
and `probabilities`, regressors give `prediction` in the units of y: the network computes in its own precision, its
output is brought to these units in float64.
"""

from __future__ import annotations

import io
import json
import logging
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import Literal, TypeAlias, cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

from ngm._spelling import nearest
from ngm.estimators.exportable_networks import exportable
from ngm.estimators.trained_model import TrainedModel
from ngm.io.files import file_written_whole
from ngm.io.run_folder import JSON
from ngm.networks.charcnn import CharCNNModule
from ngm.rows import Inputs, Rows, num_rows, take_rows
from ngm.task import ClassTask, NumberTask, Task
from ngm.text.characters import ALPHABET
from ngm.text.tokens import LENGTH

Format = Literal["onnx", "torch"]
SUFFIXES: dict[str, str] = {"onnx": ".onnx", "torch": ".pt2"}
TOLERANCE = 1e-4
LOWEST_TORCH = (2, 9)  # whose export knows sizes that change, and forgets its example
INPUT = "x"  # what the input is called, unless it has parts with names of their own
_ROWS_CHECKED = 16
_Run: TypeAlias = Callable[[Rows], Mapping[str, NDArray[np.floating]]]


@dataclass(frozen=True)
class Exported:
    """A file that was written and checked.

    Args:
        file: Where it is.
        format: "onnx" or "torch".
        metadata: What is in the file beside the network.
        difference: Largest difference between its outputs and the network's on the rows of the check.
        rows: How many rows that were.
    """

    file: Path
    format: Format
    metadata: dict[str, JSON]
    difference: float
    rows: int


def export(
    model: TrainedModel,
    format: str,
    file: str | Path | None = None,
    inputs: Inputs | None = None,
    further: Mapping[str, JSON] | None = None,
) -> Exported:
    """Writes a trained network to a file, runs the file, and keeps it if the outputs are the same.

    Args:
        model: Trained.
        format: "onnx" or "torch".
        file: Ends in .onnx or .pt2; `model` with that ending in the current folder where not given.
        inputs: Rows to check with, read as for prediction; made up where not given. A network of one's own needs some.
        further: Entries of the metadata beside those that the model knows, such as how rows are made.
    """
    path = _path(format, file)
    _check_torch()
    if format == "onnx":
        _check_packages()
    batches = _given(model, inputs) if inputs is not None else list(_made_up(model))
    names = list(batches[0]) if isinstance(batches[0], dict) else [INPUT]
    with _quiet(), torch.no_grad():
        program = _program(_Outputs(model.task, exportable(model.network)), batches[0], model.reader is not None)
        described = {**_metadata(model, batches[0]), **(further or {})}
        write = _to_onnx if format == "onnx" else _to_archive
        content = write(program, names, described)
        with file_written_whole(path) as part:
            part.write_bytes(content)
            run = _run_onnx(part) if format == "onnx" else _run_archive(part)
            difference = _check(model, run, batches, path)
    return Exported(path, cast(Format, format), described, difference, sum(_count(rows) for rows in batches))


def format_of(file: Path) -> Format | None:
    """The format that the ending of a file's name stands for; None where it is none of ours."""
    return cast("Format | None", {end: name for name, end in SUFFIXES.items()}.get(file.suffix.lower()))


class _Outputs(nn.Module):
    """The network with its outputs by name."""

    def __init__(self, task: Task, network: nn.Module) -> None:
        super().__init__()
        self.network = network
        self.squash = None if isinstance(task, NumberTask) else task.squash
        mean, scale = (task.mean, task.scale) if isinstance(task, NumberTask) else (0.0, 0.0)
        self.register_buffer("mean_", torch.as_tensor(mean).double())
        self.register_buffer("scale_", torch.as_tensor(scale).double())

    def forward(self, x: Rows) -> dict[str, Tensor]:
        logits = self.network(x)
        if self.squash is None:
            return {"prediction": logits.double() * self.scale_ + self.mean_}
        return {"logits": logits, "probabilities": self.squash(logits)}


def _program(network: nn.Module, rows: Rows, text: bool) -> ExportedProgram:
    """The network as a graph of operations, for any number of rows and, of texts, any length."""

    def example(part: Tensor) -> Tensor:  # two rows of zeros: torch takes 1 for a constant
        return part.new_zeros(2, *([3] if text else part.shape[1:]))

    def sizes(part: Tensor) -> dict[int, object]:
        return {0: Dim.DYNAMIC, 1: Dim.DYNAMIC} if text else {0: Dim.DYNAMIC}

    parts = cast("dict[str, Tensor]", rows) if isinstance(rows, dict) else {INPUT: rows}
    examples: object = {name: example(part) for name, part in parts.items()}
    shapes: object = {name: sizes(part) for name, part in parts.items()}
    if not isinstance(rows, dict):
        examples, shapes = cast("dict[str, Tensor]", examples)[INPUT], cast("dict[str, object]", shapes)[INPUT]
    try:
        program = torch.export.export(network.eval(), (examples,), dynamic_shapes={"x": shapes})
    except ImportError:
        raise
    except Exception as error:  # torch raises many kinds
        raise _refused(error) from error
    for module in program.graph_module.modules():
        for node in getattr(getattr(module, "graph", None), "nodes", ()):
            node.meta.pop("stack_trace", None)  # names files of this machine
    return program


def _refused(error: Exception) -> ValueError:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    remedy = "its forward has to take the same steps for any number of rows, without branches on what is in them"
    if "specialized it to be a constant" in str(error):
        reason, remedy = "its forward counts the rows or asks for their number", "write x.shape[0] for len(x)"
    return ValueError(f"the network cannot be exported ({reason}); {remedy}")


def _to_onnx(program: ExportedProgram, names: list[str], described: Mapping[str, JSON]) -> bytes:
    outputs = cast("list[str]", described["outputs"])
    try:
        made = torch.onnx.export(program, dynamo=True, verbose=False, input_names=names, output_names=outputs)
    except RuntimeError as error:
        raise _refused(error) from error
    if made is None:
        raise ValueError("torch gave no ONNX model; it takes torch 2.5 or newer")
    proto = made.model_proto
    sizes = proto.graph.input[0].type.tensor_type.shape.dim
    called = {size.dim_param: name for size, name in zip(sizes, ("batch", "length"), strict=False) if size.dim_param}
    for value in (*proto.graph.input, *proto.graph.output, *proto.graph.value_info):
        del value.metadata_props[:]
        for size in value.type.tensor_type.shape.dim:
            if size.dim_param in called:
                size.dim_param = called[size.dim_param]
    del proto.graph.metadata_props[:]
    for node in (*proto.graph.node, *(node for function in proto.functions for node in function.node)):
        del node.metadata_props[:]  # where in torch it comes from
    for name, value in described.items():
        proto.metadata_props.add(key=name, value=value if isinstance(value, str) else json.dumps(value))
    content: bytes = proto.SerializeToString()
    return content


def _to_archive(program: ExportedProgram, names: list[str], described: Mapping[str, JSON]) -> bytes:
    program.example_inputs = None  # kept as a pickle otherwise
    buffer = io.BytesIO()
    torch.export.save(program, buffer, extra_files={"metadata.json": json.dumps(dict(described))})
    return buffer.getvalue()


def _run_onnx(file: Path) -> _Run:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    session = onnxruntime.InferenceSession(file.read_bytes(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]

    def run(rows: Rows) -> dict[str, NDArray[np.floating]]:
        parts = cast("dict[str, Tensor]", rows if isinstance(rows, dict) else {INPUT: rows})
        found = session.run(names, {name: part.numpy() for name, part in parts.items()})
        return dict(zip(names, found, strict=True))

    return run


def _run_archive(file: Path) -> _Run:
    module = torch.export.load(io.BytesIO(file.read_bytes())).module()

    def run(rows: Rows) -> dict[str, NDArray[np.floating]]:
        return {name: values.numpy() for name, values in module(rows).items()}

    return run


def _check(model: TrainedModel, run: _Run, batches: list[Rows], path: Path) -> float:
    """Largest difference between what the file and the network itself give; an error where it is large."""
    task, device = model.task, model.parameters.device
    network = _Outputs(task, model.network).to(device).eval()
    largest = 0.0
    shift, scale = (task.mean, task.scale) if isinstance(task, NumberTask) else (0.0, 1.0)
    for rows in batches:
        moved = _each(rows, lambda part: part.to(device))
        wanted = {name: values.cpu().numpy() for name, values in network(moved).items()}
        found = run(rows)
        for name, values in wanted.items():
            apart = float(np.abs(values - found[name]).max(initial=0.0))
            one, other = ((v - shift) / scale for v in (values, found[name]))  # numbers as the network gives them
            if not np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE):
                raise RuntimeError(
                    f"{path.name} was not kept: its {name} differ from the network's by {apart:.2g} for "
                    f"{_count(rows)} rows, {TOLERANCE:g} at most would be right; does the network draw random numbers?"
                )
            largest = max(largest, apart)
    return largest


def _given(model: TrainedModel, inputs: Inputs) -> list[Rows]:
    """The first rows: one by itself, and some together."""
    count = min(num_rows(inputs), _ROWS_CHECKED)
    if not count:
        raise ValueError("x has no rows; give some to check the exported network with")
    taken = [take_rows(inputs, torch.arange(n), model.dtype) for n in (count, 1)]
    return [_each(rows, lambda part: part.to_dense() if part.is_sparse_csr else part) for rows in taken]


def _made_up(model: TrainedModel) -> Iterator[Rows]:
    """Random rows of the kind that the network was trained on, in batches of several sizes and lengths."""
    draw = torch.Generator().manual_seed(0)
    if callable(model.parameters.network):
        raise ValueError(
            "the network is one of your own, so what it takes is not known; give x=, a few rows such as predict takes"
        )
    if model.reader is None:
        for count in (7, 1):
            yield torch.randn(count, model.widths[0], generator=draw, dtype=model.dtype)
        return
    words = model.reader.vocabulary
    kind, most = (torch.uint8, len(ALPHABET) + 1) if words is None else (torch.int32, len(words))
    longest = model.network.length if isinstance(model.network, CharCNNModule) else LENGTH
    for count, length in ((5, 60), (1, 1), (2, longest)):
        rows = torch.randint(1, most, (count, length), generator=draw).to(kind)
        rows[0, length // 2 + 1 :] = 0  # a text that ends early
        yield rows


def _metadata(model: TrainedModel, rows: Rows) -> dict[str, JSON]:
    """What a program that runs the file has to know."""
    text, network = model.reader is not None, model.parameters.network

    def kind(part: Tensor) -> JSON:
        shape: list[JSON] = ["batch", "length"] if text else ["batch", *part.shape[1:]]
        return {"shape": shape, "type": str(part.dtype).removeprefix("torch.")}

    parts = cast("dict[str, Tensor]", rows) if isinstance(rows, dict) else {INPUT: rows}
    classes = model.task.classes if isinstance(model.task, ClassTask) else None
    found: dict[str, JSON] = {
        "library": f"neural-graph-machines {_version()}",
        "estimator": model.estimator,
        "network": "of one's own" if callable(network) else network,
        "task": "regression" if classes is None else model.task.name,
        "inputs": {name: kind(part) for name, part in parts.items()},
        "outputs": ["prediction"] if classes is None else ["logits", "probabilities"],
    }
    if classes is not None:
        found["classes"] = classes.tolist()
    if model.feature_names is not None:
        found["feature_names"] = model.feature_names.tolist()
    if model.reader is not None and model.reader.vocabulary is not None:
        found["words"] = list(model.reader.vocabulary.words)
    return found


def _path(format: str, file: str | Path | None) -> Path:
    if format not in SUFFIXES:
        remedy = " (torch gave TorchScript up for torch.export)" if format == "torchscript" else ""
        raise ValueError(
            f"unknown format {format!r}{nearest(format, SUFFIXES)}; choose 'onnx', or 'torch' for torch.export{remedy}"
        )
    path = Path(file) if file is not None else Path(f"model{SUFFIXES[format]}")
    if format_of(path) != format:
        raise ValueError(f"file is {str(path)!r}; for format {format!r} its name ends in {SUFFIXES[format]}")
    if path.is_dir():
        raise ValueError(f"file is {str(path)!r}, which is a folder; name a file in it")
    return path


def _check_torch() -> None:
    found = tuple(int(part) for part in re.findall(r"\d+", torch.__version__)[:2])
    if found < LOWEST_TORCH:
        lowest = ".".join(map(str, LOWEST_TORCH))
        raise ImportError(
            f"export needs torch {lowest} or later, this is {torch.__version__}: pip install 'torch>={lowest}'"
        )


def _check_packages() -> None:
    missing = [name for name in ("onnx", "onnxruntime", "onnxscript") if find_spec(name) is None]
    if missing:
        raise ImportError(f"format 'onnx' needs {' and '.join(missing)}: pip install 'neural-graph-machines[export]'")


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what torch notes about itself while exporting; nobody here can act on it."""
    log = logging.getLogger("torch.onnx")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)


def _each(rows: Rows, change: Callable[[Tensor], Tensor]) -> Rows:
    return {name: _each(part, change) for name, part in rows.items()} if isinstance(rows, dict) else change(rows)


def _count(rows: Rows) -> int:
    return _count(next(iter(rows.values()))) if isinstance(rows, dict) else len(rows)


def _version() -> str:
    try:
        return metadata.version("neural-graph-machines")
    except metadata.PackageNotFoundError:
        return "of unknown version"
