"""All experiments by name. What they need is loaded when one of them is planned."""

from __future__ import annotations

from ngm.experiments import citations, intents
from ngm.experiments.experiment import Choices, Experiment, Plan


def _ag_news(choices: Choices) -> Plan:
    from ngm.experiments.ag_news.protocol import plan

    return plan(choices)


def _blogcatalog(choices: Choices) -> Plan:
    from ngm.experiments.blogcatalog.protocol import plan

    return plan(choices)


def _citations(choices: Choices) -> Plan:
    from ngm.experiments.citations.protocol import plan

    return plan(choices)


def _intents(choices: Choices) -> Plan:
    from ngm.experiments.intents.protocol import plan

    return plan(choices)


EXPERIMENTS = {
    "ag-news": Experiment(_ag_news, 3, ("--curve", "--plot", "--steps")),
    "blogcatalog": Experiment(_blogcatalog, 10, ("--train",)),
    "intents": Experiment(_intents, 5, ("--dataset",), intents.DATASETS),
    "pubmed": Experiment(_citations, 10, ("--dataset", "--setting", "--curve", "--plot"), citations.DATASETS),
}
