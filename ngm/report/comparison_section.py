"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ngm.io.node_records import VALIDATION
from ngm.io.run_folder import JSON
from ngm.report.curves_section import score_of, scores_of
from ngm.report.gain_section import gain_of
from ngm.report.page import Figure, Section, Shown
from ngm.report.plotting import as_float, as_int, axis, capital, count, line, rounded
from ngm.report.run_reader import Told
from ngm.report.run_section import NOT_COMPARED, plain
from ngm.report.score_names import Score

KEY, TITLE = "runs", "How do the runs compare?"
_MOST = 500  # points of a curve
Cell = str | int | float | None


def comparison_section(runs: Sequence[Told]) -> Section:
    """A table of the runs and what differs between them, and their validation curves together."""
    check_alike(runs)
    names = run_names(runs)
    scores = [_best(run) for run in runs]
    there = [(score, name) for score, name in zip(scores, names, strict=True) if score is not None]
    score = score_of(runs[0])
    same = score is not None and all(score_of(run) == score for run in runs)
    if score is not None and same and there:
        best = max(value for value, _ in there)
        winners = [name for value, name in there if value == best]
        first = f"{', '.join(winners[:-1])} and {winners[-1]} have" if len(winners) > 1 else f"{winners[0]} has"
        answer = f"Of {count(len(runs), 'run')} {first} the best {score.name} on validation rows: {score.said(best)}."
    else:
        answer = f"The {count(len(runs), 'run')} have no validation score in common to be compared by."
    differing = differing_settings(runs)
    notes = ["The runs have the same settings."] if not differing else []
    if len({run.num_validation for run in runs}) > 1:
        notes.append("They were scored on different numbers of validation rows, so their scores are of different data.")
    elif any(not same_validation_rows(runs[0], run) for run in runs[1:]):
        notes.append(
            "They were scored on different validation rows, as a different seed draws them, so part of the difference "
            "is chance: give the same rows as validation."
        )
    if len({tuple(run.classes) for run in runs}) > 1:
        notes.append("They tell different classes apart, so their scores are of different tasks.")
    columns = [
        "run",
        score.name if score is not None and same else "score",
        "gain over no graph",
        "epochs",
        "kept epoch",
        "seconds",
        *differing,
    ]
    rows = [_row(run, name, score, differing) for run, name, score in zip(runs, names, scores, strict=True)]
    table = Shown("runs", "The runs", columns, rows, download="runs.csv")
    figure = _figure(runs, names, score) if score is not None and same and there else None
    return Section(KEY, TITLE, answer, notes, [figure] if figure is not None else [], [table])


def same_validation_rows(first: Told, second: Told) -> bool:
    """Whether the validation rows are the same, as far as both runs kept them."""
    if first.evidence is None or second.evidence is None:
        return True
    roles = []
    for kept in (first.evidence, second.evidence):
        node = kept.row >= 0
        roles.append(dict(zip(kept.row[node].tolist(), (kept.role[node] == VALIDATION).tolist(), strict=True)))
    one, other = roles
    apart = [bool((kept.row < 0).any()) for kept in (first.evidence, second.evidence)]
    return apart[0] == apart[1] and all(other.get(row, hidden) == hidden for row, hidden in one.items())


def check_alike(runs: Sequence[Told]) -> None:
    """Refuses runs that predict different kinds of things."""
    first = runs[0]
    for other in runs[1:]:
        if other.estimator != first.estimator:
            raise ValueError(
                f"{first.folder} holds a {first.estimator}, {other.folder} a {other.estimator}; compare runs "
                "of one kind"
            )
        if other.task != first.task:
            raise ValueError(
                f"{first.folder} predicts {_what(first)}, {other.folder} {_what(other)}; compare runs of one kind"
            )


def _what(told: Told) -> str:
    return "several labels a row" if told.task == "labels" else "one class a row"


def run_names(runs: Sequence[Told]) -> list[str]:
    """Names of the folders; their whole paths where two have the same name."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def differing_settings(runs: Sequence[Told]) -> list[str]:
    """Settings that are not the same in all runs."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    values = {name: [run.used.get(name, run.settings.get(name)) for run in runs] for name in names}
    return [n for n, v in values.items() if n not in NOT_COMPARED and any(value != v[0] for value in v[1:])]


def _best(told: Told) -> float | None:
    score, best = score_of(told), as_int(told.metrics["best_epoch"])
    return scores_of(told, score)[best] if score is not None and 0 <= best < len(told.history) else None


def _row(told: Told, name: str, score: float | None, differing: Sequence[str]) -> list[Cell]:
    gain, kind = gain_of(told), score_of(told)
    shown: list[Cell] = [plain(told.used.get(n, told.settings.get(n))) for n in differing]
    return [
        name,
        None if score is None or kind is None else kind.shown(score),
        None if gain is None else gain.gain,
        as_int(told.metrics["epochs"]),
        as_int(told.metrics["best_epoch"]) + 1,
        round(as_float(told.metrics["seconds"]), 1),
        *shown,
    ]


def _figure(runs: Sequence[Told], names: Sequence[str], score: Score) -> Figure:
    words = capital(score.name)
    data, said = [], []
    for number, (run, name) in enumerate(zip(runs, names, strict=True)):
        step = -(-len(run.history) // _MOST)
        every = sorted({*range(0, len(run.history), step), len(run.history) - 1})
        values = scores_of(run, score)
        epochs: list[JSON] = [i + 1 for i in every]
        data.append(line(name, epochs, rounded([score.shown(values[i]) for i in every]), number))
        best = _best(run)
        said.append(
            f"{name} {score.said(best)} at epoch {as_int(run.metrics['best_epoch']) + 1}" if best is not None else name
        )
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis(score.name), "height": 380}
    alt = f"{words} on validation rows by epoch. Best: {'; '.join(said)}."
    return Figure("runs", f"{words} on validation rows, by run", alt, data, layout)
