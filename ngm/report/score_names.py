"""Formats validation scores: names, direction and number format."""

from __future__ import annotations

from dataclasses import dataclass

from ngm.report.plotting import percent

_NAMES = {
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
    "mrr": "mean reciprocal rank",
    "r_squared": "R²",
    "squared_error": "squared error of scaled numbers",
}
_NEGATIVE = "negative_"


@dataclass(frozen=True)
class MetricFormat:
    """A score by its name in the run folder, where higher is better.

    Negative errors are shown as errors, where lower is better.
    """

    metric: str

    @property
    def name(self) -> str:
        """In words."""
        metric = self.metric.removeprefix(_NEGATIVE)
        return _NAMES.get(metric, metric.replace("_", " "))

    @property
    def lower_is_better(self) -> bool:
        """Of what is shown."""
        return self.metric.startswith(_NEGATIVE)

    def display_value(self, value: float) -> float:
        """The number to draw or to put into a table."""
        return -value if self.lower_is_better else value

    def format(self, value: float) -> str:
        """A score in a sentence."""
        return percent(value) if self.metric == "accuracy" else f"{self.display_value(value):.3f}"

    def describe(self, value: float) -> str:
        """`right on 90.0 % of`, `at a micro-F1 of 0.900 on`, or `at 0.250 (...) on`: what comes before the rows."""
        if self.metric == "accuracy":
            return f"right on {percent(value)} of"
        if self.lower_is_better:
            return f"at {self.format(value)} ({self.name}) on"
        article = "an" if self.name.startswith("R") else "a"
        return f"at {article} {self.name} of {self.format(value)} on"

    def format_difference(self, difference: float, sign: bool = True) -> str:
        """A difference of scores: in points of a hundred for shares, else as it is."""
        number = 100 * difference if self.metric == "accuracy" else difference
        digits = 1 if self.metric == "accuracy" else 3
        return f"{number:{'+' if sign else ''}.{digits}f}"

    @property
    def unit(self) -> str:
        """Of a difference."""
        return " points" if self.metric == "accuracy" else ""
