#!/usr/bin/env bash
# evalica 0.4.2: one item that never loses makes the scores of all items equal.
#
# Valid input: twenty matches of three items that all win and lose, and two wins of a fourth item.
# Expected: infinite or very large scores for the fourth item, and the old ratios for the others.
# Seen: bradley_terry and newman return 1e-06, their tolerance, for all four items, without a
# warning. The order of the items is lost, although apple beats fig in nine of ten matches.
#
# Needs Python 3.11 or later and PyPI. Exits with 1 if the behaviour is no longer as stated.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install --quiet --disable-pip-version-check evalica==0.4.2 numpy==2.3.3 pandas==3.1.1
"$folder/venv/bin/python" - <<'PYTHON'
import sys

from evalica import Winner, bradley_terry, newman

matches = [("apple", "fig")] * 9 + [("fig", "apple")] + [("apple", "kiwi")] * 3
matches += [("kiwi", "apple")] * 2 + [("kiwi", "fig")] * 3 + [("fig", "kiwi")] * 2
unchanged = True
for function in (bradley_terry, newman):
    for more in ([], [("plum", "fig")] * 2):
        first, second = zip(*matches, *more)
        scores = function(first, second, [Winner.X] * len(first)).scores
        print(function.__name__, "with plum:" if more else "without:", dict(scores.round(6)))
        unchanged &= (scores == 1e-6).all() if more else scores["apple"] > 2 * scores["fig"] > 0
sys.exit(0 if unchanged else 1)
PYTHON
