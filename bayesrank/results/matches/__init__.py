"""Matches: outcome probabilities, planning of further matches, and judges."""
