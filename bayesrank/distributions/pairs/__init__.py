"""Matches of two items, and interactions of users with items.

This wing may import the wing core.
"""
