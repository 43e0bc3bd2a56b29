"""Ranks, places and ratings of items from draws of their utilities, and counts without a model."""
