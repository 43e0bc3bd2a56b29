"""Ranking models as ordinary probability distributions in PyMC.

>>> import bayesrank as br
>>> br.Rankings.from_orderings([["a", "b"], ["b", "c"]]).n_items
3

The public names are listed once, in the stub file next to this one. They load on first use, so that
``bayesrank --help`` does not wait for PyMC.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)

__version__ = "0.1.0"
