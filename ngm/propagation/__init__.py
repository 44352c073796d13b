"""Label propagation (the paper's Eq. 2).

kernel             sparse Jacobi steps and conjugate gradients
compact_rows       the same steps on large graphs, without a matrix in memory
seeds              seeds, prior, and how much a node takes from each
coupling           which of the two a graph gets
top_k              steps in which nodes keep their strongest labels alone; top_k_loops has them compiled
label_propagation  `LabelPropagation`
"""
