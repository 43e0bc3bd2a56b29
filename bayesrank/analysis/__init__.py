"""Analyses: data and a model become a posterior, with notes on what a reader should know.

`ranking_model`, `choice_model`, `leaderboard_model` and `dynamic_model` describe models; `fit`
samples or approximates them, and records in the posterior what `bayesrank.report` needs. The files
import PyMC only inside functions where the command needs them before a fit.

This room may import numba, numpy, pandas, pymc, pytensor, scipy, xarray and the rooms data,
distributions, inference, priors, results, schema and texts.
"""
