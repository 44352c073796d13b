"""What reading a graph from tables refuses, word for word; `test_sentences.py` hands it over."""

from __future__ import annotations

from pathlib import Path

from ngm.io.graph_data import read_graph
from tests.sentences_of_arguments import RefusedCall

NOT_THERE = "; add them to the nodes, or give dangling='drop' to leave out their edges or 'add' to make them nodes"
NO_NODES = "and there are no nodes; give the table of nodes, or leave it out"
MISTAKES: list[tuple[dict[str, object], str]] = [
    ({"target": "second"}, "edges.tsv has no column 'second' for target; its columns are from, to, strength"),
    (
        {"weight": "stregth"},
        "edges.tsv has no column 'stregth' for weight (did you mean 'strength'?); its columns are from, to, strength",
    ),
    ({"id": "ids"}, "nodes.csv has no column 'ids' for id (did you mean 'id'?); its columns are id, topic, size"),
    (
        {"label": "tpic"},
        "nodes.csv has no column 'tpic' for label (did you mean 'topic'?); its columns are id, topic, size",
    ),
    ({"source": "to", "target": "to"}, "source and target are both 'to'; name two columns of edges.tsv"),
    ({}, f"1 ids in edges.tsv are not among the nodes: 'q'{NOT_THERE}"),
    ({"edges": "few.csv"}, f"5 ids in few.csv are not among the nodes: 'f', 'g', 'h', ...{NOT_THERE}"),
    ({"edges": "empty.csv"}, "empty.csv is empty; give a file with a row per line"),
    ({"edges": "names.csv"}, "names.csv has columns (src, dst) and no rows; give a table with rows"),
    ({"nodes": "names.csv"}, "names.csv has columns (src, dst) and no rows; give a table with rows"),
    ({"edges": "gone.csv"}, "gone.csv is not there (did you mean 'one.csv'?); give a file, a folder or a query"),
    ({"edges": "space.txt"}, "space.txt has one column, 'a b 1'; a space seems to separate, so give delimiter ' '"),
    (
        {"delimiter": ","},
        r"edges.tsv has one column, 'from\tto\tstrength'; a tab seems to separate, so give delimiter '\t'",
    ),
    ({"edges": "one.csv"}, "one.csv has one column, 'column0'; an edge needs two, a source and a target"),
    (
        {"nodes": "twice.csv"},
        "twice.csv has 2 ids in column 'id' that name several rows: 'a', 'b'; keep one row of each",
    ),
    ({"nodes": "gaps.csv"}, "gaps.csv has 2 rows without an id in column 'id'; fill them in or drop them"),
    (
        {"nodes": "spaced.txt"},
        "spaced.txt has one column, 'id topic'; a space seems to separate, so give delimiter ' '",
    ),
    (
        {"edges": "kinds.csv", "weight": "kind"},
        "column 'kind' of kinds.csv holds no weight: it starts with 'friend'; weights are finite numbers of at "
        "least 0, so name another column, or none",
    ),
    (
        {"edges": "SELECT src FROM 'names.csv' WHERE nothing"},
        'the query cannot be read: Binder Error: Referenced column "nothing" not found in FROM clause!',
    ),
    ({"merge": "min"}, "merge is 'min'; choose 'max', 'sum' or 'mean'"),
    ({"dangling": "keep"}, "dangling is 'keep'; choose 'error', 'drop' or 'add'"),
    ({"nodes": None, "dangling": "drop"}, f"dangling is 'drop' {NO_NODES}"),
    ({"nodes": None, "label": "x"}, f"label is 'x' {NO_NODES}"),
    ({"memory_limit": "lots"}, "memory_limit is 'lots'; give a size such as '4GB' or '500MB'"),
    (
        {"edges": {"u": [1], "v": [2]}, "delimiter": ";"},
        "edges is not a text file, so delimiter and header have no effect; leave them out",
    ),
    ({"folder": "."}, "'.' does not name a new file or folder; name it, such as 'graph'"),
    ({"folder": "mine"}, "mine exists and has no graph.json; name a new or empty folder"),
]
FILES = {
    "nodes.csv": "id,topic,size\na,x,1\nb,,2\nc,y,3\nd,y,4\nbroken\n",
    "edges.tsv": "from\tto\tstrength\na\tb\t0.5\nb\ta\t0.7\nc\tc\t1\nc\ta\t-1\nd\tq\t1\nd\t\t1\nc\td\tx\nc\td\t2\n",
    "few.csv": "src,dst\na,j\nf,g\nh,i\nf,a\n",
    "empty.csv": "",
    "names.csv": "src,dst\n",
    "space.txt": "a b 1\nb c 2\n",
    "one.csv": "only\na\nb c\n",
    "twice.csv": "id,topic\na,x\nb,y\nb,x\nc,x\na,x\n",
    "gaps.csv": "id,topic\na,x\n,y\n,x\n",
    "spaced.txt": "id topic\na x\nb y\n",
    "kinds.csv": "src,dst,kind\na,b,friend\nb,c,foe\n",
}


def write_files() -> None:
    """The tables of the mistakes, here."""
    for name, content in FILES.items():
        Path(name).write_text(content, encoding="utf-8")
    Path("mine").mkdir()
    Path("mine/thesis.txt").write_text("ten years of work", encoding="utf-8")


def _refused(given: dict[str, object], sentence: str) -> RefusedCall:
    words = {"edges": "edges.tsv", "nodes": "nodes.csv", "folder": "graph"} | given
    return RefusedCall(lambda: read_graph(**words), sentence, (ValueError, OSError))  # type: ignore[arg-type]


CALLS = [_refused(*case) for case in MISTAKES]
