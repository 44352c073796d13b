"""Nearest neighbours by faiss, hnswlib, usearch and pynndescent.

    python neighbor_libraries.py VECTORS LIBRARY THREADS

VECTORS is an .npy of (n, d) rows of length 1. An index is built by one request and searched by others, so that a
search for settings need not build it again.
"""

# mypy: ignore-errors

from __future__ import annotations

import sys
import time

import numpy as np
from peer_worker import peak_mib, serve

K = 5


class FaissFlat:
    """Exact search."""

    settings = (({}, [{}]),)

    def __init__(self, x, threads):
        import faiss

        faiss.omp_set_num_threads(threads)
        self.faiss, self.x = faiss, x

    def build(self):
        """See `main`."""
        self.index = self.faiss.IndexFlatIP(self.x.shape[1])
        self.index.add(self.x)

    def search(self):
        """(n, K + 1) neighbours, the row itself among them."""
        return self.index.search(self.x, K + 1)[1]


class FaissHNSW(FaissFlat):
    """Hierarchical graph."""

    settings = tuple(
        ({"m": m, "ef": ef}, [{"ef": s} for s in (16, 32, 48, 64, 96, 128, 192, 256)])
        for m, ef in ((12, 40), (16, 40), (16, 80), (24, 100), (32, 160))
    )

    def build(self, m, ef):
        """See `main`."""
        self.index = self.faiss.IndexHNSWFlat(self.x.shape[1], m, self.faiss.METRIC_INNER_PRODUCT)
        self.index.hnsw.efConstruction = ef
        self.index.add(self.x)

    def search(self, ef):
        """See FaissFlat."""
        self.index.hnsw.efSearch = ef
        return self.index.search(self.x, K + 1)[1]


class FaissIVF(FaissFlat):
    """Inverted lists, sqrt(n) times `cells` of them."""

    settings = tuple(
        ({"cells": cells}, [{"probes": p} for p in (8, 16, 24, 32, 48, 64, 96, 128, 192, 256)]) for cells in (1, 2, 4)
    )

    def build(self, cells):
        """See `main`."""
        x, faiss = self.x, self.faiss
        count = int(cells * len(x) ** 0.5)
        self.coarse = faiss.IndexFlatIP(x.shape[1])
        self.index = faiss.IndexIVFFlat(self.coarse, x.shape[1], count, faiss.METRIC_INNER_PRODUCT)
        self.index.train(x[:: max(1, len(x) // (count * 40))])
        self.index.add(x)

    def search(self, probes):
        """See FaissFlat."""
        self.index.nprobe = probes
        return self.index.search(self.x, K + 1)[1]


class Hnswlib:
    """Hierarchical graph."""

    settings = tuple(
        ({"m": m, "ef": ef}, [{"ef": s} for s in (12, 20, 30, 48, 64, 96, 128, 192, 256)])
        for m, ef in ((8, 40), (12, 60), (12, 80), (16, 100), (24, 150))
    )

    def __init__(self, x, threads):
        self.x, self.threads = x, threads

    def build(self, m, ef):
        """See `main`."""
        import hnswlib

        self.index = hnswlib.Index("ip", self.x.shape[1])
        self.index.init_index(len(self.x), ef_construction=ef, M=m)
        self.index.add_items(self.x, num_threads=self.threads)

    def search(self, ef):
        """See FaissFlat."""
        self.index.set_ef(ef)
        return self.index.knn_query(self.x, K + 1, num_threads=self.threads)[0]


class Usearch(Hnswlib):
    """Hierarchical graph."""

    settings = tuple(
        ({"m": m, "ef": ef}, [{"ef": s} for s in (12, 20, 32, 48, 64, 96, 128, 192, 256)])
        for m, ef in ((12, 48), (16, 64), (16, 128), (24, 128), (32, 160))
    )

    def build(self, m, ef):
        """See `main`."""
        from usearch.index import Index

        self.index = Index(ndim=self.x.shape[1], metric="ip", connectivity=m, expansion_add=ef)
        self.index.add(np.arange(len(self.x)), self.x, threads=self.threads)

    def search(self, ef):
        """See FaissFlat."""
        self.index.expansion_search = ef
        return np.asarray(self.index.search(self.x, K + 1, threads=self.threads).keys).astype(np.int64)


class Pynndescent:
    """Descent on neighbours of neighbours; compiled before the clock starts."""

    settings = tuple(({"k": k}, [{}]) for k in (15, 20, 25, 30, 40, 50))

    def __init__(self, x, threads):
        self.x, self.threads = x, threads
        whole, self.x = self.x, np.random.default_rng(0).normal(size=(5_000, x.shape[1])).astype(np.float32)
        self.build(20)
        self.x = whole

    def build(self, k):
        """See `main`."""
        from pynndescent import NNDescent

        index = NNDescent(self.x, metric="cosine", n_neighbors=k, random_state=0, n_jobs=self.threads)
        self.found = index.neighbor_graph[0]

    def search(self):
        """See FaissFlat."""
        return self.found


LIBRARIES = {
    "faiss flat": FaissFlat,
    "faiss IVF": FaissIVF,
    "faiss HNSW": FaissHNSW,
    "hnswlib": Hnswlib,
    "usearch": Usearch,
    "pynndescent": Pynndescent,
}


def main() -> None:
    """Answers `settings` (all of them, quick ones first), `build` and `search`."""
    kind, threads = LIBRARIES[sys.argv[2]], int(sys.argv[3])
    library = kind(np.load(sys.argv[1]), threads)

    def build(settings):
        started = time.perf_counter()
        library.build(**settings)
        return {"seconds": time.perf_counter() - started}

    def search(settings, sample):
        started = time.perf_counter()
        found = library.search(**settings)
        seconds = time.perf_counter() - started
        return {"seconds": seconds, "peak_mib": peak_mib(), "found": np.asarray(found)[sample].tolist()}

    serve({"settings": lambda: {"settings": kind.settings}, "build": build, "search": search})


if __name__ == "__main__":
    main()
