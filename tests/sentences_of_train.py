"""What `ngm train` says to a user's mistakes, word for word; `test_sentences.py` makes them."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from tests.train_tables import TEXTS, TRAIN, labels

MISTAKES = [
    (
        ("train", "texts.csv", "--text", "bodi", "--label", "topic"),
        "texts.csv has no column 'bodi' (did you mean 'body'?); its columns are id, body, topic",
    ),
    (("train", "texts.csv", "--text", "body"), "give --label; the columns of texts.csv are id, body, topic"),
    (
        ("train", "texts.csv", "--text", "id", "--label", "topic"),
        "column 'id' of texts.csv holds int64, not text; choose another",
    ),
    (
        (*TRAIN, "--network", "lstmm"),
        "--network is 'lstmm' (did you mean 'lstm'?); choose from ffnn, charcnn, charcnn-small, charcnn-large, lstm",
    ),
    ((*TRAIN, "--network", "charcnn", "--max-words", "9"), "max_words is 9, which is for lstm; network is 'charcnn'"),
    (
        (*TRAIN, "--network", "ffnn", "--crop", "0.3"),
        "crop is 0.3, which is for charcnn, charcnn-small, charcnn-large, lstm; network is 'ffnn'",
    ),
    ((*TRAIN, "--recipe", "week"), "--recipe is 'week'; choose from auto, paper, strong"),
    (
        (*TRAIN, "--recipe", "strong", "--no-graph"),
        "--recipe strong learns from a graph, and --no-graph is given; leave out one of them",
    ),
    (
        (*TRAIN, "--patience", "2", "--validation", "0"),
        "--patience waits for accuracy on validation texts, and --validation is 0; give a share",
    ),
    ((*TRAIN, "--graph", "g", "--no-graph"), "both --graph and --no-graph are given; choose one"),
    ((*TRAIN, "--graph", "g", "-k", "3"), "-k is for a graph made here, and --graph is given; leave it out"),
    ((*TRAIN, "--alpha", "1", "--no-graph"), "--alpha is about a graph, and --no-graph is given; leave it out"),
    ((*TRAIN, "--control", "--no-graph"), "--control is about a graph, and --no-graph is given; leave it out"),
    (
        (*TRAIN, "--control", "--validation", "0"),
        "--control compares accuracies on validation texts, and --validation is 0; give a share",
    ),
    (
        (*TRAIN, "--network", "charcnn", "--no-graph", "--vectors", "v.txt"),
        "--vectors has nothing to do: it is for a graph made here, for lstm and for teachers of charcnn",
    ),
    ((*TRAIN, "-k", "30"), "k is 30 and x has 30 rows; k must be at least 1 and below the number of rows"),
    ((*TRAIN, "--vectors", "no.txt"), "cannot find the word vectors no.txt; give a text, .bin or .npz file"),
    (
        (*TRAIN, "--vectors", "wide.txt"),
        "wide.txt, line 2, has 3 numbers and line 1 has 2; all words need the same width",
    ),
    ((*TRAIN, "--epochs", "0"), "--epochs is 0; it must be a whole number greater than 0"),
    ((*TRAIN, "-o", "mine"), "mine holds other files and no run; name a new or empty folder"),
    (
        ("train", "one.csv", *TRAIN[2:]),
        "y holds one class only ('a'); a classifier needs labelled rows of at least two",
    ),
    (
        ("train", "none.csv", *TRAIN[2:]),
        "none of the 3 rows has a label (-1, None and NaN mean unlabelled); label some rows",
    ),
    (
        ("train", "gap.csv", *TRAIN[2:], "--no-graph"),
        "1 text is labelled and empty (row 1), which would teach the network what to say of texts of which "
        "it sees nothing; drop these rows, or their labels",
    ),
    (
        ("train", "latin.csv", *TRAIN[2:]),
        "none of the 2 rows of latin.csv can be used: line 2: 'caf??a' (not UTF-8); line 3: 'th??b' (not UTF-8)",
    ),
    (("train", "not.here", *TRAIN[2:]), "not.here is not there; give a file, a folder or a query"),
    (("train", "--text", "body"), "give a table or a graph folder to train on, or --config with a run that has one"),
    (
        ("train", "texts.csv"),
        "give --text or --columns, and --label; the columns of texts.csv are id, body, topic",
    ),
    (
        ("train", "texts.csv", "--label", "topic"),
        "give --text or --columns; the columns of texts.csv are id, body, topic",
    ),
    ((*TRAIN, "--columns", "id"), "both --text and --columns are given; choose what to learn from"),
    (
        ("train", "texts.csv", "--columns", "id", "--label", "topic", "--network", "charcnn"),
        "--network charcnn reads texts; give --text, or --network ffnn for numbers",
    ),
    (
        ("train", "texts.csv", "--input", "rows", "--label", "topic"),
        "--input learns from the graph itself; give --graph, or a graph folder in place of the table",
    ),
    (
        ("train", "texts.csv", "--input", "netfm", "--label", "topic"),
        "--input is 'netfm' (did you mean 'netmf'?); choose from rows, netmf, identities, clusters, node2vec",
    ),
    (
        ("train", "texts.csv", "--input", "rows", "--label", "topic", "--no-graph"),
        "--input is about a graph, and --no-graph is given; leave it out",
    ),
    ((*TRAIN, "--task", "numbers"), "--task is 'numbers' (did you mean 'number'?); choose from class, number, labels"),
    (
        (*TRAIN, "--task", "number"),
        "column 'topic' of texts.csv holds 'pets' in row 0, which is not a number; choose another column, or "
        "--task class",
    ),
    (
        (*TRAIN, "--task", "class", "--label-separator", ";"),
        "--label-separator is for several labels a row, and --task is class; leave out one",
    ),
    ((*TRAIN, "--label-separator", ""), "--label-separator is empty; give what stands between labels, such as ;"),
    (
        ("train", "one.csv", *TRAIN[2:], "--task", "labels"),
        "column 'topic' of one.csv has one label only ('a'); several a row are written as a;b (--label-separator), or "
        "as lists",
    ),
    (
        (*TRAIN, "--distance", "cosin"),
        "--distance is 'cosin' (did you mean 'cosine'?); choose from l1, l2, squared_l2, cosine, cross_entropy, kl, js",
    ),
    (
        (*TRAIN, "--distance", "cosine"),
        "--distance is about distances across edges, which --recipe auto has none of; give --alpha, or --recipe paper",
    ),
    (
        (*TRAIN, "--influence", "source"),
        "--influence is about distances across edges, which --recipe auto has none of; give --alpha, or --recipe paper",
    ),
    (
        (*TRAIN, "--recipe", "strong", "--distance", "cosine"),
        "--distance is about distances across edges, which --recipe strong has none of; give --alpha, or "
        "--recipe paper",
    ),
    ((*TRAIN, "--scaling", "sum", "--no-graph"), "--scaling is about a graph, and --no-graph is given; leave it out"),
    ((*TRAIN, "--hidden", "250,x"), "--hidden is '250,x'; give whole numbers, such as 250,100"),
    ((*TRAIN, "--hidden", "9"), "hidden is set, but it is for network 'ffnn'; leave it out with network 'lstm'"),
    ((*TRAIN, "--seeds", "2"), "--seeds repeats the comparison of --control; give --control as well"),
    ((*TRAIN, "--seeds", "0"), "--seeds is 0; give a whole number of at least 1"),
    ((*TRAIN, "--log", "cvs"), "--log is 'cvs' (did you mean 'csv'?); choose from csv, tensorboard"),
    (
        (*TRAIN, "--dry-run", "--resume"),
        "--dry-run starts nothing, so --resume has nothing to go on with; leave out one of them",
    ),
    (
        (*TRAIN, "--validation", "0.2", "--validation-column", "id"),
        "both --validation and --validation-column are given; choose one",
    ),
    (
        (*TRAIN, "--validation-column", "topic"),
        "column 'topic' of texts.csv marks no row: it holds '', 'money', 'pets'; validation rows are 'validation' "
        "or true",
    ),
    (
        ("train", "texts.csv", "--text", "body,topic", "--label", "topic"),
        "--label is 'topic', which is also among --text; leave it out there",
    ),
    (
        ("train", "texts.csv", "--columns", "id,topic", "--label", "topic"),
        "--label is 'topic', which is also among --columns; leave it out there",
    ),
    (
        ("train", "marked.csv", "--columns", "a,val", "--label", "kind", "--validation-column", "val"),
        "--validation-column is 'val', which is also among --columns; leave it out there",
    ),
    (
        ("train", "stray.csv", "--columns", "a", "--label", "kind"),
        "column 'a' of stray.csv holds 'NA' in row 4, which is not a number; correct it, or leave the column out",
    ),
    (
        ("train", "stray.csv", "--columns", "b", "--label", "kind"),
        "column 'b' of stray.csv holds '0,5' in row 0, which is not a number; correct it, or leave the column out",
    ),
    (
        ("train", "stray.csv", "--columns", "c", "--label", "kind"),
        "column 'c' of stray.csv holds '1,234' in row 1, which is not a number; correct it, or leave the column out",
    ),
    ((*TRAIN, "--id", "idd"), "texts.csv has no column 'idd' (did you mean 'id'?); its columns are id, body, topic"),
    (
        ("train", "texts.csv", "--columns", "id", "--label", "topic", "--vectors", "wide.txt"),
        "--vectors are of words; give --text",
    ),
]


def write_files() -> None:
    """The files of the mistakes, here."""
    pd.DataFrame({"id": range(100, 130), "body": TEXTS, "topic": labels()}).to_csv("texts.csv", index=False)
    Path("wide.txt").write_text("cat 1 2\ndog 1 2 3\n", encoding="utf-8")
    Path("one.csv").write_text("body,topic\na b,a\nc d,a\ne f,\n" + "g h,\n" * 5, encoding="utf-8")
    Path("none.csv").write_text("body,topic\na b,\nc d,\ne f,\n", encoding="utf-8")
    Path("gap.csv").write_text("body,topic\na b,x\n,y\ne f,x\n", encoding="utf-8")
    Path("latin.csv").write_bytes("body,topic\ncafé,a\nthé,b\n".encode("latin-1"))
    Path("marked.csv").write_text("a,val,kind\n1,1,x\n2,1,y\n3,0,x\n4,0,y\n", encoding="utf-8")
    stray = ['1,"0,5",12,x', '2,"1,5","1,234",y', '3,"2,5",7,x', ',"3,5",8,y', 'NA,"4,5",9,x', '5,"5,5",-2e3,y']
    Path("stray.csv").write_text("\n".join(["a,b,c,kind", *stray, ""]), encoding="utf-8")
    Path("mine").mkdir()
    Path("mine/notes.txt").write_text("keep", encoding="utf-8")
