"""What all families share: the base of compiled Ops, sums that are known, stable functions."""
