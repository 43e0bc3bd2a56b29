"""Mixtures by EM, and consensus orders among the parameters."""
