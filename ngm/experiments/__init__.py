"""The paper's tables, ours beside theirs: a folder for each, with its protocol and its methods.

registry      `EXPERIMENTS`: all of them by name
experiment    what they have in common
table         rows over seeds, beside the published figure
scores        finished seeds, kept in a file
code_digest   whether the code that gave a score is still the same
plot          curves as pictures
demo          digits with few labels, with and without the graph
"""
