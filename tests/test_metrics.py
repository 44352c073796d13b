"""Accuracy, F1, recall and reciprocal rank."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, f1_score, label_ranking_average_precision_score, recall_score

from ngm.metrics import Average, accuracy, f1, mean_reciprocal_rank, recall

Problem = tuple[NDArray[np.int64], NDArray[np.float64]]

Y = np.array([[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 0, 1]])
SCORES = np.array([[0.9, 0.6, 0.1], [0.4, 0.7, 0.2], [0.3, 0.2, 0.1], [0.1, 0.8, 0.9]])
# At 0.5:   1 1 0 / 0 1 0 / 0 0 0 / 0 1 1
# Top k:    1 0 0 / 1 1 0 / 1 0 0 / 0 0 1


@pytest.fixture
def random_problem() -> Problem:
    rng = np.random.default_rng(0)
    return (rng.random((200, 7)) < 0.3).astype(int), rng.normal(size=(200, 7))


def test_accuracy_is_the_share_of_right_classes() -> None:
    assert accuracy([0, 1, 2, 2], [0, 1, 1, 2]) == 0.75
    assert accuracy(np.array(["cat", "dog"]), np.array(["cat", "cat"])) == 0.5


def test_accuracy_agrees_with_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    y, guess = rng.integers(0, 4, 99), rng.integers(0, 4, 99)
    assert accuracy(y, guess) == pytest.approx(accuracy_score(y, guess), abs=1e-12)


def test_accuracy_refuses_unlabeled_truth() -> None:
    with pytest.raises(ValueError, match=r"y_true\[1\] is -1, which means unlabeled; leave such nodes out"):
        accuracy([0, -1], [0, 0])


def test_accuracy_refuses_arrays_that_do_not_match() -> None:
    with pytest.raises(ValueError, match=r"y_true has shape \(2,\), y_pred \(3,\); give one class per node"):
        accuracy([0, 1], [0, 1, 1])


def test_accuracy_of_no_nodes_is_an_error() -> None:
    with pytest.raises(ValueError, match=r"y_true has shape \(0,\); there must be a node to score"):
        accuracy([], [])


def test_independent_f1_worked_by_hand() -> None:
    # label 0: tp 1, fp 0, fn 1 -> 2/3; label 1: tp 1, fp 2, fn 1 -> 2/5; label 2: tp 1 -> 1
    assert f1(Y, SCORES) == pytest.approx((2 / 3 + 2 / 5 + 1) / 3)
    assert f1(Y, SCORES, average="micro") == pytest.approx(2 * 3 / (2 * 3 + 2 + 2))


def test_top_k_f1_worked_by_hand() -> None:
    # label 0: tp 2, fp 1, fn 0 -> 4/5; label 1: tp 1, fp 0, fn 1 -> 2/3; label 2: tp 1 -> 1
    assert f1(Y, SCORES, protocol="top_k") == pytest.approx((4 / 5 + 2 / 3 + 1) / 3)
    assert f1(Y, SCORES, average="micro", protocol="top_k") == pytest.approx(4 / 5)


def test_recall_worked_by_hand() -> None:
    assert recall(Y, SCORES) == pytest.approx((1 / 2 + 1 / 2 + 1) / 3)
    assert recall(Y, SCORES, average="micro") == pytest.approx(3 / 5)
    assert recall(Y, SCORES, protocol="top_k") == pytest.approx((1 + 1 / 2 + 1) / 3)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_ready_predictions_score_as_in_scikit_learn(random_problem: Problem, average: Average) -> None:
    y, scores = random_problem
    guess = (scores > 0).astype(int)
    assert f1(y, guess, average) == pytest.approx(f1_score(y, guess, average=average, zero_division=0))
    assert recall(y, guess, average) == pytest.approx(recall_score(y, guess, average=average, zero_division=0))


def test_top_k_agrees_with_a_plain_loop(random_problem: Problem) -> None:
    y, scores = random_problem
    guess = np.zeros_like(y)
    for row in range(len(y)):
        best = [label for _, label in sorted(zip(-scores[row], range(y.shape[1]), strict=True))]
        guess[row, best[: y[row].sum()]] = 1
    assert f1(y, scores, protocol="top_k") == pytest.approx(f1_score(y, guess, average="macro"))


def test_micro_f1_equals_micro_recall_at_top_k(random_problem: Problem) -> None:
    y, scores = random_problem  # as many labels are predicted as are true, so precision equals recall
    assert f1(y, scores, "micro", "top_k") == pytest.approx(recall(y, scores, "micro", "top_k"))


def test_top_k_is_the_same_for_any_monotone_change_of_scores(random_problem: Problem) -> None:
    y, scores = random_problem
    assert f1(y, scores, protocol="top_k") == f1(y, np.exp(scores) - 9, protocol="top_k")


def test_earlier_label_wins_a_tie_at_top_k() -> None:
    label = np.arange(64)[None]  # (1, 64); wide, since short rows are sorted stably by any method
    assert f1((label % 2 == 1) & (label < 40), label % 2, "micro", "top_k") == 1.0
    assert f1([[0, 1]], [[0.5, 0.5]], "micro", "top_k") == 0.0


def test_score_that_equals_its_threshold_is_predicted() -> None:
    assert f1([[1, 0]], [[0.5, 0.49]], "micro") == 1.0


def test_each_label_has_its_own_threshold() -> None:
    # 0.9 >= 0.35, 0.4 >= 0.35 and 0.7 >= 0.65, 0.8 >= 0.65 and 0.9 >= 0.5: label 1 keeps one fp, one fn
    limits = np.array([0.35, 0.65, 0.5])
    assert f1(Y, SCORES, threshold=limits) == pytest.approx((1 + 1 / 2 + 1) / 3)
    assert f1(Y, SCORES, threshold=torch.tensor(limits)) == f1(Y, SCORES, threshold=limits)


@pytest.mark.parametrize("average", ["macro", "micro"])
def test_single_label_is_not_averaged_with_its_absence(average: Average) -> None:
    y, guess = [[1], [0], [0]], [[1], [1], [0]]  # tp 1, fp 1
    assert f1(y, guess, average) == pytest.approx(2 / 3)
    assert recall(y, guess, average) == 1.0


def test_label_that_is_nowhere_counts_as_zero_in_macro() -> None:
    assert f1([[1, 0], [1, 0]], [[1, 0], [1, 0]]) == 0.5


def test_torch_and_numpy_give_the_same() -> None:
    y, scores = torch.tensor(Y), torch.tensor(SCORES, requires_grad=True)
    assert f1(y, scores) == f1(Y, SCORES)
    assert f1(y, scores, protocol="top_k") == f1(Y, SCORES, protocol="top_k")
    assert accuracy(torch.tensor([0, 1]), torch.tensor([0, 0])) == 0.5
    assert mean_reciprocal_rank(torch.tensor([1]), torch.tensor([[2.0, 1.0]], dtype=torch.bfloat16)) == 0.5


def test_f1_errors_name_the_value_and_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"average is 'weighted'; choose 'macro' or 'micro'"):
        f1(Y, SCORES, average="weighted")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"protocol is 'top'; choose 'independent' or 'top_k'"):
        f1(Y, SCORES, protocol="top")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"threshold is 0\.3 but protocol 'top_k' has none; leave"):
        f1(Y, SCORES, protocol="top_k", threshold=0.3)
    with pytest.raises(ValueError, match=r"threshold has shape \(2,\); give one number, or \(3,\) one per label"):
        f1(Y, SCORES, threshold=[0.5, 0.5])
    with pytest.raises(ValueError, match=r"y_true\[0, 1\] is -1; it must be 0 or 1, so leave unlabeled"):
        recall([[0, -1]], [[0.1, 0.2]])
    with pytest.raises(ValueError, match=r"y_true has shape \(4, 3\), scores \(4, 2\); both must be"):
        f1(Y, SCORES[:, :2])
    with pytest.raises(ValueError, match=r"the score at \(0, 1\) is NaN; every score must be a number"):
        f1([[0, 1]], [[0.1, np.nan]])


def test_reciprocal_rank_worked_by_hand() -> None:
    scores = [[3.0, 2.0, 1.0], [3.0, 2.0, 1.0], [3.0, 2.0, 1.0]]
    assert mean_reciprocal_rank([0, 1, 2], scores) == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)


def test_correct_top_answer_with_negative_score_counts_one() -> None:
    assert mean_reciprocal_rank([1], [[-5.0, -0.1, -7.0]]) == 1.0
    assert mean_reciprocal_rank([1], [[-np.inf, -0.1, -np.inf]]) == 1.0


def test_tied_classes_share_the_average_of_their_ranks() -> None:
    assert mean_reciprocal_rank([0], [[1.0, 1.0, 0.0]]) == pytest.approx(1 / 1.5)
    assert mean_reciprocal_rank([1], [[2.0, 1.0, 1.0, 1.0]]) == pytest.approx(1 / 3)  # ranks 2, 3, 4
    assert mean_reciprocal_rank([3], np.zeros((1, 5))) == pytest.approx(2 / 6)


def test_reciprocal_rank_does_not_depend_on_the_order_of_classes() -> None:
    rng = np.random.default_rng(2)
    y, scores = rng.integers(0, 6, 50), rng.integers(0, 3, (50, 6)).astype(float)  # many ties
    order = rng.permutation(6)
    moved = mean_reciprocal_rank(np.argsort(order)[y], scores[:, order])
    assert moved == pytest.approx(mean_reciprocal_rank(y, scores))


def test_reciprocal_rank_is_the_same_for_any_monotone_change_of_scores() -> None:
    rng = np.random.default_rng(3)
    y, scores = rng.integers(0, 9, 80), rng.normal(size=(80, 9))
    for changed in (np.exp(scores), scores - 100, scores**3, np.arctan(scores)):
        assert mean_reciprocal_rank(y, changed) == mean_reciprocal_rank(y, scores)


def test_reciprocal_rank_agrees_with_scikit_learn_where_nothing_ties() -> None:
    rng = np.random.default_rng(4)
    y, scores = rng.integers(0, 9, 80), rng.normal(size=(80, 9))
    # with one true label, label ranking average precision is the reciprocal rank
    expected = label_ranking_average_precision_score(np.eye(9)[y], scores)
    assert mean_reciprocal_rank(y, scores) == pytest.approx(expected)


def test_reciprocal_rank_errors_name_the_value_and_the_remedy() -> None:
    with pytest.raises(ValueError, match=r"y_true\[1\] is 2; with 2 scores classes run from 0 up to 1"):
        mean_reciprocal_rank([0, 2], [[0.1, 0.2], [0.1, 0.2]])
    with pytest.raises(ValueError, match=r"y_true\[0\] is -1, which means unlabeled"):
        mean_reciprocal_rank([-1], [[0.1, 0.2]])
    with pytest.raises(ValueError, match=r"y_true has shape \(1,\), scores \(2,\); give a class and C scores"):
        mean_reciprocal_rank([0], [0.1, 0.2])
    with pytest.raises(ValueError, match=r"the score at \(0, 0\) is NaN"):
        mean_reciprocal_rank([0], [[np.nan, 0.2]])
