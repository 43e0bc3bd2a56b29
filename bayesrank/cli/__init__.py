"""The command line: from a table of preferences to a posterior of ranks.

``bayesrank rank`` takes a table of ratings or ranks, ``bayesrank matches`` one of matches or
comparisons of two, and ``bayesrank quickstart`` the bundled NASCAR 2002 season. All print a table
and write figures, tables and one self-contained page.
"""

from bayesrank.cli.commands import main

__all__ = ["main"]
