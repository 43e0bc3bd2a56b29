"""The quick answer with importance weights, against NUTS on the same model in the same process.

Both compile before. NUTS takes 1,000 draws of each of four chains after 500 tuning steps, as the
commands do. Accuracy is the root mean square over the items of the differences of means, in
posterior standard deviations, to a run of NUTS that is ten times as long.
"""

import numpy as np
import pytest
import xarray as xr

import bayesrank as br
from bayesrank.inference import fit_inla, sample
from tests.benchmarks.book import Book, plain, seconds, time_text
from tests.benchmarks.peers import random_matches, read_matches

SIZES = ((8, 40), (20, 100), (20, 2_000), (150, 20_000))
SAMPLE = ("chain", "draw")


def utility_of(tree: xr.DataTree) -> xr.DataArray:
    drawn = tree["posterior"]["utility"]
    return drawn - drawn.mean("item")


@pytest.mark.parametrize("size", SIZES, ids=str)
def test_weighted_draws_against_nuts(book: Book, size: tuple[int, int]):
    n_items, n_matches = size
    model = br.leaderboard_model(read_matches(random_matches(n_matches, n_items)))
    calls = {
        "weights": lambda seed: fit_inla(random_seed=seed, model=model),
        "NUTS": lambda seed: sample(tune=500, random_seed=seed, model=model),
    }
    found: dict[str, xr.DataTree] = {}
    for call in calls.values():
        call(0)  # compiles

    def run(name: str) -> None:
        found[name] = calls[name](1)

    book.once(lambda: run("weights"))
    times = {}
    for name in calls:
        times[name] = min(seconds(lambda name=name: run(name)).cpu for _ in range(3))
    long = utility_of(sample(10_000, tune=1_000, random_seed=2, model=model))
    what = f"{n_items} systems, {n_matches:,} matches"
    for name, tree in found.items():
        drawn = utility_of(tree)
        off = (drawn.mean(SAMPLE) - long.mean(SAMPLE)) / long.std(SAMPLE)
        error = float(np.sqrt((off**2).mean()))
        ratio = float((drawn.std(SAMPLE) / long.std(SAMPLE)).mean())
        effective = tree["posterior"].attrs.get("effective_draws", "")
        text = f"{what}, {name}: error of means {plain(error)}, ratio of sd {ratio:.3f} {effective}"
        book.note(text, time_text(times[name]), "")
        assert error < 0.1
        assert 0.97 < ratio < 1.03
