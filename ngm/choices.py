"""The words that settings and options take, where no library has to be loaded to list them."""

from __future__ import annotations

from typing import Literal, TypeAlias

# of the estimators; what each means is said in `ngm.parameters`
CharCNNSize: TypeAlias = Literal["tiny", "small", "large"]
DistanceName: TypeAlias = Literal["l1", "l2", "squared_l2", "cosine", "cross_entropy", "kl", "js"]
Influence: TypeAlias = Literal["both", "source", "target"]
NetworkName: TypeAlias = Literal["ffnn", "charcnn", "charcnn-small", "charcnn-large", "lstm"]
OptimizerName: TypeAlias = Literal["adam", "adamw", "sgd"]
Precision: TypeAlias = Literal["float32", "float64", "bfloat16"]
Recipe: TypeAlias = Literal["auto", "paper", "strong"]
Sampling: TypeAlias = Literal["plain", "edges", "balanced"]
Scaling: TypeAlias = Literal["sum", "mean"]
ScalingName: TypeAlias = Literal["unit_rows", "standardize", "none"]

WORD_NETWORKS = ("lstm",)
TEXT_NETWORKS = ("charcnn", "charcnn-small", "charcnn-large", *WORD_NETWORKS)

# of self-training, co-training and label propagation; see `ngm.method_parameters`
Balance: TypeAlias = Literal["none", "equal", "seeds"]
Candidates: TypeAlias = Literal["neighbors", "all"]
RoundTeacher: TypeAlias = Literal["network", "propagation", "stack"]
Solver: TypeAlias = Literal["conjugate_gradient", "jacobi"]
PartitionMethod: TypeAlias = Literal["streaming", "metis"]

# of graphs made from rows
Metric: TypeAlias = Literal["cosine", "euclidean", "inner_product"]
Search: TypeAlias = Literal["auto", "exact", "approximate"]
Weight: TypeAlias = Literal["similarity", "self_tuned", "binary"]

# of inputs: vectors of texts, rows made from the graph
EncoderName: TypeAlias = Literal["minilm", "minilm-int8", "minilm-static", "glove", "tfidf"]
How: TypeAlias = Literal["rows", "netmf", "identities", "clusters", "node2vec"]

# data sets of the paper's tables
Citations: TypeAlias = Literal["pubmed", "cora", "citeseer"]
Intents: TypeAlias = Literal["swda20", "clinc20", "clinc20-few"]
