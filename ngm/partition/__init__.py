"""A graph in parts, each a folder of its own, so that every process opens only what it works on.

streaming      which part each node goes to, in one pass over the nodes or several
assignment     `assign_nodes`: the same for a graph, by streaming or by METIS; how many edges are cut
part_arrays    the edges, nodes and border of each part
part_folder    the files of a part, and `parts.json`
writing        `partition_graph`: writes the parts of a graph with rows and labels
local_part     `open_part`, `open_parts`: what a process has of the whole
part_loader    `PartLoader`: batches of a process' own edges, scaled by the totals of the whole
border         `Border`: values of border nodes, from the processes that own them and back to these
part_shares    sparse steps over parts: random walks, label propagation
part_propagation   `propagate_parts`: label propagation over parts
"""
