"""Posterior predictive checks, for rankings, matches and mixtures."""
