"""Texts straight to a graph: one label a topic, and the graph finds the others."""

import numpy as np

import ngm
from ngm.build import summarize, text_graph

TOPICS = {
    "cooking": """Simmer the onions in butter. Knead the dough and let the bread rise. Salt the soup and simmer it.
        Bake the bread in a hot oven. Melt butter in the pan. The oven is hot enough for the dough.
        Stir the onions into the soup. Fry the onions in a hot pan.""",
    "sailing": """Hoist the sail before the wind turns. The anchor holds in mud. A small sail helps in strong wind.
        Drop the anchor in the harbour. The boat leaves the harbour at high tide. The tide turns at noon.
        A boat with a torn sail drifts. Strong wind and tide push the boat.""",
    "music": """Tune the strings of the violin. The choir sings a chord. Play the chord on the piano.
        The violin plays the melody. A piano has more strings than a violin. The choir learns the melody.
        Sing the melody without the piano. The chord rests on low strings.""",
}
pairs = [(name, text) for name, words in TOPICS.items() for text in words.split(".") if text.strip()]
topic, texts = [name for name, _ in pairs], [text for _, text in pairs]

graph = text_graph(texts, k=3)  # TF-IDF; vectors= takes word vectors, encoder= any function to (n, d)
found = summarize(graph)
u, v = graph.edges.T.tolist()
same = np.mean([topic[a] == topic[b] for a, b in zip(u, v, strict=True)])
print(f"{found.nodes} texts, {found.edges} edges, {found.components} components")
print(f"{100 * same:.0f} % of the edges stay within a topic")

y = np.array(topic, dtype=object)
labelled = [topic.index(name) for name in TOPICS]  # the first text of each topic
y[np.setdiff1d(np.arange(len(y)), labelled)] = None

spread = ngm.LabelPropagation().fit(None, y, graph=graph)
right = np.mean(np.array(spread.transduction_) == np.array(topic))
print(f"with {len(labelled)} labels, label propagation is right on {100 * right:.0f} % of the texts")
