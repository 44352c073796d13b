"""Optuna: alphas and learning rate by validation; new digits are looked at once, at the end."""

import optuna

import ngm
from ngm.datasets import few_labels, load

optuna.logging.set_verbosity(optuna.logging.ERROR)
digits = load("digits")
x, truth = digits.x[digits.train], digits.y[digits.train]
y = few_labels(truth, 5, seed=0)
shown = few_labels(truth, 10, seed=0)  # five more a class, for validation only
held_out = (shown != -1) & (y == -1)
graph = ngm.knn_graph(x, k=5)


def made(alpha_lu: float, alpha_uu: float, learning_rate: float) -> ngm.NGMClassifier:
    """A model with these settings, trained."""
    model = ngm.NGMClassifier(
        recipe="paper",
        hidden=(64,),
        epochs=8,
        alpha_ll=alpha_lu,
        alpha_lu=alpha_lu,
        alpha_uu=alpha_uu,
        learning_rate=learning_rate,
        validation=(x[held_out], truth[held_out]),  # keeps the best epoch
    )
    model.fit(x, y, graph=graph)
    return model


def tried(trial: optuna.Trial) -> float:
    """Accuracy on the validation rows."""
    model = made(
        trial.suggest_float("alpha_lu", 1e-3, 1.0, log=True),
        trial.suggest_float("alpha_uu", 1e-3, 1.0, log=True),
        trial.suggest_float("learning_rate", 1e-4, 1e-2, log=True),
    )
    return float(model.score(x[held_out], truth[held_out]))


study = optuna.create_study(direction="maximize", sampler=optuna.samplers.TPESampler(seed=0, n_startup_trials=4))
study.enqueue_trial({"alpha_lu": 0.2, "alpha_uu": 0.2, "learning_rate": 1e-3})  # the defaults are in the race
study.optimize(tried, n_trials=8)

defaults, best = study.trials[0], study.best_trial
for name, trial in (("defaults", defaults), ("best of 8", best)):
    settings = ", ".join(f"{key} {value:.3g}" for key, value in trial.params.items())
    score = made(**trial.params).score(digits.x[digits.test], digits.y[digits.test])
    print(f"{name:9} validation {trial.value:.3f}, new digits {score:.3f} ({settings})")
