"""Thesaurus files in MyThes form: that of LibreOffice and of Debian's packages `mythes-*`."""

from __future__ import annotations

import codecs
import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

_FOLDERS = (
    "/usr/share/mythes",
    "/usr/lib/libreoffice/share/extensions/dict-en",
    "/opt/libreoffice/share/extensions/dict-en",
    "/Applications/LibreOffice.app/Contents/Resources/extensions/dict-en",
)
_NAME = "th_en_US*.dat*"
_REMEDY = "apt-get install mythes-en-us, or give a MyThes file of your own, such as th_en_US_v2.dat"
_MARK = re.compile(r"\s*\(([^()]*)\)\s*$")


def installed() -> Path:
    """The English thesaurus of this machine."""
    for folder in _FOLDERS:
        for file in sorted(Path(folder).glob(_NAME)):
            return file
    raise FileNotFoundError(f"no English thesaurus is installed; {_REMEDY}")


def read(file: Path, selects: Callable[[str], bool]) -> dict[str, tuple[str, ...]]:
    """Reads the synonyms of each word, those of its most frequent meaning first.

    A file has its encoding on the first line, then for each word a line `word|2` and so many lines of meanings,
    `(noun)|synonym|another|broader (generic term)|contrary (antonym)`. A term with a mark behind it is no synonym,
    and an antonym in one meaning is none in any other.

    Args:
        file: Compressed where it ends in `.gz`.
        selects: Which words, in lower case, to keep.

    Returns:
        Synonyms, each once, in the order of the file; words in lower case, those without any left out.
    """
    synonyms: dict[str, dict[str, None]] = {}
    antonyms: dict[str, set[str]] = {}
    for word, meaning in _meanings(file, selects):
        terms_of_word = synonyms.setdefault(word, {})
        for term in meaning.split("|")[1:]:
            mark = _MARK.search(term) if term.rstrip().endswith(")") else None
            if mark:
                if mark[1].lower().startswith("antonym"):
                    antonyms.setdefault(word, set()).add(term[: mark.start()].strip().lower())
            elif term.strip() and term.strip().lower() != word:
                terms_of_word.setdefault(term.strip())
    selected = {
        word: tuple(t for t in terms if t.lower() not in antonyms.get(word, ())) for word, terms in synonyms.items()
    }
    return {word: terms for word, terms in selected.items() if terms}


def _meanings(file: Path, selects: Callable[[str], bool]) -> Iterator[tuple[str, str]]:
    """(word in lower case, line of one of its meanings), of the selected words only."""
    lines = _text(file).split("\n")
    number = 1
    while number < len(lines):
        word, bar, count = lines[number].strip().rpartition("|")
        number += 1
        if not bar and not count:
            continue
        if not bar or not count.isdigit():
            raise ValueError(
                f"{file}, line {number}, is {lines[number - 1][:40]!r}; give a word and its number of meanings, "
                "as in 'good|2'"
            )
        last = number + int(count)
        if last > len(lines) or not all(map(_is_meaning, lines[number:last])):
            raise ValueError(
                f"{file}, line {number}, says that {word!r} has {count} meanings, and fewer follow; it may be cut short"
            )
        word = word.strip().lower()
        if selects(word):
            for meaning in lines[number:last]:
                yield word, meaning
        number = last


def _is_meaning(line: str) -> bool:
    """Whether a line is one of synonyms, not the next word's nor the file's end."""
    return bool(line) and (line[0] in "(-|" or not line.rpartition("|")[2].strip().isdigit())


def _text(file: Path) -> str:
    """The whole file in the encoding that its first line names."""
    if not file.is_file():
        raise FileNotFoundError(f"cannot find the thesaurus {file}; {_REMEDY}")
    content = file.read_bytes()
    if file.suffix == ".gz":
        try:
            content = gzip.decompress(content)
        except (gzip.BadGzipFile, EOFError, zlib.error) as error:
            raise ValueError(f"{file} cannot be unpacked ({error}); fetch it again") from None
    name = content.split(b"\n", 1)[0].decode("ascii", errors="replace").strip().removeprefix("microsoft-")
    try:
        codecs.lookup(name)  # an empty file decodes under any name
        return content.decode(name)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"{file}, line {line}, is not {name} (byte 0x{content[error.start]:02x}); "
            "its first line must name its encoding"
        ) from None
    except (LookupError, ValueError):
        raise ValueError(
            f"{file} begins with {name[:40]!r}; a MyThes file begins with its encoding, such as UTF-8"
        ) from None
