"""What commands say of mistakes, word for word; `ngm train` and `ngm predict` have files of their own.

`test_sentences.py` makes the mistakes.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngm import datasets
from tests.build_tables import write_tables

NAMES = ", ".join(record.name for record in datasets.available())
MISTAKES = [
    (("build", "absent.csv", "--text", "text"), "absent.csv is not there; give a file, a folder or a query"),
    (("build", "texts.csv"), "give --text or --columns; the columns of texts.csv are id, text, topic"),
    (
        ("build", "texts.csv", "--text", "txt"),
        "texts.csv has no column 'txt' (did you mean 'text'?); its columns are id, text, topic",
    ),
    (("check", "nowhere"), "nowhere is not a graph folder: it has no graph.json"),
    (("datasets", "coraa"), f"there is no data set 'coraa' (did you mean 'cora'?); the names are {NAMES}"),
    (("demo", "--folder", "texts.csv"), "texts.csv is a file; name a new or empty folder"),
    (("export", "nowhere"), "nowhere is not a run folder: it has no config.json"),
    (("ingest", "--edges", "absent.csv", "-o", "graph"), "absent.csv is not there; give a file, a folder or a query"),
    (
        ("partition", "absent.csv", "--columns", "a", "--parts", "2"),
        "absent.csv is not there; give a file, a folder or a query",
    ),
    (("partition", "texts.csv", "--text", "text"), "give --parts, at least as many as there will be processes"),
    (("predict", "nowhere", "texts.csv"), "nowhere is not a run folder: it has no config.json"),
    (("report", "nowhere"), "nowhere is not a run folder: it has no config.json"),
    (
        ("reproduce", "pubmd"),
        "unknown table 'pubmd' (did you mean 'pubmed'?); choose from ag-news, blogcatalog, intents, pubmed",
    ),
    (
        ("train", "texts.csv", "--label", "topic", "--text", "txt"),
        "texts.csv has no column 'txt' (did you mean 'text'?); its columns are id, text, topic",
    ),
    (
        ("reproduce", "pub[/med]"),
        "unknown table 'pub[/med]' (did you mean 'pubmed'?); choose from ag-news, blogcatalog, intents, pubmed",
    ),
    (
        ("reproduce", "pubmed", "--rows", "fnn"),
        "unknown row 'fnn' (did you mean 'ffnn'?); choose from linear, semi-embedding, manifold, tsvm, "
        "label-propagation, graph-embedding, planetoid-i, planetoid-g, planetoid-t, gcn, ffnn, ngm, ngm-repulsion, "
        "ngm-self, ours, default, ceiling",
    ),
    (
        ("reproduce", "pubmed", "--dataset", "coro"),
        "unknown data set 'coro' (did you mean 'cora'?); choose from pubmed, cora, citeseer",
    ),
    (
        ("reproduce", "pubmed", "--setting", "out"),
        "setting is 'out'; choose from inductive, transductive, both",
    ),
    (
        ("reproduce", "pubmed", "--plot", "a.svg"),
        "--plot a.svg has nothing to draw; give --curve as well",
    ),
    (
        ("reproduce", "pubmed", "--curve", "--plot", "a.gif"),
        "cannot draw a.gif: its ending is '.gif'; choose from .svg, .png, .pdf",
    ),
    (
        ("reproduce", "pubmed", "--curve", "--setting", "transductive"),
        "--curve is of the inductive setting; leave out --setting transductive",
    ),
    (
        ("reproduce", "pubmed", "--rows", "gcn", "--setting", "inductive"),
        "none of the rows gcn can be run in the inductive setting; choose another",
    ),
    (
        ("reproduce", "pubmed", "--curve", "--rows", "gcn"),
        "row 'gcn' cannot predict nodes outside the graph; leave it out of the curve",
    ),
    (
        ("datasets", "--fetch", "cra"),
        f"there is no data set 'cra' (did you mean 'cora'?); the names are {NAMES}",
    ),
    (
        ("reproduce", "blogcatalog", "--train", "half"),
        "--train is 'half'; give whole numbers between 1 and 99, such as 20,50,80",
    ),
    (
        ("reproduce", "blogcatalog", "--train", "0"),
        "training share is 0 %; give whole numbers between 1 and 99, such as 20,50,80",
    ),
    (
        ("reproduce", "blogcatalog", "--quick", "--seeds", "7"),
        "--seeds is 7 and --quick means 2; leave out one of them",
    ),
    (("reproduce", "blogcatalog", "--curve"), "--curve is not for blogcatalog, which has --train; leave it out"),
    (
        ("reproduce", "pubmed", "--train", "50"),
        "--train is not for pubmed, which has --dataset, --setting, --curve, --plot; leave it out",
    ),
    (
        ("ingest", "--edges", "edges.tsv", "--source", "frm", "-o", "graph"),
        "edges.tsv has no column 'frm' for source (did you mean 'from'?); its columns are from, to, strength",
    ),
]
BUILD = [
    (
        ("build", "texts.csv", "--text", "bodi"),
        "texts.csv has no column 'bodi' (did you mean 'body'?); its columns are id, body, topic, size, age",
    ),
    (("build", "texts.csv"), "give --text or --columns; the columns of texts.csv are id, body, topic, size, age"),
    (
        ("build", "texts.csv", "--text", "body", "--columns", "size"),
        "both --text and --columns are given; choose what rows are compared by",
    ),
    (("build", "texts.csv", "--text", "size"), "column 'size' of texts.csv holds float64, not text; choose another"),
    (
        ("build", "texts.csv", "--columns", "body"),
        "column 'body' of texts.csv holds 'the cat sat on the mat', which is not a number or a list of numbers as "
        "long as the others; choose another",
    ),
    (
        ("build", "texts.csv", "--columns", "topic"),
        "column 'topic' of texts.csv has no number in 3 of 6 rows (rows 3, 4, 5); fill them in or drop those rows",
    ),
    (("build", "texts.csv", "--columns", "size", "--vectors", "glove.npz"), "--vectors is for texts; give --text"),
    (("build", "texts.csv", "--columns", "size", "--idf"), "--idf is for texts; give --text"),
    (
        ("build", "texts.csv", "--text", "body", "--idf"),
        "idf=True needs vectors=; TF-IDF uses it anyway",
    ),
    (
        ("build", "texts.csv", "--text", "body", "-k", "6"),
        "k is 6 and x has 6 rows; k must be at least 1 and below the number of rows",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--vectors", "glove.npz", "-k", "5"),
        "k is 5 and 5 of 6 texts have known words; k must be at least 1 and below that",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--vectors", "no.txt"),
        "cannot find the word vectors no.txt; give a text, .bin or .npz file",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--vectors", "wide.txt"),
        "wide.txt, line 2, has 3 numbers and line 1 has 2; all words need the same width",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--vectors", "latin.txt"),
        "latin.txt, line 2, is not UTF-8 (byte 0xe9); save it as UTF-8, or name it .bin if it is word2vec's binary "
        "form",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--vectors", "foreign.txt"),
        "none of the 6 texts has a known word; are the vectors of the same language?",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--metric", "euclidean"),
        "metric is 'euclidean'; sparse rows, such as TF-IDF, are compared by 'cosine'",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--weight", "binry"),
        "--weight is 'binry' (did you mean 'binary'?); choose from similarity, self_tuned, binary",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--id", "age"),
        "column 'age' of texts.csv has 1 in rows 0 and 2; ids must differ",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--id", "topic"),
        "column 'topic' of texts.csv has no id in 3 rows (rows 3, 4, 5); every row needs one",
    ),
    (
        ("build", "texts.csv", "--text", "body", "--label", "topics"),
        "texts.csv has no column 'topics' (did you mean 'topic'?); its columns are id, body, topic, size, age",
    ),
    (("build", "empty.csv", "--text", "body"), "empty.csv is empty; give a file with a row per line"),
    (
        ("build", "blank.csv", "--text", "body"),
        "none of the 2 texts has a letter or digit; give texts with words in them",
    ),
    (("build", "x.npy", "--text", "body"), "--text is for tables, and x.npy is a matrix; leave it out"),
    (("build", "x.npy", "--idf"), "--idf is for tables, and x.npy is a matrix; leave it out"),
    (("build", "x.npy", "--no-header"), "--header is for tables, and x.npy is a matrix; leave it out"),
    (
        (
            "build",
            "no.npy",
        ),
        "cannot find no.npy; give a table, or a matrix as .npy or .npz",
    ),
    (
        (
            "build",
            "flat.npy",
        ),
        "flat.npy cannot be read as a matrix (it holds int64 of shape (3,), not (n, d) numbers)",
    ),
    (
        (
            "build",
            "two.npz",
        ),
        "two.npz holds the arrays a, b; give one array, or call it 'x'",
    ),
    (("build", "no.npy", "--max-degree", "0"), "max_degree is 0; it must be a whole number of at least 1"),
    (
        ("build", "no.npy", "--metric", "inner_product", "--weight", "self_tuned"),
        "weight='self_tuned' needs distances; use metric='cosine' or 'euclidean'",
    ),
    (
        ("build", "no.npy", "--search", "exact", "--recall", "0.9"),
        "--recall is for an approximate search, and --search is exact; leave it out",
    ),
    (
        ("build", "no.npy", "--search", "exact", "--seed", "0"),
        "--seed is for an approximate search, and --search is exact; leave it out",
    ),
    (
        ("build", "texts.csv", "--text", "body", "-k", "2", "--seed", "1"),
        "--seed is for an approximate search, and sparse rows, such as TF-IDF, are always searched exactly; "
        "leave it out",
    ),
    (
        ("build", "x.npy", "-k", "2"),
        "row 1 of x is zero, which has no direction; drop such rows or use metric='euclidean'",
    ),
]


def write_files() -> None:
    """The files of the mistakes, here."""
    Path("texts.csv").write_text("id,text,topic\n1,a b,x\n2,b c,\n3,c d,y\n", encoding="utf-8")
    Path("edges.tsv").write_text("from\tto\tstrength\na\tb\t0.5\n", encoding="utf-8")


def write_files_of_build() -> None:
    """The files of the mistakes with `ngm build`, here."""
    write_tables()
    Path("wide.txt").write_text("cat 1 2\ndog 1 2 3\n", encoding="utf-8")
    Path("latin.txt").write_text("cat 1 2\ncafé 1 2\n", encoding="latin-1")
    Path("foreign.txt").write_text("chat 1 2\nchien 1 3\n", encoding="utf-8")
    Path("empty.csv").write_text("", encoding="utf-8")
    Path("blank.csv").write_text("id,body\n1,\n2,!\n", encoding="utf-8")
    np.save("x.npy", np.array([[1.0, 0.0], [0.0, 0.0], [1.0, 1.0]]))
    np.save("flat.npy", np.arange(3))
    np.savez("two.npz", a=np.eye(2), b=np.eye(2))
