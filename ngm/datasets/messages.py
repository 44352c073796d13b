"""Messages to a shop, made up from phrases on the spot: a table to try the commands on that needs no network."""

from __future__ import annotations

import numpy as np

from ngm.datasets.dataset import Dataset, Record
from ngm.io.fetch import Progress

MESSAGES, NEW, LABELS_PER_TOPIC = 900, 300, 16
_TWICE, _TYPOS, _SEED = 0.2, 0.3, 0

RECORD = Record(
    name="messages",
    num_nodes=MESSAGES + NEW,
    num_edges=0,
    num_features=0,
    num_classes=5,
    license="Apache-2.0",
    origin="made up from phrases for this library",
    where="embedded",
)

_PHRASES = {
    "delivery": [
        "my {thing} has still not arrived",
        "the tracking page has shown the same place for {days} days",
        "when will the {thing} get here",
        "the courier left it with a neighbour I do not know",
        "nobody rang the bell and the van drove off again",
        "can you send it to my office instead of my home",
        "it says delivered but there is nothing at the door",
        "how long does shipping take to an island",
        "is it possible to have it dropped off after six",
        "half of the boxes came and the rest is missing",
        "the driver could not find our street",
        "I was promised it would be here {days} days ago",
    ],
    "refund": [
        "I sent the {thing} back and have not seen my money",
        "you charged my card twice for one {thing}",
        "please pay back what I spent on the {thing}",
        "the amount you returned is {count} euros too low",
        "how do I send back a {thing} that I do not want",
        "I would like to cancel and get my money",
        "the return label does not print",
        "is the postage paid back as well",
        "your shop took {count} euros from my account after I cancelled",
        "I have waited {days} days for the credit to show up on my statement",
        "can I swap it for a voucher instead",
        "the invoice says {count} euros more than the price in the shop",
    ],
    "account": [
        "I cannot log in since you changed the site",
        "the link to set a new password never comes",
        "please change the email address of my profile",
        "somebody else seems to have used my login",
        "how do I delete everything that you know about me",
        "the code on my phone is refused every time",
        "my profile shows orders that are not mine",
        "I get {count} newsletters a day and cannot turn them off",
        "my name is spelled wrong on my profile",
        "two people in our house want one login each",
        "the app signs me out after {count} minutes",
        "I forgot which address I signed up with",
    ],
    "product": [
        "does the {thing} come in green",
        "which size of {thing} fits somebody of {count} years",
        "is the {thing} made of real wood",
        "can the {thing} go into the dishwasher",
        "how heavy is the {thing}",
        "does the {thing} work with batteries",
        "what is the difference between the two kinds of {thing}",
        "will you have the {thing} in stock again soon",
        "is there a spare part for the {thing}",
        "are the colours as bright as in the photo",
        "how long is the cable of the {thing}",
        "may a child of {count} use the {thing}",
    ],
    "complaint": [
        "the {thing} broke after {days} days",
        "there is a crack in the {thing}",
        "it smells as if it had been burnt",
        "one leg of the {thing} is shorter than the others",
        "the {thing} looks nothing like the photo",
        "the screws do not fit and a part is missing",
        "it makes a loud noise whenever I turn it on",
        "the paint comes off when I touch it",
        "you sent me a used {thing} with scratches",
        "the zip got stuck on the first day",
        "it was wet and dirty when I opened the box",
        "the {thing} stopped working while I was using it",
    ],
}
_OPENINGS = [*[""] * 4, "hello,", "hi there,", "excuse me,", "once more:"]
_ASIDES = [
    *[""] * 9,
    "I have bought from you for years.",
    "It is a present for my sister.",
    "I wrote to you {days} days ago.",
    "My order has the number {order}.",
    "I found nothing about it on your page.",
    "The {thing} I ordered before was fine.",
]
_CLOSINGS = [*[""] * 6, "thank you", "please help", "what can I do?", "best wishes"]
_THINGS = ["lamp", "kettle", "chair", "tent", "jacket", "puzzle", "radio", "teapot", "mirror", "blanket", "drill"]


def messages(progress: Progress | None = None) -> Dataset:
    """Makes the messages, the same on every machine; join them with `text_graph`.

    Args:
        progress: Not called, since nothing is fetched.

    Returns:
        1,200 texts in 5 topics, no graph. `train` are the first 16 of each topic among the first 900, the other 820
        of which are there to learn from without a label; `test` are the last 300; `validation` is empty.
    """
    rng = np.random.default_rng(_SEED)
    topics = sorted(_PHRASES)
    y = rng.integers(len(topics), size=MESSAGES + NEW)
    first = [np.flatnonzero(y[:MESSAGES] == topic)[:LABELS_PER_TOPIC] for topic in range(len(topics))]
    return Dataset(
        name="messages",
        x=[_message(rng, topics[topic]) for topic in y.tolist()],
        y=y,
        graph=None,
        train=np.sort(np.concatenate(first)),
        validation=np.zeros(0, dtype=np.int64),
        test=np.arange(MESSAGES, MESSAGES + NEW),
        classes=tuple(topics),
        note="messages made up from phrases: good for trying commands, not for comparing methods",
    )


def _message(rng: np.random.Generator, topic: str) -> str:
    """One or two phrases of a topic among words that say nothing, with a typing mistake now and then."""
    phrases = rng.choice(_PHRASES[topic], size=1 + int(rng.random() < _TWICE), replace=False)
    body = " and ".join(phrases) + str(rng.choice([".", "!", "?"]))
    around = (str(rng.choice(_OPENINGS)), body, str(rng.choice(_ASIDES)), str(rng.choice(_CLOSINGS)))
    text = " ".join(part for part in around if part).format(
        thing=rng.choice(_THINGS),
        days=rng.integers(2, 15),
        count=rng.integers(2, 12),
        order=rng.integers(10_000, 99_999),
    )
    if rng.random() < _TYPOS:  # two neighbours change places
        at = int(rng.integers(1, len(text) - 2))
        text = text[:at] + text[at + 1] + text[at] + text[at + 2 :]
    return text[0].upper() + text[1:]
