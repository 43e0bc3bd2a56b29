#!/usr/bin/env bash
# arviz-stats 1.3.3: loo fails if one observation has the same log-likelihood in all draws.
#
# Valid input: 2,000 draws of ten observations. One of them does not depend on the parameters, such as
# a ranking of a single item, or a choice from a single alternative: its log-likelihood is 0.
# Expected: leaving it out changes nothing, so its term is 0, and the other nine are as without it.
# Seen: loo raises ValueError, "All tail values are the same", for the whole model.
#
# Needs Python 3.12 or later and PyPI. Exits with 1 if the behaviour is no longer as stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check arviz-base==1.3.1 "arviz-stats[xarray]==1.3.3" \
  numpy==2.5.5 scipy==1.18.1 xarray==2026.9.0
"$folder/venv/bin/python" - <<'PYTHON'
import sys

import numpy as np
from arviz_base import from_dict
from arviz_stats import loo

rng = np.random.default_rng(1)
log_likelihood = rng.normal(-1, 0.1, size=(4, 500, 10))
draws = {"x": rng.normal(size=(4, 500))}
for constant in (False, True):
    if constant:
        log_likelihood[..., 3] = 0.0
    data = from_dict({"posterior": draws, "log_likelihood": {"y": log_likelihood}})
    try:
        seen = f"elpd {loo(data).elpd:.2f}"
    except ValueError as error:
        seen = f"ValueError: {error}"
    print("with a constant term:" if constant else "without:", seen)
sys.exit(0 if seen == "ValueError: All tail values are the same" else 1)
PYTHON
