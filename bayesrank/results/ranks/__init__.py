"""Ranks, places and ratings of items, from draws of their utilities."""
