"""Exported files give what `predict_proba` and `predict` give, for any number of rows and any length of texts."""

from __future__ import annotations

import copy
import importlib.util
import json
import warnings
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from ngm import NGMClassifier, NGMRegressor, load
from ngm.estimators import model_export
from ngm.estimators.exportable_networks import exportable
from ngm.networks import FFNN, CharCNNModule, LSTMModule
from ngm.text import Vocabulary, quantize
from tests.commands import runner

ort = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install '.[export]'")
pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install '.[export]'")

Outputs = dict[str, NDArray[np.float32]]
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 6)).astype(np.float32)
Y = np.where(X[:, 0] > 0, "yes", "no")
NEW = rng.normal(size=(300, 6)).astype(np.float32)
TEXTS = [f"{'a red cat' if i % 2 else 'the dog'} in room {i}" + " and on" * (i % 5) for i in range(30)]
NEW_TEXTS = ["", "zzz", "!", "a cat", "the dog in room 7", "dog " * 300, "A red, red cat... " * 40]


def onnx(file: Path) -> Callable[..., Outputs]:
    session = ort.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda **inputs: dict(zip(names, session.run(None, inputs), strict=True))


def archive(file: Path) -> Callable[..., Outputs]:
    module = torch.export.load(file).module()
    return lambda x: {name: values.detach().numpy() for name, values in module(torch.as_tensor(x)).items()}


RUN = {"onnx": onnx, "torch": archive}
both = pytest.mark.parametrize("format", ["onnx", "torch"])


@pytest.fixture(scope="module")
def classifier() -> NGMClassifier:
    return NGMClassifier(hidden=(16,), epochs=20).fit(X, Y)


def exported(model: NGMClassifier | NGMRegressor, format: str, folder: Path) -> Callable[..., Outputs]:
    return RUN[format](model.export(format, folder / f"model{model_export.SUFFIXES[format]}"))


@both
def test_probabilities_are_those_of_predict_proba_for_batches_of_any_size(
    classifier: NGMClassifier, format: str, tmp_path: Path
) -> None:
    run = exported(classifier, format, tmp_path)
    wanted = classifier.predict_proba(NEW)
    for size in (1, 2, 3, 64, 300):
        found = [run(x=NEW[start : start + size]) for start in range(0, 300, size)]
        np.testing.assert_allclose(np.concatenate([f["probabilities"] for f in found]), wanted, atol=1e-5)
        logits = np.concatenate([f["logits"] for f in found])
        np.testing.assert_allclose(logits, classifier._logits(NEW).numpy(), atol=1e-5)


@pytest.mark.parametrize("format", ["onnx"])
def test_sparse_rows_are_exported_as_dense_ones_scaled_to_length_one(format: str, tmp_path: Path) -> None:
    rows = sp.csr_array(np.where(rng.random((40, 30)) < 0.2, 5.0, 0.0).astype(np.float32))
    model = NGMClassifier(hidden=(8,), epochs=3, network=FFNN(input_scaling="unit_rows")).fit(rows, Y)
    run = RUN[format](model.export(format, tmp_path / "model.onnx", x=rows))
    dense = np.vstack([rows.toarray(), np.zeros((1, 30), dtype=np.float32)])
    np.testing.assert_allclose(run(x=dense)["probabilities"], model.predict_proba(sp.csr_array(dense)), atol=1e-6)


@both
def test_characters_of_any_length_give_what_the_texts_give(format: str, tmp_path: Path) -> None:
    model = NGMClassifier(network="charcnn", epochs=2).fit(TEXTS, ["a", "b"] * 15)
    run = exported(model, format, tmp_path)
    with pytest.warns(UserWarning, match="rests on nothing"):
        wanted = model.predict_proba(NEW_TEXTS)
    together = run(x=quantize(NEW_TEXTS)[:].numpy())["probabilities"]
    alone = [run(x=quantize([text])[:].numpy())["probabilities"][0] for text in NEW_TEXTS]
    np.testing.assert_allclose(together, wanted, atol=1e-5)
    np.testing.assert_allclose(np.stack(alone), wanted, atol=1e-5)


