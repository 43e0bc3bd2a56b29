"""Utilities that change with time: the solver, the fit and forward validation."""
