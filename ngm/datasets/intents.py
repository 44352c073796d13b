"""Short messages and what they are meant for, in place of the private messages of the paper's section 4.3.

- `swda20`: 20 dialogue acts of telephone talk (Switchboard), 3,832 / 560 / 1,091 messages as in the paper.
- `clinc20`: the 20 small-talk intents of CLINC150, 2,000 / 400 / 600 messages.
- `clinc150`: all 150 intents (Larson et al., 2019), 15,000 / 3,000 / 4,500 messages; those out of scope are left out.

Each of the first two is a folder with `train.tsv`, `val.tsv` and `test.tsv`: label, tab and text in a line. The third
is the authors' `data_full.json`, here `clinc150.json`, from which `clinc20` is made where its own files are missing.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Literal, get_args

from ngm.datasets.dataset import Dataset, Record
from ngm.datasets.text_files import TextSplit, check_classes, check_texts, decoded, joined
from ngm.io.fetch import NOT_HERE, DataFile, Progress, find, where

Name = Literal["swda20", "clinc20", "clinc150"]

_CLINC = "github.com/clinc/oos-eval"
RECORDS: dict[Name, Record] = {
    "swda20": Record("swda20", 5_483, 0, 0, 20, "CC BY-NC-SA 3.0", "Switchboard Dialog Act Corpus, a selection"),
    "clinc20": Record("clinc20", 3_000, 0, 0, 20, "CC BY 3.0", f"{_CLINC}, the small talk of it"),
    "clinc150": Record("clinc150", 22_500, 0, 0, 150, "CC BY 3.0", _CLINC),
}
_NOTES: dict[Name, str] = {
    "swda20": "20 Switchboard dialogue acts in place of the paper's private messages, in its numbers",
    "clinc20": "20 small-talk intents of CLINC150 in place of the paper's private messages",
    "clinc150": "150 intents of CLINC150 in place of the paper's private messages",
}
_PARTS = ("train", "val", "test")
_SHA256 = {
    "swda20/train.tsv": "6ed6970493b7a7534e0fa91a605ad8543eec90c8998d3dc9b6b4cb2d3f31326b",
    "swda20/val.tsv": "96228c4325c6a237b8f2bb3cb089bc45715b7107c7483269a7671a9eda91989e",
    "swda20/test.tsv": "3a7934b862c5a48b4ace1a69159e667969623511709428b9181f22d491e9b4f6",
    "clinc20/train.tsv": "c5aa1d967853cc3cda79b982b1681bd511047cd0fd1d33dc0f74e7e0f72d28e3",
    "clinc20/val.tsv": "9991c69dcddfd581f2c1dbd2d01f6f35c65048324714ec719fd565d67371cd4b",
    "clinc20/test.tsv": "0cfdd2d785b24fd9d2ecce85d429bec1b2471185b47b37d9e0e5d86b044a30bf",
}
_ALL_INTENTS = DataFile(
    "intents/clinc150.json",
    "36923c3705a59e08fe9c3883d8bc2dd966ef93e22cb78ac41171782a698d56e0",
    "https://raw.githubusercontent.com/clinc/oos-eval/master/data/data_full.json",
)
_SMALL_TALK = (
    *("are_you_a_bot", "cancel", "do_you_have_pets", "fun_fact", "goodbye", "greeting", "how_old_are_you", "maybe"),
    *("meaning_of_life", "no", "repeat", "tell_joke", "thank_you", "what_are_your_hobbies", "what_can_i_ask_you"),
    *("what_is_your_name", "where_are_you_from", "who_do_you_work_for", "who_made_you", "yes"),
)


def intents(name: Name, progress: Progress | None = None) -> Dataset:
    """Loads messages and their intents.

    Args:
        name: Which ones.
        progress: Called while files are fetched.

    Returns:
        x a list of texts, training, validation and test messages in this order; no graph.
    """
    if name not in RECORDS:
        raise ValueError(f"there are no intents {name!r}; choose {', '.join(get_args(Name))}")
    needed = files(name)
    folder = find(name, needed, progress) / "intents"
    if needed != (_ALL_INTENTS,):
        return read(folder / name, name, _NOTES[name])
    return read_json(folder / "clinc150.json", name, _SMALL_TALK if name == "clinc20" else None, _NOTES[name])


def files(name: Name) -> tuple[DataFile, ...]:
    """The files to load: those of its own, or `clinc150.json` where `clinc20` has none on this machine."""
    if name == "clinc150":
        return (_ALL_INTENTS,)
    origin = f"{RECORDS[name].origin}; label, tab and text in a line"
    parts_files = tuple(
        DataFile(f"intents/{name}/{part}.tsv", _SHA256[f"{name}/{part}.tsv"], address="", origin=origin)
        for part in _PARTS
    )
    return (_ALL_INTENTS,) if name == "clinc20" and where(parts_files) == NOT_HERE else parts_files


def read(folder: Path, name: str = "intents", note: str = "") -> Dataset:
    """Reads `train.tsv`, `val.tsv` and `test.tsv`, whatever their hashes, such as custom messages.

    Args:
        folder: Where they are; label, tab and text in each line.
        name: For messages.
        note: See `Dataset`.

    Returns:
        Classes are the labels of the training messages, sorted.
    """
    paths = [folder / f"{part}.tsv" for part in _PARTS]
    return _joined(name, paths, [_lines(path) for path in paths], note)


def read_json(file: Path, name: str = "clinc150", classes: tuple[str, ...] | None = None, note: str = "") -> Dataset:
    """Reads the file of CLINC150: lists "train", "val" and "test" of pairs [text, intent].

    Args:
        file: Where it is.
        name: For messages.
        classes: The intents to keep; all where None.
        note: See `Dataset`.
    """
    content = decoded(file)
    try:
        lists = json.loads(content)
        pairs_by_part = [
            [(text, label) for text, label in lists[part] if classes is None or label in classes] for part in _PARTS
        ]
        if not all(isinstance(field, str) for pairs in pairs_by_part for pair in pairs for field in pair):
            raise TypeError("a text or an intent is no string")
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{file} cannot be read ({type(error).__name__}: {error}); give lists train, val and test of [text, intent]"
        ) from None
    parts = [TextSplit([text for text, _ in pairs], [label for _, label in pairs]) for pairs in pairs_by_part]
    paths = [file.with_name(f"{file.name}, {part}") for part in _PARTS]
    return _joined(name, paths, [check_texts(path, part) for path, part in zip(paths, parts, strict=True)], note)


def _lines(path: Path) -> TextSplit:
    part = TextSplit([], [])
    lines = decoded(path).split("\n")  # not splitlines: a text may hold characters that it takes for line ends
    for row, line in enumerate(lines[:-1] if not lines[-1] else lines, start=1):
        label, tab, text = line.removesuffix("\r").partition("\t")
        if not tab or not label.strip():
            raise ValueError(f"{path}, row {row}, is {line[:40]!r}; give label, tab and text")
        part.labels.append(label.strip())
        part.texts.append(text)
    return check_texts(path, part)


def _joined(name: str, paths: list[Path], parts: list[TextSplit], note: str) -> Dataset:
    train, validation, test = parts
    classes = sorted(set(check_classes(paths[0], train).labels))
    for path, part in zip(paths[1:], parts[1:], strict=True):
        for row, label in enumerate(part.labels, start=1):
            if label not in classes:
                raise ValueError(f"{path}, row {row}, has label {label!r}, which no training message has; leave it out")
    return joined(name, classes, train, test, validation, note=note)
