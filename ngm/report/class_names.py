"""Names of classes and labels as a reader sees them: sets of labels joined, long names cut in sentences."""

from __future__ import annotations

from ngm.io.node_records import labels_in

_LONGEST = 60  # characters of a name in a sentence; tables have it whole


def spoken(word: object, task: str) -> str | None:
    """A label as evidence keeps it, for a table.

    Args:
        word: A class or a number, or several labels as `ngm.io.node_records.label_set` writes them; None where there is
            none.
        task: "classes", "labels" or "numbers".

    >>> spoken('["red", "big"]', "labels"), spoken('["red"]', "classes"), spoken(None, "labels")
    ('red; big', '["red"]', None)
    """
    if word is None:
        return None
    return "; ".join(labels_in(str(word))) if task == "labels" else str(word)


def brief(name: object, most: int = _LONGEST) -> str:
    """The start of a long name.

    >>> brief("a" * 9, most=5), brief("short", most=5)
    ('aaaa…', 'short')
    """
    words = str(name)
    return words if len(words) <= most else words[: most - 1].rstrip() + "…"