def test_words_of_any_length_give_what_the_texts_give_and_the_file_knows_the_words(tmp_path: Path) -> None:
    model = NGMClassifier(network="lstm", epochs=2).fit(TEXTS, ["a", "b"] * 15)
    file = model.export("onnx", tmp_path / "words.onnx")
    meta = ort.InferenceSession(str(file)).get_modelmeta().custom_metadata_map
    words = Vocabulary(json.loads(meta["words"]))
    assert words.words == model.vocabulary_.words
    with pytest.warns(UserWarning, match="rests on nothing"):
        wanted = model.predict_proba(NEW_TEXTS)
    run = onnx(file)
    together = run(x=words.read(NEW_TEXTS)[:].numpy())["probabilities"]
    alone = [run(x=words.read([text])[:].numpy())["probabilities"][0] for text in NEW_TEXTS]
    np.testing.assert_allclose(together, wanted, atol=1e-5)
    np.testing.assert_allclose(np.stack(alone), wanted, atol=1e-5)


@pytest.mark.parametrize("length", [1, 4, 30])
def test_the_lstm_as_exported_is_the_lstm_whatever_the_padding(length: int) -> None:
    torch.manual_seed(0)
    network = LSTMModule(50, 3, width=8, hidden=6).double().eval()
    rows = torch.randint(1, 50, (9, length))
    rows[torch.arange(length) >= torch.randint(0, length + 1, (9, 1))] = 0
    with torch.no_grad():
        torch.testing.assert_close(exportable(network)(rows), network(rows), rtol=0, atol=1e-12)
        padded = nn.functional.pad(rows, (0, 5))
        torch.testing.assert_close(exportable(network)(padded), network(rows), rtol=0, atol=1e-12)


@pytest.mark.parametrize("length", [1, 26, 27, 28, 80, 200])
@pytest.mark.parametrize("size", ["tiny", "small"])
def test_the_character_network_as_exported_is_the_character_network(size: str, length: int) -> None:
    torch.manual_seed(0)
    network = CharCNNModule(3, size, length=200).double().eval()
    codes = torch.randint(0, 71, (4, length), dtype=torch.uint8)
    with torch.no_grad():
        torch.testing.assert_close(exportable(network)(codes), network(codes), rtol=0, atol=1e-12)


def test_exporting_leaves_the_network_as_it_was(classifier: NGMClassifier, tmp_path: Path) -> None:
    before = copy.deepcopy(classifier.network_.state_dict())
    probabilities = classifier.predict_proba(NEW)
    classifier.export("torch", tmp_path / "model.pt2")
    for name, tensor in classifier.network_.state_dict().items():
        assert torch.equal(tensor, before[name])
    assert all(weight.requires_grad for weight in classifier.network_.parameters())
    assert np.array_equal(classifier.predict_proba(NEW), probabilities)


