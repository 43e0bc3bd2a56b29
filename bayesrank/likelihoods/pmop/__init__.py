"""PMOP, ordered partitions: set functions, their normalisers, compiled Op and exact draws."""
