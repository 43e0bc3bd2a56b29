#!/usr/bin/env bash
# arena-rank 0.1.1: a label of the winner that it does not know counts as a tie, without a word.
#
# Valid input: a table of nine matches whose column "winner" contains the winner's name. Expected: an
# error, because the labels it knows are "model_a", "model_b", "tie" and "both_bad"; or the ratings.
# Seen: both ratings are 1000, although pear wins six of nine matches. With the labels it knows the
# lead is 120 Elo points, 400 log10(2).
#
# Needs Python 3.11 or later and PyPI. Exits with 1 if the behaviour is no longer as stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check arena-rank==0.1.1 jax==0.8.1 numpy==2.3.3 pandas==3.1.1 pyarrow==26.0.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys
import warnings

import pandas as pd
from arena_rank.models.bradley_terry import BradleyTerry
from arena_rank.utils.data_utils import PairDataset

warnings.simplefilter("error", UserWarning)
rows = pd.DataFrame({"model_a": ["pear"] * 9, "model_b": ["fig"] * 9})
leads = []
for labels in (("model_a", "model_b"), ("pear", "fig")):
    rows["winner"] = [labels[0]] * 6 + [labels[1]] * 3
    result = BradleyTerry(2).compute_ratings_and_cis(PairDataset.from_pandas(rows))
    ratings = dict(zip(result["competitors"], map(float, result["ratings"])))
    print(labels, ratings)
    leads.append(ratings["pear"] - ratings["fig"])
sys.exit(0 if abs(leads[0] - 120.4) < 0.1 and abs(leads[1]) < 1e-6 else 1)
PYTHON
