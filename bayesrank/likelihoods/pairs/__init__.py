"""Comparisons of two items: models of their outcomes, BPR, and rankings as pairs."""
