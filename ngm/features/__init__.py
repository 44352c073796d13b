"""How the rows x of a network are made from a table: kept with a run, so that new tables are read the same way.

feature_rows  rows and what is odd about some of them
tfidf         TF-IDF rows of texts
text_vectors  vectors of texts, of one encoder or several
columns       numbers, lists of numbers and categories side by side
node_inputs   inputs made from the graph, and those of new nodes from their links
features      `Features`: one of these, or the texts themselves; fitted, kept in a run folder and opened again
"""

from ngm.choices import How
from ngm.features.feature_rows import FeatureRows, RowIssue, X
from ngm.features.features import Features, Read
from ngm.features.node_inputs import Nodes
from ngm.features.text_vectors import TextVectors

__all__ = ["FeatureRows", "Features", "How", "Nodes", "Read", "RowIssue", "TextVectors", "X"]
