"""What `ngm predict` says of mistakes, word for word; `test_sentences.py` makes them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ngm import Graph, NGMClassifier, NGMRegressor, read_table, save_graph
from tests.predictions import GRAPH, LABELS, RIGHT, SIZE, new_rows, train

COLUMNS = "its columns are key, body, topic, size, shape"
MISTAKES = [
    (("predict", "no", "new.csv"), "no is not a run folder: it has no config.json"),
    (
        ("predict", "python", "new.csv"),
        "python was trained in Python, and nothing in it says how x is made from a table; use "
        "ngm.load('python').predict(x)",
    ),
    (("predict", "pytext", "new.csv"), "give --text; the columns of new.csv are key, body, topic, size, shape"),
    (
        ("predict", "pytext", "new.csv", "--text", "bodi"),
        f"new.csv has no column 'bodi', which the run reads (did you mean 'body'?); {COLUMNS}: give a table with it, "
        "or name another with --text",
    ),
    (
        ("predict", "words", "short.csv"),
        "short.csv has no column 'body', which the run reads (did you mean 'bodyy'?); its columns are key, bodyy, "
        "size: give a table with it, or name another with --text",
    ),
    (
        ("predict", "columns", "short.csv"),
        "short.csv has no column 'shape', which the run reads; its columns are key, bodyy, size: give a table with it",
    ),
    (
        ("predict", "columns", "new.csv", "--text", "body"),
        "--text is 'body', but columns reads the columns size, shape; leave it out",
    ),
    (("predict", "graph", "new.csv", "--text", "body"), "--text is 'body', but graph reads the graph; leave it out"),
    (("predict", "words", "new.csv", "--id", "kee"), f"new.csv has no column 'kee' (did you mean 'key'?); {COLUMNS}"),
    (
        ("predict", "words", "new.csv", "--label", "topics"),
        f"new.csv has no column 'topics' (did you mean 'topic'?); {COLUMNS}",
    ),
    (
        ("predict", "words", "odd.csv", "--id", "class"),
        "--id is 'class', which is what a column of the output is called; give another column as --id",
    ),
    (
        ("predict", "words", "new.csv", "-o", "out.txt"),
        "--output is 'out.txt'; name a file that ends in .csv, .parquet or .jsonl",
    ),
    (("predict", "words", "new.csv", "-o", "new.csv"), "--output is 'new.csv', the table itself; name another file"),
    (("predict", "words", "new.csv", "-o", "dir.csv"), "--output is 'dir.csv', which is a folder; name a file in it"),
    (
        ("predict", "words", "newer.csv"),
        "newer.csv is not there (did you mean 'new.csv'?); give a file, a folder or a query",
    ),
    (("predict", "words", "numbers.parquet"), "column 'body' of numbers.parquet holds int64, not text; choose another"),
    (
        ("predict", "columns", "wrong.csv"),
        "column 'size' of wrong.csv holds 'big' in row 1, which is not a number; it was that in training",
    ),
    (("predict", "words", "new.csv", "--top", "3"), "--top is 3 and the run knows 2 classes; give 1 to that many"),
    (("predict", "words", "new.csv", "--top", "0"), "--top is 0 and the run knows 2 classes; give 1 to that many"),
    (("predict", "numbers", "new.csv", "--all"), "--all is for classes, and the run predicts numbers; leave it out"),
    (
        ("predict", "numbers", "new.csv", "--label", "topic"),
        f"--label has {RIGHT[0]!r}, and the run predicts numbers; give a column of them",
    ),
    (
        ("predict", "labels", "new.csv", "--top", "2"),
        "--top is for one class a row; here each label has a column anyway, so leave it out",
    ),
    (("predict", "words", "bare"), "bare is a graph without a table of nodes, and the run reads columns; give a table"),
    (
        ("predict", "graph", "small"),
        "small has 2 nodes, the graph of the run 30; give that one, or a table of the links of new nodes",
    ),
    (
        ("predict", "graph", "bare"),
        "node 0 of bare is 0, that of the run is 100; give that one, or a table of the links of new nodes",
    ),
    (
        ("predict", "graph", "bare", "--header"),
        "bare is not a text file, so delimiter and header have no effect; leave them out",
    ),
    (
        ("predict", "graph", "new.csv", "--id", "key"),
        "--id is for a row per item, and new.csv has one per link; leave it out",
    ),
    (
        ("predict", "graph", "new.csv", "--label", "key"),
        "--label is for a row per item, and new.csv has one per link; leave it out",
    ),
    (
        ("predict", "graph", "strange.csv"),
        "none of the 2 links of strange.csv leads to a node that the run knows (100, 101, 102, ...), by column 'to'; "
        "give a new node and a known one in each row",
    ),
    (
        ("predict", "graph", "turned.csv"),
        "none of the 2 links of turned.csv leads to a node that the run knows; new nodes are read from 'old' and "
        "known ones from 'new': is it the other way round?",
    ),
    (
        ("predict", "graph", "heavy.csv"),
        "the link from 'n' to 100 in heavy.csv has no number of at least 0 in 'weight'; mend it",
    ),
    (("predict", "graph", "one.csv"), "one.csv has one column, 'a'; an edge needs two, a source and a target"),
    (
        ("predict", "narrow", "new.csv"),
        "narrow/features.json makes rows of 4 numbers, the network takes 2; train again",
    ),
    (
        ("predict", "words", "new.parquet", "--delimiter", ";"),
        "new.parquet is not a text file, so delimiter and header have no effect; leave them out",
    ),
]


def write_files() -> None:
    """Runs and tables to make mistakes with, here."""
    train("words", folder="words")
    train("columns", folder="columns")
    train("graph", folder="graph")
    train("columns", NGMRegressor(hidden=(2,), epochs=1), y=SIZE, folder="numbers")
    train("words", NGMClassifier(hidden=(2,), epochs=1), y=LABELS, folder="labels")
    NGMClassifier(hidden=(2,), epochs=1).fit(np.eye(4, dtype=np.float32), [0, 1, 0, 1]).save("python")
    NGMClassifier(network="charcnn", epochs=1).fit(["a", "b"], [0, 1]).save("pytext")
    NGMClassifier(hidden=(2,), epochs=1).fit(np.eye(2, dtype=np.float32), [0, 1]).save("narrow")
    Path("columns/features.json").replace("narrow/features.json")
    train("columns", folder="columns")
    new = new_rows()
    new.to_csv("new.csv", index=False)
    new.rename(columns={"key": "class"}).to_csv("odd.csv", index=False)
    read_table({"a": [1]}).connection.register("t", new.assign(body=1)).execute(
        "COPY t TO 'numbers.parquet'; COPY t TO 'new.parquet'"
    )
    Path("short.csv").write_text("key,bodyy,size\n1,a,2\n", encoding="utf-8")
    Path("wrong.csv").write_text("size,shape\n1,flat\nbig,flat\n", encoding="utf-8")
    Path("strange.csv").write_text("from,to\na,b\nc,d\n", encoding="utf-8")
    Path("turned.csv").write_text("old,new\n100,b\n101,d\n", encoding="utf-8")
    Path("heavy.csv").write_text("new,old,weight\nm,101,1\nn,100,much\n", encoding="utf-8")
    Path("one.csv").write_text("a\n1\n", encoding="utf-8")
    Path("dir.csv").mkdir()
    save_graph("small", Graph.from_edges([[0, 1]]))
    save_graph("bare", GRAPH)
