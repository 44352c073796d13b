"""Lists of the best rows found so far, brought up to date from blocks of products. Compiled.

Importing this module imports numba: import it in functions. A block of products is read in pieces of `_PIECE`: as long
as none of them reaches the last place of its list, which is so nearly always, a piece costs a comparison for each
product, several at a time. Of equal products that of the lower row comes first, so that lists do not depend on the
order in which products come.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from ngm._compiled import compiled, inlined, vectorized
from ngm.build.neighbor_lists import Floats, NeighborLists, Rows

_PIECE = 64  # products that are compared before one of them is looked at
_ONE, _ZERO = np.float32(1), np.float32(0)
_HASH = 0x9E3779B1


@inlined
def _insert(lists: NeighborLists, row: int, value: np.float32, node: int) -> None:
    """Puts a product into the list of a row, if it is better than the last one there."""
    at = lists.similarity.shape[1] - 1
    last = lists.similarity[row, at]
    if value > last or (value == last and node < lists.neighbor[row, at]):
        while at > 0 and (
            lists.similarity[row, at - 1] < value
            or (lists.similarity[row, at - 1] == value and lists.neighbor[row, at - 1] > node)
        ):
            lists.similarity[row, at] = lists.similarity[row, at - 1]
            lists.neighbor[row, at] = lists.neighbor[row, at - 1]
            lists.fresh[row, at] = lists.fresh[row, at - 1]
            at -= 1
        lists.similarity[row, at], lists.neighbor[row, at], lists.fresh[row, at] = value, node, True


@vectorized
def add_block(products: Floats, first_row: int, first_column: int, lists: NeighborLists, limits: Floats) -> None:
    """Products of some rows with some others, each of which goes to the lists of both.

    Args:
        products: (r, c).
        first_row: Row of the first of them; rows follow each other.
        first_column: Likewise. A block that has the same rows on both sides holds every product twice, so that only the
            lists of its rows take them.
        lists: To be brought up to date.
        limits: (n,) the last similarity of each list, likewise.
    """
    last = lists.similarity.shape[1] - 1
    same = first_row == first_column
    for a in range(products.shape[0]):
        row, line = first_row + a, products[a]
        limit = limits[row]
        for start in range(0, len(line), _PIECE):
            piece = line[start : start + _PIECE]
            column = first_column + start
            others = limits[column : column + len(piece)]
            reached = _ZERO
            for b in range(len(piece)):
                lower = others[b]
                lower = limit if same or limit < lower else lower
                reached += _ONE if piece[b] >= lower else _ZERO
            if reached > 0:
                for b in range(len(piece)):
                    if piece[b] >= limit and column + b != row:
                        _insert(lists, row, piece[b], column + b)
                        limit = lists.similarity[row, last]
                    if not same and piece[b] >= others[b]:
                        _insert(lists, column + b, piece[b], row)
                        others[b] = lists.similarity[column + b, last]
        limits[row] = limit


@vectorized
def add_rows(products: Floats, rows: Rows, first_column: int, lists: NeighborLists) -> None:
    """Products of some rows with some that follow each other, for the lists of the former; no row is there twice.

    Args:
        products: (r, c).
        rows: (r,).
        first_column: Row of the first column.
        lists: To be brought up to date.
    """
    last = lists.similarity.shape[1] - 1
    for a in range(products.shape[0]):
        row, line = rows[a], products[a]
        limit = lists.similarity[row, last]
        for start in range(0, len(line), _PIECE):
            piece = line[start : start + _PIECE]
            reached = _ZERO
            for b in range(len(piece)):
                reached += _ONE if piece[b] >= limit else _ZERO
            if reached > 0:
                for b in range(len(piece)):
                    node = first_column + start + b
                    if piece[b] >= limit and node != row:
                        listed = False
                        for place in range(last + 1):
                            listed = listed or lists.neighbor[row, place] == node
                        if not listed:
                            _insert(lists, row, piece[b], node)
                            limit = lists.similarity[row, last]


@compiled
def merge(lists: NeighborLists, others: NeighborLists) -> None:
    """Puts what is in other lists of the same rows into these; none of it is there yet."""
    for row in range(lists.similarity.shape[0]):
        for place in range(lists.similarity.shape[1]):
            if others.neighbor[row, place] < 0:
                break
            _insert(lists, row, others.similarity[row, place], others.neighbor[row, place])


@compiled
def best_columns(products: Floats, skipped: int, count: int) -> Rows:
    """(r, count - skipped) columns of the largest products of each of (r, c) rows but the very largest, in no order.

    Args:
        products: (r, c).
        skipped: So many of the largest are left out.
        count: Together with these; at most c.
    """
    found = np.empty((products.shape[0], count - skipped), dtype=np.int32)
    columns, values = np.empty(count, dtype=np.int32), np.empty(count, dtype=np.float32)
    for a in range(products.shape[0]):
        line, worst = products[a], 0
        for b in range(len(line)):
            if b < count:
                columns[b], values[b] = b, line[b]
                if b + 1 < count:
                    continue
            elif line[b] > values[worst]:
                columns[worst], values[worst] = b, line[b]
            else:
                continue
            worst = int(np.argmin(values))
        if skipped:
            found[a] = columns[np.argsort(values)[: count - skipped]]
        else:
            found[a] = columns
    return found


@compiled
def group_by_cell(cells: Rows, first_row: int, num_cells: int) -> tuple[NDArray[np.int64], Rows]:
    """(offsets (num_cells + 1,), rows): those that look into cell c are rows[offsets[c]:offsets[c + 1]].

    Args:
        cells: (r, p) the cells that each of r rows looks into.
        first_row: Of these rows, which follow each other.
        num_cells: Of all cells.
    """
    offsets = np.zeros(num_cells + 1, dtype=np.int64)
    for cell in cells.flat:
        offsets[cell + 1] += 1
    offsets = np.cumsum(offsets)
    place, rows = offsets.copy(), np.empty(cells.size, dtype=np.int32)
    for a in range(cells.shape[0]):
        for cell in cells[a]:
            rows[place[cell]] = first_row + a
            place[cell] += 1
    return offsets, rows


@compiled
def reverse_lists(neighbor: Rows, length: int) -> Rows:
    """(n, length) the rows that chose each row, those first that rank it highest; -1 where fewer did."""
    found = np.full((len(neighbor), length), -1, dtype=np.int32)
    count = np.zeros(len(neighbor), dtype=np.int32)
    for rank in range(neighbor.shape[1]):
        for row in range(len(neighbor)):
            chosen = neighbor[row, rank]
            if chosen >= 0 and count[chosen] < length:
                found[chosen, count[chosen]] = row
                count[chosen] += 1
    return found


@inlined
def _add_to_table(table: Rows, stamp: Rows, node: int, row: int) -> bool:
    """Whether the node was not in the table of the row; now it is."""
    last = len(table) - 1
    slot = (node * _HASH) & last
    while stamp[slot] == row:
        if table[slot] == node:
            return False
        slot = (slot + 1) & last
    stamp[slot], table[slot] = row, node
    return True


@vectorized
def join_rows(
    query: Floats, key: Floats, known: NeighborLists, chose: Rows, start: int, stop: int, better: NeighborLists
) -> None:
    """Compares some rows with the neighbors of their neighbors, with those that chose them, and with their neighbors.

    Where neither the neighbor of a row nor its neighbor in turn is new in its list, both have been compared before.

    Args:
        query: (n, D).
        key: (n, D).
        known: The lists.
        chose: (n, e) from `reverse_lists`; as many of each list are asked for their neighbors.
        start: First row.
        stop: Row behind the last.
        better: Copies of the lists, to be brought up to date; none of theirs is fresh.
    """
    width, expanded = known.neighbor.shape[1], min(chose.shape[1], known.neighbor.shape[1])
    slots = 1024
    while slots < 2 * (width + (expanded + chose.shape[1]) * (expanded + 1)):
        slots *= 2  # twice as many as a row can meet
    table, stamp = np.empty(slots, dtype=np.int32), np.full(slots, -1, dtype=np.int32)
    for row in range(start, stop):
        limit = better.similarity[row, width - 1]
        _add_to_table(table, stamp, row, row)
        for place in range(width):
            _add_to_table(table, stamp, known.neighbor[row, place], row)
        for source in range(expanded + chose.shape[1]):
            own = source < expanded
            middle = known.neighbor[row, source] if own else chose[row, source - expanded]
            if middle < 0:
                continue
            fresh = not own or known.fresh[row, source]
            for place in range(-1, expanded):  # of -1, the one in the middle itself
                if place >= 0 and not (fresh or known.fresh[middle, place]):
                    continue
                node = middle if place < 0 else known.neighbor[middle, place]
                if node < 0 or not _add_to_table(table, stamp, node, row):
                    continue
                product = _ZERO
                for column in range(query.shape[1]):
                    product += query[row, column] * key[node, column]
                if product >= limit:
                    _insert(better, row, product, node)
                    limit = better.similarity[row, width - 1]
