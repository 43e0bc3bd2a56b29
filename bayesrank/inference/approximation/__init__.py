"""Modes, and the normal approximations around them."""
