"""Mallows models: rankings around one consensus.

This wing may import the wings core and rankings.
"""
