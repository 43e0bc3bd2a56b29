"""Mixtures of families of rankings, whose components are latent.

This wing may import the wings core, rankings and mallows.
"""
