"""Ranking models as ordinary probability distributions in PyMC.

Read data, describe a model, fit it, and ask who is best:

>>> import bayesrank as br
>>> games = br.load_baseball()
>>> posterior = br.fit_pairs(games, utility_scale=1, random_seed=1)["posterior"]
>>> br.rank_summary(posterior["utility"]).index[0]
'Milwaukee'

What to read first, by ``help(br.NAME)``:

=================================  =============================================================
you have                           read
=================================  =============================================================
a file or a table                  `look`, then `read_rankings`, `read_matches` or `read_choices`
data in Python                     `Rankings`, `Pairs`, `PairCounts` or `Interactions`
a question and little time         `ranking_model` or `leaderboard_model`, `fit` and `report`
a model of your own in PyMC        `PlackettLuce`, `Davidson`, `MaxDiff`, `Mixture`, `part_worths`
strengths that change over time    `fit_dynamic`, or `utility.random_walk` in your own model
a posterior                        `rank_summary`, `tied_with_leader`, `ranking_checks`, `compare`
=================================  =============================================================

The command ``bayesrank --help`` does the same from a shell. The public names are listed once, in
the stub file next to this one. They load on first use, so that the command does not wait for PyMC.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
