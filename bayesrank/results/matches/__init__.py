"""Matches: probabilities, how many more are needed, and judges."""
