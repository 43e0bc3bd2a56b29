"""Counts of ordered pairs by ranker.

This wing may import the wing core.
"""
