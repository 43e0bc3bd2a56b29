"""Full rankings: many of many items, where no two agree, and many of few, where most stages do."""

from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pymc as pm
import pytest

import bayesrank as br
from tests.benchmarks.book import Book, gradient_function, plain, run_fresh, time_text
from tests.benchmarks.peers import choix_map, our_model, plain_model, random_rankings

N_RANKINGS, N_ITEMS = 100_000, 5_000
TIGHT = {"gtol": 1e-9, "ftol": 1e-15, "maxcor": 50}  # less, and rounding stops the line search
MAP = {"progressbar": False, "return_inferencedata": True, "jitter": False}


@pytest.fixture(scope="module")
def item() -> np.ndarray:
    return random_rankings(N_RANKINGS, n_items=N_ITEMS)[0]


def as_rankings(item: np.ndarray) -> br.Rankings:
    ranks = np.broadcast_to(np.arange(1, item.shape[1] + 1), item.shape)
    return br.Rankings(item, ranks, items=range(N_ITEMS))


def test_value_and_gradient_take_at_most_one_and_a_half_times_the_plain_graph(
    book: Book, item: np.ndarray
):
    rankings = as_rankings(item)
    ours = gradient_function(our_model(rankings, pm.Normal))
    graph = gradient_function(plain_model(rankings, pm.Normal))
    utility = np.random.default_rng(1).normal(size=N_ITEMS)
    for mine, its in zip(ours(utility), graph(utility), strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-10, atol=1e-10)

    what, peer = "value and gradient, 100,000 rankings of 10 of 5,000", "plain padded graph"
    book.beat(what, lambda: ours(utility), peer, lambda: graph(utility), at_least=1 / 1.5)


def test_the_map_takes_one_point_three_seconds_again(book: Book, item: np.ndarray):
    def from_arrays() -> pm.Model:
        with our_model(as_rankings(item), pm.Normal) as model:
            pm.find_MAP(**MAP)
        return model

    model = from_arrays()
    times = book.race(from_arrays, 5, min, again=lambda: pm.find_MAP(**MAP, model=model))
    what = "MAP, 100,000 rankings of 10 of 5,000"
    again, from_data = times["again"], times["ours"]
    book.budget(f"{what}, same model", again.cpu, time_text, wall=again.wall, at_most=1.3)
    book.budget(f"{what}, from arrays", from_data.cpu, time_text, wall=from_data.wall, at_most=1.3)


def test_the_first_map_of_a_process_takes_seven_seconds(book: Book, item: np.ndarray, tmp_path):
    np.save(tmp_path / "item.npy", item)
    caches = {
        "PYTENSOR_FLAGS": f"base_compiledir={tmp_path / 'pytensor'}",
        "NUMBA_CACHE_DIR": str(tmp_path / "numba"),
        "PYTHONPYCACHEPREFIX": str(tmp_path / "python"),
        "PYTHONDONTWRITEBYTECODE": "",
    }
    runs: list[dict[str, float]] = []

    def run() -> None:
        runs.append(run_fresh(caches, "first_map", str(tmp_path / "item.npy")))

    book.benchmark.pedantic(run, rounds=4)
    what = "MAP, 100,000 rankings of 10 of 5,000"
    ever, *later = runs
    book.budget(f"{what}, nothing compiled on disk", ever["cpu"], time_text, wall=ever["wall"])
    first = min(later, key=lambda one: one["cpu"])
    what = f"{what}, fresh process ({time_text(first['imports'])} are imports)"
    book.budget(what, first["cpu"], time_text, wall=first["wall"], at_most=7.0)


def test_the_sushi_map_takes_four_tenths_of_a_second(book: Book, sushi: br.Rankings):
    model = our_model(sushi, pm.ZeroSumNormal)
    book.cost("MAP, sushi, warm", lambda: pm.find_MAP(**MAP, model=model), at_most=0.4)


def test_the_sushi_gradient_evaluates_distinct_stages(book: Book, sushi: br.Rankings):
    ours = gradient_function(our_model(sushi, pm.ZeroSumNormal))
    graph = gradient_function(plain_model(sushi, pm.ZeroSumNormal))
    utility = np.random.default_rng(1).normal(size=sushi.n_items - 1)
    what, peer = "value and gradient, sushi: 5,000 rankings of 10", "plain padded graph"
    book.beat(what, lambda: ours(utility), peer, lambda: graph(utility), at_least=10)


def test_the_nascar_map_is_that_of_choix(book: Book, nascar: br.Rankings):
    model = our_model(nascar, pm.Normal)

    def utility(**options: float) -> np.ndarray:
        found = pm.find_MAP(**MAP, model=model, options=options)
        return found.posterior["utility"].to_numpy().ravel()

    exact = choix_map(nascar)
    loose = np.abs(utility() - exact).max()
    tight = np.abs(utility(**TIGHT) - exact).max()
    theirs = partial(choix_map, nascar)
    book.beat("MAP, NASCAR, tight tolerances", lambda: utility(**TIGHT), "choix", theirs, rounds=1)
    book.budget(
        "MAP, NASCAR, largest difference from choix's optimiser",
        tight,
        plain,
        at_most=1e-5,
        peer=f"with the optimiser's default tolerances: {plain(loose)}",
    )


def test_a_utility_for_each_of_six_regions_costs_less_than_twice_one_for_all(
    book: Book, data_dir: Path
):
    rankings = br.load_sushi("a", data_dir / "sushi3")
    people = pd.read_csv(data_dir / "sushi3" / "sushi3.udata", sep="\t", header=None)
    regions = np.minimum(people[5] // 2, 5)  # twelve, from north to south
    rankings = rankings.grouped({"region": regions.to_numpy()})
    functions = {}
    for what, dims in {"ours": ("region", "item"), "one": ("item",)}.items():
        with pm.Model(coords=rankings.coords) as model:
            br.PlackettLuce("y", pm.Normal("utility", dims=dims), observed=rankings)
        functions[what] = gradient_function(model)
    utility = np.random.default_rng(1).normal(size=10)
    beside = np.tile(utility, 6)
    difference = functions["ours"](beside)[1].reshape(6, 10).sum(0) - functions["one"](utility)[1]
    np.testing.assert_allclose(difference, -5 * utility, atol=1e-8)  # five more priors

    book.beat(
        "value and gradient, 5,000 sushi rankings in 6 regions",
        lambda: functions["ours"](beside),
        "one utility for all",
        lambda: functions["one"](utility),
        rounds=300,
        pick=min,
        at_least=1 / 2,
    )
