#!/usr/bin/env bash
# choix 0.4.1: the normal prior of opt_pairwise has half the variance that its documentation states.
#
# Valid input: four matches of two items, three of them won by the first, and alpha = 1. The
# documentation says that the result is the mode under a normal prior with variance 1 / alpha.
# Expected: the mode with variance 1, a lead of 0.684. Seen: a lead of 0.505, the mode with variance
# 1 / (2 alpha).
#
# Needs Python 3.11 or later and PyPI. Exits with 1 if the behaviour is no longer as stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check choix==0.4.1 numpy==2.3.3 scipy==1.17.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import choix
import numpy as np
from scipy.optimize import brentq

won = [(0, 1)] * 3 + [(1, 0)]
scores = choix.opt_pairwise(2, won, alpha=1.0)
lead = scores[0] - scores[1]


def mode(variance):
    """Lead d with the slope of the log posterior at 0: scores are d / 2 and -d / 2."""
    return brentq(lambda d: 3 - 4 / (1 + np.exp(-d)) - d / 2 / variance, -5, 5)


print(f"choix: {lead:.4f}; variance 1: {mode(1):.4f}; variance 1/2: {mode(0.5):.4f}")
unchanged = abs(lead - mode(0.5)) < 1e-4 and "``1 / alpha``" in choix.opt_pairwise.__doc__
sys.exit(0 if unchanged else 1)
PYTHON
