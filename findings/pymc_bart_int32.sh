#!/usr/bin/env bash
# pymc-bart compiles the log probability of a model as a callback of machine code. If the model has a group
# index in pm.Data, which PyMC stores as int32, compilation fails: "name 'int32' is not defined". pymc-bart
# warns and calls Python for each evaluation. The same index as a constant compiles.
# Exit status: 0 if this is still so, 1 if it changed, 2 if the packages cannot be installed.
# PYTHON names the interpreter, by default python3.12.
set -euo pipefail
place=$(mktemp -d)
trap 'rm -rf "$place"' EXIT
"${PYTHON:-python3.12}" -m venv "$place/venv" || exit 2
"$place/venv/bin/pip" install --quiet pymc==6.4.0 pymc-bart==0.13.1 bartrs==0.4.0 || exit 2
cat >"$place/run.py" <<'PYTHON'
import warnings
from importlib.metadata import version

import numpy as np
import pymc as pm
import pymc_bart as pmb

print(*(f"{name} {version(name)}" for name in ("pymc-bart", "bartrs", "pymc")))
rng = np.random.default_rng(1)
x = rng.normal(size=(30, 2))
group = np.repeat(np.arange(3), 10)
y = x[:, 0] + group + rng.normal(size=30)


def warned(stored):
    with pm.Model():
        f = pmb.BART("f", x, y, m=10)
        level = pm.Normal("level", 0, 1, shape=3)
        index = pm.Data("group", group) if stored else group
        pm.Normal("y", f + level[index], 1, observed=y)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            pm.sample(20, tune=20, chains=1, cores=1, random_seed=1, progressbar=False)
    found = [str(w.message) for w in seen if "ctypes" in str(w.message)]
    print("index in pm.Data:" if stored else "constant index:", found or "no warning")
    return any("'int32' is not defined" in text for text in found)


raise SystemExit(0 if warned(True) and not warned(False) else 1)
PYTHON
"$place/venv/bin/python" "$place/run.py"
