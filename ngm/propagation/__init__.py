"""Label propagation (the paper's Eq. 2).

kernel             sparse Jacobi steps and conjugate gradients
seeds              seeds, prior, and how much a node takes from each
label_propagation  `LabelPropagation`
"""
