"""NUTS on full rankings: effective draws per CPU second, ours and the peers'.

An effective draw is the bulk ESS of the utility that has the fewest; two chains; warm-up is
counted, compilation is not. Raw utilities are as sampled; centred ones have their mean taken off in
every draw, which is all that rankings speak of. Ours are medians over three seeds, peers have one.

How many draws one asks for matters, because warm-up is counted: 500 are for warm-up everywhere,
and 1,000 draws follow on sushi, 2,000 on NASCAR.
"""

from collections.abc import Callable
from dataclasses import dataclass

import arviz as az
import numpy as np
import nutpie
import pymc as pm
import pytest
import xarray as xr

import bayesrank as br
from tests.benchmarks.book import Book, rate, seconds
from tests.benchmarks.peers import gibbs_draws, numpyro_draws, our_model, plain_model

TUNE = 500
DRAWS = {"sushi": 1_000, "NASCAR": 2_000}
PRIORS = {"Normal": pm.Normal, "ZeroSumNormal": pm.ZeroSumNormal}
DEMANDED = {
    ("sushi", "ZeroSumNormal", "diag"): 5_000.0,
    ("NASCAR", "Normal", "low_rank"): 3_500.0,
}
BEST = {"sushi": ("ZeroSumNormal", "diag"), "NASCAR": ("Normal", "low_rank")}  # against peers
SEEDS = (1, 2, 3)
R_HAT = 1.02


@dataclass(frozen=True)
class Rates:
    """Effective draws per CPU second, and per wall second of the raw ones."""

    raw: float
    centred: float
    wall: float
    r_hat: float


def rates(run: Callable[[int], np.ndarray], seeds: tuple[int, ...] = SEEDS) -> Rates:
    """Sample with every seed; `run` gives utilities (2, draws, n_items)."""
    run(0)  # compiles
    found = []
    for seed in seeds:
        kept: list[np.ndarray] = []
        time = seconds(lambda seed=seed, kept=kept: kept.append(run(seed)))
        utility = xr.DataArray(kept[0], dims=("chain", "draw", "item"))
        centred = utility - utility.mean("item")
        raw, middle = float(az.ess(utility).min()), float(az.ess(centred).min())
        r_hat = float(az.rhat(centred).max())
        found.append((raw / time.cpu, middle / time.cpu, raw / time.wall, r_hat))
    return Rates(*np.median(found, axis=0))


def nuts_draws(model: pm.Model, adaptation: str, draws: int) -> Callable[[int], np.ndarray]:
    compiled = nutpie.compile_pymc_model(model)

    def run(seed: int) -> np.ndarray:
        settings = {"tune": TUNE, "draws": draws, "chains": 2, "cores": 2, "seed": seed}
        trace = nutpie.sample(
            compiled, adaptation=adaptation, progress_bar=False, save_warmup=False, **settings
        )
        return trace.posterior["utility"].to_numpy()

    return run


@pytest.fixture(scope="module")
def ours(nascar: br.Rankings, request: pytest.FixtureRequest) -> Callable[..., Rates]:
    """Rates of our model, each measured once for all that compare with it."""
    known: dict[tuple[str, str, str], Rates] = {}

    def measure(data: str, prior: str, adaptation: str) -> Rates:
        key = data, prior, adaptation
        if key not in known:
            rankings = nascar if data == "NASCAR" else request.getfixturevalue("sushi")
            model = our_model(rankings, PRIORS[prior])
            known[key] = rates(nuts_draws(model, adaptation, DRAWS[data]))
        return known[key]

    return measure


@pytest.mark.parametrize("adaptation", ["diag", "low_rank"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("data", DRAWS)
def test_priors_and_mass_matrices(book: Book, ours, data: str, prior: str, adaptation: str):
    book.once(lambda: ours(data, prior, adaptation))
    found = ours(data, prior, adaptation)
    at_least = DEMANDED.get((data, prior, adaptation), -np.inf)
    what = f"NUTS, {data}, {prior}, {adaptation}"
    if prior == "ZeroSumNormal":  # raw utilities are centred
        book.budget(what, found.raw, rate, wall=found.wall, at_least=at_least)
    else:
        book.budget(f"{what}, raw", found.raw, rate, wall=found.wall, at_least=at_least)
        book.budget(f"{what}, centred", found.centred, rate, at_least=at_least)
    assert found.r_hat < R_HAT


@pytest.mark.parametrize("data", DRAWS)
def test_the_peers(book: Book, ours, data: str, request: pytest.FixtureRequest):
    rankings = request.getfixturevalue(data.lower())
    prior, adaptation = BEST[data]
    book.once(lambda: ours(data, prior, adaptation))
    mine = ours(data, prior, adaptation)
    size = {"tune": TUNE, "draws": DRAWS[data]}
    peers = {
        f"plain padded graph, {prior}, {adaptation}": nuts_draws(
            plain_model(rankings, PRIORS[prior]), adaptation, DRAWS[data]
        ),
        "gamma-augmented Gibbs": gibbs_draws(rankings, **size),
    }
    if data == "sushi":
        peers["gamma-augmented Gibbs given our distinct remainders"] = gibbs_draws(
            rankings, **size, distinct=True
        )
    for name, run in peers.items():
        against(book, mine, name, rates(run, SEEDS[:1]), data)


@pytest.mark.parametrize("data", DRAWS)
def test_numpyro(book: Book, ours, data: str, request: pytest.FixtureRequest):
    pytest.importorskip("numpyro", reason="NumPyro, a peer, is not installed")
    rankings = request.getfixturevalue(data.lower())
    prior, adaptation = BEST[data]
    book.once(lambda: ours(data, prior, adaptation))
    run = numpyro_draws(rankings, prior, tune=TUNE, draws=DRAWS[data])
    against(book, ours(data, prior, adaptation), "NumPyro by hand", rates(run, SEEDS[:1]), data)


def against(book: Book, mine: Rates, name: str, peer: Rates, data: str) -> None:
    """Write a peer beside ours, by centred utilities, because the peers' priors differ."""
    book.budget(
        f"NUTS, {data}, against {name}, centred",
        mine.centred,
        rate,
        peer=f"{rate(peer.centred)} (raw {rate(peer.raw)})",
        ratio=mine.centred / peer.centred,
    )
