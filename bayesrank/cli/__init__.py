"""The command line: from a table of preferences to a posterior of ranks.

``bayesrank rank`` reads a table of ratings or ranks, ``bayesrank matches`` a table of matches or
pairwise comparisons, and ``bayesrank choices`` a table of best-worst tasks. ``bayesrank
quickstart`` ranks the bundled NASCAR 2002 season. All of them print a table and write figures,
tables and a self-contained page. `reading` calls the readers of the room tables.

This room may import click, matplotlib, numpy, pandas, pytensor, rich, xarray and the rooms
analysis, data, priors, reporting, schema, tables and texts.
"""

from bayesrank.cli.commands import main

__all__ = ["main"]
