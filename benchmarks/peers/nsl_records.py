"""Records of Neural Structured Learning: nodes with neighbours, from memory or from a file of `tf.Example`s."""

# mypy: ignore-errors

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
import tensorflow as tf


def records(problem, k):
    """Every edge once, with the end of higher degree; labelled nodes at least once.

    Returns:
        (r,) nodes, (r, k) neighbours with -1 in empty places, and (n,) records of each node.
    """
    degree, n = problem.degree, len(problem.labeled)
    u, v = problem.edges.T
    swap = degree[v] > degree[u]
    seed, other = np.where(swap, v, u), np.where(swap, u, v)
    order = np.argsort(seed, kind="stable")
    seed, other = seed[order], other[order]
    place = np.arange(len(seed)) - np.searchsorted(seed, np.arange(n))[seed]  # which of its node's edges
    needed = np.maximum(-(-np.bincount(seed, minlength=n) // k), problem.labeled)
    first = np.concatenate([[0], np.cumsum(needed)])
    neighbors = np.full((first[-1], k), -1, dtype=np.int64)
    neighbors[first[seed] + place // k, place % k] = other
    return np.repeat(np.arange(n), needed), neighbors, needed


def row_gatherer(x, sparse):
    """A function from node ids to their rows, as dense or as sparse tensors."""
    if not sparse:
        dense = tf.constant(x.toarray() if sp.issparse(x) else x)
        return lambda nodes: tf.gather(dense, nodes)
    columns = tf.RaggedTensor.from_row_splits(tf.constant(x.indices, tf.int64), tf.constant(x.indptr, tf.int64))
    values = tf.RaggedTensor.from_row_splits(tf.constant(x.data), tf.constant(x.indptr, tf.int64))
    width = x.shape[1]

    def rows(nodes):
        near = tf.gather(columns, nodes)
        places = tf.stack([near.value_rowids(), near.flat_values], axis=1)
        shape = tf.stack([tf.size(nodes, out_type=tf.int64), tf.constant(width, tf.int64)])
        return tf.SparseTensor(places, tf.gather(values, nodes).flat_values, tf.ensure_shape(shape, [2]))

    return rows


def examples_file(problem, k, path):
    """Writes every node with its first k neighbours, as `nsl.tools.pack_nbrs` does.

    Returns:
        The file, and the number of packed neighbours.
    """
    n = len(problem.labeled)
    u, v = problem.edges.T
    adjacency = sp.csr_matrix((np.ones(2 * len(u)), (np.r_[u, v], np.r_[v, u])), shape=(n, n))
    edges = int(np.minimum(np.diff(adjacency.indptr), k).sum())
    if path.exists():
        return path, edges
    feature, floats, ints = tf.train.Feature, tf.train.FloatList, tf.train.Int64List

    def put(made, name, node):
        if problem.sparse:
            row = slice(problem.x.indptr[node], problem.x.indptr[node + 1])
            made[f"{name}_at"] = feature(int64_list=ints(value=problem.x.indices[row]))
            made[f"{name}_value"] = feature(float_list=floats(value=problem.x.data[row]))
        else:
            made[name] = feature(float_list=floats(value=problem.x[node]))

    labels = np.maximum(problem.y, 0).reshape(n, -1).astype(np.int64)
    with tf.io.TFRecordWriter(str(path)) as file:
        for node in range(n):
            made = {"label": feature(int64_list=ints(value=labels[node]))}
            made["share"] = feature(float_list=floats(value=[float(problem.labeled[node])]))
            put(made, "x", node)
            near = adjacency.indices[adjacency.indptr[node] : adjacency.indptr[node + 1]][:k]
            for i, other in enumerate(near):
                put(made, f"NL_nbr_{i}_x", other)
                made[f"NL_nbr_{i}_weight"] = feature(float_list=floats(value=[1.0]))
            file.write(tf.train.Example(features=tf.train.Features(feature=made)).SerializeToString())
    return path, edges


def parser(problem, k):
    """A function from serialized examples to (features, labels, weights)."""
    width, several = problem.x.shape[1], problem.y.ndim == 2
    spec = {"label": tf.io.FixedLenFeature([problem.y.shape[1] if several else 1], tf.int64)}
    spec["share"] = tf.io.FixedLenFeature([], tf.float32)
    for name in ("x", *(f"NL_nbr_{i}_x" for i in range(k))):
        if problem.sparse:
            spec[name] = tf.io.SparseFeature(f"{name}_at", f"{name}_value", tf.float32, width)
        else:
            spec[name] = tf.io.FixedLenFeature([width], tf.float32, np.zeros(width, np.float32))
    for i in range(k):
        spec[f"NL_nbr_{i}_weight"] = tf.io.FixedLenFeature([1], tf.float32, [0.0])

    rows = [name for name in spec if name.endswith("x")] if problem.sparse else []

    def parse(serialized):
        features = tf.io.parse_example(serialized, spec)
        # dense from here on: its sparse path takes longer
        dense = {name: tf.ensure_shape(tf.sparse.to_dense(features[name]), [None, width]) for name in rows}
        features.update(dense)
        target = features.pop("label")
        target = tf.cast(target, tf.float32) if several else target[:, 0]
        return features, target, features.pop("share")

    return parse
