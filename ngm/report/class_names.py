"""Formats names of classes and labels: joins sets of labels, shortens long names."""

from __future__ import annotations

from ngm.io.node_records import labels_in

_MAX_LENGTH = 60  # characters of a name in a sentence; tables have it whole


def label_text(label: object, task: str) -> str | None:
    """Formats a label of the node records for a table.

    Args:
        label: A class or a number, or several labels as `ngm.io.node_records.label_set` writes them; None if there is
            none.
        task: "classes", "labels" or "numbers".

    >>> label_text('["red", "big"]', "labels"), label_text('["red"]', "classes"), label_text(None, "labels")
    ('red; big', '["red"]', None)
    """
    if label is None:
        return None
    return "; ".join(labels_in(str(label))) if task == "labels" else str(label)


def shorten_name(name: object, max_length: int = _MAX_LENGTH) -> str:
    """Shortens a long name.

    >>> shorten_name("a" * 9, max_length=5), shorten_name("short", max_length=5)
    ('aaaa…', 'short')
    """
    text = str(name)
    return text if len(text) <= max_length else text[: max_length - 1].rstrip() + "…"
