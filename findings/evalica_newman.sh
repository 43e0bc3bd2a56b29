#!/usr/bin/env bash
# evalica 0.4.2: `newman` returns equal scores for two items, whoever wins.
#
# Valid input: pear beats fig in 6 of 9 matches, without ties. Expected: a ratio of scores of 2, as
# bradley_terry returns. Seen: 1.0 and 1.0 after the limit of 100 iterations, and 2.0 and 0.5 with a
# limit of 101. The iteration alternates between these two, and nothing warns about it.
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

first, second = ["pear"] * 9, ["fig"] * 9
won = [Winner.X] * 6 + [Winner.Y] * 3
print("bradley_terry", dict(bradley_terry(first, second, won).scores.round(3)))
ratios = []
for limit in (100, 101):
    result = newman(first, second, won, limit=limit)
    print("newman", limit, dict(result.scores.round(3)), "iterations:", result.iterations)
    ratios.append(result.scores["pear"] / result.scores["fig"])
sys.exit(0 if abs(ratios[0] - 1) < 1e-9 and abs(ratios[1] - 4) < 1e-9 else 1)
PYTHON
