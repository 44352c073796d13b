"""Border values come from the ranks that own the nodes, and sums go back there."""

from __future__ import annotations

import numpy as np

from tests.part_steps import values
from tests.partition.conftest import Found


def test_a_border_node_has_the_value_of_its_owner(found: Found) -> None:
    for rank in found:
        np.testing.assert_array_equal(rank["fetched"], values()[rank["nodes"]])


def test_an_owner_gets_a_summand_from_every_rank_that_has_the_node(found: Found) -> None:
    copies = np.bincount(np.concatenate([rank["nodes"] for rank in found]), minlength=40)
    for rank in found:
        np.testing.assert_array_equal(rank["counted"], copies[rank["owned"]])


def test_as_many_rows_are_sent_as_there_are_border_nodes(found: Found) -> None:
    sent = np.sum([rank["sent"] for rank in found], axis=0)
    border = sum(len(rank["nodes"]) - len(rank["owned"]) for rank in found)
    assert sent.tolist() == [border, border]
    assert (border > 0) == (len(found) > 1)
