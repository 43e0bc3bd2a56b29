#!/usr/bin/env bash
# evalica 0.4.2: the scores of `eigen` are largest for the item that loses most.
#
# Valid input: apple beats kiwi and fig in six of eight and six of six matches, kiwi beats fig in six
# of eight. Expected: as for the other functions of the package, the largest score for apple.
# Seen: fig 0.823, kiwi 0.532, apple 0.199, with both solvers. bradley_terry, pagerank and elo put
# apple or kiwi first. The documentation states no direction.
#
# Needs Python 3.11 or later and PyPI. Exits with 1 if the behaviour is no longer as stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check evalica==0.4.2 numpy==2.3.3 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from evalica import Winner, bradley_terry, eigen

matches = [("apple", "kiwi")] * 6 + [("kiwi", "apple")] * 2 + [("kiwi", "fig")] * 6
matches += [("fig", "kiwi")] * 2 + [("apple", "fig")] * 6
first, second = zip(*matches)
won = [Winner.X] * len(matches)
fitted = bradley_terry(first, second, won).scores
print("bradley_terry", dict(fitted.round(3)))
unchanged = fitted["apple"] > fitted["kiwi"] > fitted["fig"]
for solver in ("pyo3", "naive"):
    scores = eigen(first, second, won, solver=solver).scores
    print("eigen", solver, dict(scores.round(3)))
    unchanged &= scores["fig"] > scores["kiwi"] > scores["apple"]
sys.exit(0 if unchanged else 1)
PYTHON
