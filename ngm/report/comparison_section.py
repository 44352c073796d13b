"""Several runs side by side."""

from __future__ import annotations

from collections.abc import Sequence

from ngm.io.node_records import VALIDATION
from ngm.io.run_folder import JSON
from ngm.report.curves_section import validation_metric, validation_scores
from ngm.report.gain_section import gain_of
from ngm.report.page import Cell, Figure, ReportTable, Section
from ngm.report.plotting import as_float, as_int, axis, capitalize, count, line, round_significant
from ngm.report.run_reader import RunData
from ngm.report.run_section import NOT_COMPARED, as_cell
from ngm.report.score_names import MetricFormat

KEY, TITLE = "runs", "How do the runs compare?"
_MAX_POINTS = 500  # points of a curve


def comparison_section(runs: Sequence[RunData]) -> Section:
    """A table of the runs and what differs between them, and their validation curves together."""
    check_comparable(runs)
    names = run_names(runs)
    scores = [_best_score(run) for run in runs]
    scored = [(score, name) for score, name in zip(scores, names, strict=True) if score is not None]
    score = validation_metric(runs[0])
    comparable = score is not None and all(validation_metric(run) == score for run in runs)
    if score is not None and comparable and scored:
        best = max(value for value, _ in scored)
        winners = [name for value, name in scored if value == best]
        winner_names = f"{', '.join(winners[:-1])} and {winners[-1]} have" if len(winners) > 1 else f"{winners[0]} has"
        answer = (
            f"Of {count(len(runs), 'run')} {winner_names} the best {score.name} on validation rows: "
            f"{score.format(best)}."
        )
    else:
        answer = f"The {count(len(runs), 'run')} have no validation score in common."
    differing = differing_settings(runs)
    notes = ["The runs have the same settings."] if not differing else []
    if len({run.num_validation for run in runs}) > 1:
        notes.append("They were scored on different numbers of validation rows, so their scores are not comparable.")
    elif any(not same_validation_rows(runs[0], run) for run in runs[1:]):
        notes.append(
            "They were scored on different validation rows, as a different seed draws them, so part of the difference "
            "is chance: give the same rows as validation."
        )
    if len({tuple(run.classes) for run in runs}) > 1:
        notes.append("They predict different classes, so their scores are not comparable.")
    columns = [
        "run",
        score.name if score is not None and comparable else "score",
        "gain over no graph",
        "epochs",
        "kept epoch",
        "seconds",
        *differing,
    ]
    rows = [_row(run, name, score, differing) for run, name, score in zip(runs, names, scores, strict=True)]
    table = ReportTable("runs", "The runs", columns, rows, download="runs.csv")
    figure = _figure(runs, names, score) if score is not None and comparable and scored else None
    return Section(KEY, TITLE, answer, notes, [figure] if figure is not None else [], [table])


def same_validation_rows(first: RunData, second: RunData) -> bool:
    """Whether the validation rows are the same, as far as both runs kept them."""
    if first.node_records is None or second.node_records is None:
        return True
    roles = []
    for records in (first.node_records, second.node_records):
        node = records.row >= 0
        roles.append(dict(zip(records.row[node].tolist(), (records.role[node] == VALIDATION).tolist(), strict=True)))
    first_roles, second_roles = roles
    has_separate_rows = [bool((records.row < 0).any()) for records in (first.node_records, second.node_records)]
    return has_separate_rows[0] == has_separate_rows[1] and all(
        second_roles.get(row, hidden) == hidden for row, hidden in first_roles.items()
    )


def check_comparable(runs: Sequence[RunData]) -> None:
    """Raises if the runs have different estimators or tasks."""
    first = runs[0]
    for other in runs[1:]:
        if other.estimator != first.estimator:
            raise ValueError(
                f"{first.folder} holds a {first.estimator}, {other.folder} a {other.estimator}; compare runs "
                "of one kind"
            )
        if other.task != first.task:
            raise ValueError(
                f"{first.folder} predicts {_task_name(first)}, {other.folder} {_task_name(other)}; compare runs of "
                "one kind"
            )


def _task_name(run: RunData) -> str:
    return "several labels a row" if run.task == "labels" else "one class a row"


def run_names(runs: Sequence[RunData]) -> list[str]:
    """Names of the folders; their whole paths where two have the same name."""
    names = [run.name for run in runs]
    return names if len(set(names)) == len(names) else [str(run.folder) for run in runs]


def differing_settings(runs: Sequence[RunData]) -> list[str]:
    """Settings that are not the same in all runs."""
    names = dict.fromkeys(name for run in runs for name in run.settings)
    values = {name: [run.used.get(name, run.settings.get(name)) for run in runs] for name in names}
    return [n for n, v in values.items() if n not in NOT_COMPARED and any(value != v[0] for value in v[1:])]


def _best_score(run: RunData) -> float | None:
    score, best_epoch = validation_metric(run), as_int(run.metrics["best_epoch"])
    return (
        validation_scores(run, score)[best_epoch] if score is not None and 0 <= best_epoch < len(run.history) else None
    )


def _row(run: RunData, name: str, score: float | None, differing: Sequence[str]) -> list[Cell]:
    gain, metric = gain_of(run), validation_metric(run)
    settings: list[Cell] = [as_cell(run.used.get(n, run.settings.get(n))) for n in differing]
    return [
        name,
        None if score is None or metric is None else metric.display_value(score),
        None if gain is None else gain.difference,
        as_int(run.metrics["epochs"]),
        as_int(run.metrics["best_epoch"]) + 1,
        round(as_float(run.metrics["seconds"]), 1),
        *settings,
    ]


def _figure(runs: Sequence[RunData], names: Sequence[str], score: MetricFormat) -> Figure:
    title = capitalize(score.name)
    data, descriptions = [], []
    for number, (run, name) in enumerate(zip(runs, names, strict=True)):
        step = -(-len(run.history) // _MAX_POINTS)
        indices = sorted({*range(0, len(run.history), step), len(run.history) - 1})
        values = validation_scores(run, score)
        epochs: list[JSON] = [i + 1 for i in indices]
        data.append(line(name, epochs, round_significant([score.display_value(values[i]) for i in indices]), number))
        best = _best_score(run)
        descriptions.append(
            f"{name} {score.format(best)} at epoch {as_int(run.metrics['best_epoch']) + 1}"
            if best is not None
            else name
        )
    layout: dict[str, JSON] = {"xaxis": axis("epoch"), "yaxis": axis(score.name), "height": 380}
    alt = f"{title} on validation rows by epoch. Best: {'; '.join(descriptions)}."
    return Figure("runs", f"{title} on validation rows, by run", alt, data, layout)
