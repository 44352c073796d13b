"""From pandas and polars: frames of people and of who calls whom, with ids of any kind; predictions keep the ids."""

import numpy as np
import pandas as pd
import polars as pl

import ngm

# Made up: 300 customers in two segments, which their age and spending hint at; people call their own kind
rng = np.random.default_rng(0)
kind = rng.integers(2, size=300)
ids = np.array([f"C-{number}" for number in rng.permutation(9000)[:300]])
people = pd.DataFrame({"id": ids, "age": rng.normal(38 + 15 * kind, 12), "spent": rng.gamma(2 + 2 * kind, 50.0)})
people["segment"] = pd.Series(np.where(kind == 1, "business", "home")).where(np.arange(300) < 12)  # twelve are known
pairs = rng.integers(300, size=(4000, 2))
pairs = pairs[(kind[pairs[:, 0]] == kind[pairs[:, 1]]) | (rng.random(4000) < 0.1)]
calls = pl.DataFrame({"from": ids[pairs[:, 0]], "to": ids[pairs[:, 1]], "minutes": rng.gamma(2.0, 3.0, len(pairs))})

# Frames are read as any table: columns by name, ids matched, repeats of an edge merged
data = ngm.read_graph(calls, people, id="id", source="from", target="to", weight="minutes", label="segment")
print(data)
assert data.y is not None
assert data.ids.tolist() == people["id"].tolist()

columns = ["age", "spent"]
scaled = (people[columns] - people[columns].mean()) / people[columns].std()
methods = {
    "without graph": ngm.NGMClassifier(recipe="paper", alpha_ll=0, alpha_lu=0, alpha_uu=0, epochs=40),
    "with graph": ngm.NGMClassifier(epochs=40),
}
truth = np.where(kind == 1, "business", "home")
for name, model in methods.items():
    model.fit(scaled, data.y, graph=data.graph)  # the frame's columns are remembered by name
    print(f"{name:13} {np.mean(model.predict(scaled)[12:] == truth[12:]):.3f}")

shares = model.predict_proba(scaled)
result = pl.DataFrame({"id": data.ids, "segment": model.predict(scaled), "probability": shares.max(axis=1)})
print(result.sort("probability").head(3))  # the least certain ones, ids kept