@pytest.mark.parametrize("format", ["torch"])
def test_a_regressor_predicts_in_the_units_of_y(format: str, tmp_path: Path) -> None:
    y = np.stack([1000 * X[:, 0] + 5000, X[:, 1]], axis=1)
    model = NGMRegressor(hidden=(16,), epochs=20).fit(X, y)
    found = exported(model, format, tmp_path)(x=NEW)
    assert list(found) == ["prediction"]
    np.testing.assert_allclose(found["prediction"], model.predict(NEW), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("format", ["torch"])
def test_several_labels_are_probabilities_of_their_own(format: str, tmp_path: Path) -> None:
    y = (X[:, :3] > 0).astype(int)
    model = NGMClassifier(hidden=(8,), epochs=20).fit(X, y)
    found = exported(model, format, tmp_path)(x=NEW)["probabilities"]
    np.testing.assert_allclose(found, model.predict_proba(NEW), atol=1e-6)
    assert np.abs(found.sum(axis=1) - 1).max() > 0.1


class Convolution(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.first, self.norm, self.output = nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.Linear(4, out_features)

    def forward(self, x: Tensor) -> Tensor:
        return self.output(self.norm(self.first(x)).relu().mean(dim=(2, 3)))


@both
def test_a_network_of_ones_own_is_exported_with_a_few_of_its_rows(format: str, tmp_path: Path) -> None:
    images = rng.normal(size=(40, 1, 5, 5)).astype(np.float32)
    model = NGMClassifier(network=Convolution, epochs=2).fit(images, Y)
    with pytest.raises(ValueError, match="one of your own") as error:
        model.export(format)
    assert str(error.value) == (
        "the network is one of your own, so what it takes is not known; give x=, a few rows such as predict takes"
    )
    file = model.export(format, tmp_path / f"own{model_export.SUFFIXES[format]}", x=images[:1])
    np.testing.assert_allclose(RUN[format](file)(x=images)["probabilities"], model.predict_proba(images), atol=1e-5)


class TwoParts(nn.Module):
    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.words, self.output = nn.Embedding(9, 4), nn.Linear(4, out_features)

    def forward(self, x: dict[str, Tensor]) -> Tensor:
        mask = x["attention"][:, :, None]
        return self.output((self.words(x["ids"]) * mask).sum(1) / mask.sum(1))


def test_inputs_with_parts_keep_their_names(tmp_path: Path) -> None:
    parts = {"ids": rng.integers(9, size=(40, 7)), "attention": (rng.random((40, 7)) < 0.9).astype(np.int64)}
    parts["attention"][:, 0] = 1
    model = NGMClassifier(network=TwoParts, epochs=2).fit(parts, Y)
    run = onnx(model.export("onnx", tmp_path / "parts.onnx", x=parts))
    np.testing.assert_allclose(run(**parts)["probabilities"], model.predict_proba(parts), atol=1e-5)


def test_the_onnx_file_says_what_it_is_and_nothing_of_this_machine(classifier: NGMClassifier, tmp_path: Path) -> None:
    file = classifier.export("onnx", tmp_path / "model.onnx")
    session = ort.InferenceSession(str(file))
    (given,) = session.get_inputs()
    assert (given.name, given.shape, given.type) == ("x", ["batch", 6], "tensor(float)")
    assert [(o.name, o.shape) for o in session.get_outputs()] == [
        ("logits", ["batch", 2]),
        ("probabilities", ["batch", 2]),
    ]
    meta = session.get_modelmeta().custom_metadata_map
    assert json.loads(meta["classes"]) == ["no", "yes"]
    assert json.loads(meta["inputs"]) == {"x": {"shape": ["batch", 6], "type": "float32"}}
    assert (meta["task"], meta["estimator"], meta["network"]) == ("classes", "NGMClassifier", "ffnn")
    assert meta["library"].startswith("neural-graph-machines ")
    assert b".py" not in file.read_bytes()
    assert b"pkg.torch" not in file.read_bytes()  # torch's own notes on where a node comes from
    assert str(Path.home()).encode() not in file.read_bytes()


def test_the_torch_file_says_what_it_is_and_holds_no_pickle_and_no_rows(
    classifier: NGMClassifier, tmp_path: Path
) -> None:
    file = classifier.export("torch", tmp_path / "model.pt2", x=X)
    extra = {"metadata.json": ""}
    torch.export.load(file, extra_files=extra)
    assert json.loads(extra["metadata.json"])["classes"] == ["no", "yes"]
    with zipfile.ZipFile(file) as parts:
        content = {name: parts.read(name) for name in parts.namelist()}
    assert all(not value.startswith(b"PK") and b"\x80\x02" not in value[:2] for value in content.values())
    assert not any(X[0].tobytes() in value for value in content.values())
    assert not any(b".py" in value for name, value in content.items() if name.endswith("json"))


def test_without_a_name_the_file_is_model_with_its_ending_here(
    classifier: NGMClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert classifier.export("torch") == Path("model.pt2")
    assert Path("model.pt2").exists()


def ending_in(layer: type[nn.Linear]) -> Callable[[int, int], nn.Module]:
    return lambda wide, narrow: nn.Sequential(nn.Linear(wide, 4), layer(4, narrow))


class Loud(nn.Linear):
    """Gives random numbers: nothing that is exported can agree with it."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x) + torch.rand(x.shape[0], self.out_features)


def test_a_file_that_gives_something_else_is_not_kept(tmp_path: Path) -> None:
    model = NGMClassifier(network=ending_in(Loud), epochs=1).fit(X, Y)
    with pytest.raises(RuntimeError, match="was not kept") as error:
        model.export("torch", tmp_path / "loud.pt2", x=X)
    assert str(error.value).startswith("loud.pt2 was not kept: its logits differ from the network's by 0.")
    assert str(error.value).endswith(
        "for 16 rows, 0.0001 at most would be right; does the network draw random numbers?"
    )
    assert list(tmp_path.iterdir()) == []


class Branching(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x if x.sum() > 0 else -x)


class Counting(nn.Linear):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).reshape(len(x), -1)


@pytest.mark.parametrize(
    ("layer", "remedy"),
    [
        (Branching, "has to take the same steps for any number of rows, without branches on what is in them"),
        (Counting, "(its forward counts the rows or asks for their number); write x.shape[0] for len(x)"),
    ],
)
def test_a_network_that_cannot_be_exported_is_told_why(layer: type[nn.Linear], remedy: str, tmp_path: Path) -> None:
    model = NGMClassifier(network=ending_in(layer), epochs=1).fit(X, Y)
    with pytest.raises(ValueError, match="the network cannot be exported") as error:
        model.export("onnx", tmp_path / "model.onnx", x=X)
    assert str(error.value).endswith(remedy)
    assert "\n" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("onxx",), "unknown format 'onxx' (did you mean 'onnx'?); choose 'onnx', or 'torch' for torch.export"),
        (
            ("torchscript",),
            "unknown format 'torchscript' (did you mean 'torch'?); choose 'onnx', or 'torch' for torch.export (torch "
            "gave TorchScript up for torch.export)",
        ),
        (("onnx", "model.pt2"), "file is 'model.pt2'; for format 'onnx' its name ends in .onnx"),
        (("torch", "model"), "file is 'model'; for format 'torch' its name ends in .pt2"),
    ],
)
def test_a_wrong_format_or_ending_is_refused(classifier: NGMClassifier, words: Sequence[str], message: str) -> None:
    with pytest.raises(ValueError, match="format") as error:
        classifier.export(*words)
    assert str(error.value) == message


def test_a_folder_is_no_file(classifier: NGMClassifier, tmp_path: Path) -> None:
    (tmp_path / "model.onnx").mkdir()
    with pytest.raises(ValueError, match="folder") as error:
        classifier.export("onnx", tmp_path / "model.onnx")
    assert str(error.value) == f"file is '{tmp_path / 'model.onnx'}', which is a folder; name a file in it"


def test_rows_of_another_width_are_refused(classifier: NGMClassifier) -> None:
    with pytest.raises(ValueError, match="5 features"):
        classifier.export("onnx", x=X[:, :5])


@pytest.fixture
def run_folder(classifier: NGMClassifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return classifier.save(tmp_path / "run")


def test_the_command_exports_what_the_estimator_exports(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = runner(monkeypatch, capsys)("export", "run", "-o", "made/model.pt2", "--json")
    assert code == 0
    said = json.loads(out)
    assert (said["model"], said["format"], said["rows_checked"]) == ("made/model.pt2", "torch", 8)
    assert said["classes"] == ["no", "yes"]
    assert said["bytes"] == Path("made/model.pt2").stat().st_size
    assert 0 <= said["difference"] < 1e-6
    np.testing.assert_allclose(
        archive(Path("made/model.pt2"))(x=NEW)["probabilities"], load(run_folder).predict_proba(NEW), atol=1e-6
    )


def test_the_command_tells_what_the_file_takes_and_gives(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, _ = runner(monkeypatch, capsys)("export", "run", "-o", "model.pt2")
    assert code == 0
    lines = [" ".join(line.split()) for line in out.splitlines()]
    assert lines[0].startswith("network ffnn, 0.0 MB")
    assert lines[1:4] == ["takes x: float32 (batch, 6)", "gives logits, probabilities", "classes no, yes"]
    assert lines[4].startswith("checked differs by ")
    assert lines[-1] == "Model: model.pt2"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("run", "-o", "m.bin"), "--output is 'm.bin'; name a file that ends in .onnx, or in .pt2 for torch.export"),
        (("nowhere",), "nowhere is not a run folder: it has no config.json"),
    ],
)
def test_the_command_says_in_one_line_what_is_wrong(
    run_folder: Path,
    words: Sequence[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert runner(monkeypatch, capsys, joined=False)("export", *words) == (2, "", f"error: {message}\n")


def test_a_missing_package_is_named_with_the_remedy(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    there = importlib.util.find_spec
    monkeypatch.setattr(model_export, "find_spec", lambda name: None if name == "onnxscript" else there(name))
    assert runner(monkeypatch, capsys, joined=False)("export", "run") == (
        2,
        "",
        "error: format 'onnx' needs onnxscript: pip install 'neural-graph-machines[export]'\n",
    )
    assert not Path("model.onnx").exists()


def test_a_network_of_ones_own_is_not_for_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    NGMClassifier(network=Convolution, epochs=1).fit(X.reshape(40, 1, 2, 3)[:, :, [0, 1, 0]], Y).save("own")
    assert runner(monkeypatch, capsys, joined=False)("export", "own") == (
        2,
        "",
        "error: own was trained with a network of your own (Convolution); call load(folder, network=Convolution)\n",
    )


def test_warnings_are_errors_again_after_an_export(classifier: NGMClassifier, tmp_path: Path) -> None:
    classifier.export("torch", tmp_path / "model.pt2")
    with pytest.raises(UserWarning, match="still an error"):
        warnings.warn("still an error", stacklevel=1)
