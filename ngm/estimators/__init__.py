"""Estimators with scikit-learn's contract."""
