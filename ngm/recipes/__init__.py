"""Recipes: settings that go together, and teachers that turn few labels into soft labels for all nodes.

problem            what there is to learn from, checked
recipe             what each recipe makes of a problem: graphs to use, targets to train on
settings           what each recipe decides where the estimator does not
auto               targets by teachers for the nodes that take part
node_views         what teachers look at
label_matrix       labels as teachers take them
teachers           cheap models that label every node
teacher_weights    a prior for their weights, and what held-out labels say
stacking           soft labels from predictions of teachers, for all recipes and rounds
ridge              ridge regression with the penalty that leaves the smallest leave-one-out error
number_teachers    cheap models that give every node a number
number_stacking    the same weighing for numbers
strong_teachers    recipe "strong": networks that see a node through its neighbourhood
contrastive_pairs  neighbours drawn together, other pairs held apart
soft_labels        soft labels for texts
text_training      what text networks are trained on; views of texts, and the teacher of recipe "strong" for them
graph_screen       whether a graph is informative
"""
