"""Tools for all families: random variables with draws, parameters by name, observed data, outcomes.

This wing may not import any other wing.
"""
