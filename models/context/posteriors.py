r"""Posteriors of a network: FATE on the medoid, from 100, 1,000 and 10,000 sets.

Story: the mode of a network's weights ranks well, but it computes the probability of a ranking as
if the weights were known. Averaging over draws of the weights includes their uncertainty, which
matters if there are few data. This study compares the mode with three sets of draws:

- Laplace's approximation of the last layer given the layers below, at their mode;
- NUTS for the same posterior;
- ADVI, independent normals for all weights, by batches from the mode, with three seeds.

The last layer is linear in the hidden units, which are constants if all other weights are fixed
(`models.context.conditional.given`). NUTS therefore takes seconds.

`models.context.study` writes the table of posteriors.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

import numpy as np
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr
from numpy.typing import NDArray
from scipy.special import logsumexp

import bayesrank as br
from bayesrank.likelihoods.plackett_luce import weak_order_logp
from models.context.conditional import given
from models.context.set_utilities import fate_utility, fate_weights
from models.context.simulate import simulate_medoid
from models.shared.networks import WeightSpec, draw_weights, weight_coords

__all__ = ["build", "compare", "fit_advi", "fit_last_layer", "held_out"]

WIDTHS = (64, 64)
MOST_SAMPLED = 1_000  # with 10,000 sets, NUTS takes nine minutes and agrees with Laplace
LAST = "score_out_W"


def build(
    rankings: br.Rankings,
    specs: Mapping[str, WeightSpec],
    *,
    batch_size: int | None = None,
) -> pm.Model:
    """Build FATE with normal weights. With `batch_size`, it uses random batches, for ADVI.

    Parameters
    ----------
    rankings : Rankings
        Rankings of one length, with features.
    specs : dict of str to WeightSpec
        Weights from `fate_weights`, with the scales of the prior.
    batch_size : int, optional
        Number of rankings in a batch. By default, there are no batches.

    Returns
    -------
    pm.Model
    """
    with pm.Model(coords={**weight_coords(specs), **rankings.coords}) as model:
        weights = {name: pm.Normal(name, 0, s.scale, dims=s.dims) for name, s in specs.items()}
        if batch_size is None:
            dims = ("ranking", "slot", "feature")
            features = pm.Data("features", rankings.features, dims=dims)
            utility = fate_utility(features, weights)
            br.PlackettLuce("y", utility, utility_dims=dims[:2], observed=rankings)
        else:
            features, ranks = pm.Minibatch(
                rankings.features, rankings.ranks.astype("int32"), batch_size=batch_size
            )
            utility = fate_utility(features, weights)
            br.PlackettLuce("y", utility, observed=ranks, total_size=rankings.n_rankings)
    return model


def fit_last_layer(
    model: pm.Model, mode: xr.DataTree, *, method: str, draws: int = 500, seed: int = 1
) -> xr.DataTree:
    """Draw the last layer given the rest at the mode.

    Parameters
    ----------
    model : pm.Model
        From `build`.
    mode : DataTree
        From `bayesrank.fit_minibatch`.
    method : {"laplace", "nuts"}
        Laplace's approximation or NUTS.
    draws : int
        Number of draws, over all chains.
    seed : int
        Random seed.

    Returns
    -------
    DataTree
        Posterior of the last layer.
    """
    last = given(model, mode, free=[LAST])
    if method == "laplace":
        # without learned scales: one normal, around the mode
        return br.fit_inla(scales=(), draws=draws, chains=1, random_seed=seed, model=last)
    with last:
        return pm.sample(
            draws // 2, tune=500, chains=2, random_seed=seed, progressbar=False, quiet=True
        )


def fit_advi(
    rankings: br.Rankings,
    specs: Mapping[str, WeightSpec],
    mode: xr.DataTree,
    *,
    n_steps: int = 5_000,
    batch_size: int = 100,
    draws: int = 500,
    seed: int = 1,
) -> xr.DataTree:
    """Fit independent normals to the posterior of all weights, starting from the mode.

    Returns
    -------
    DataTree
        Draws of all weights.
    """
    start = {name: mode["posterior"][name].to_numpy()[0, 0] for name in specs}
    with build(rankings, specs, batch_size=min(batch_size, rankings.n_rankings)):
        found = pm.fit(
            n_steps,
            method=pm.ADVI(
                start=start,
                start_sigma={n: np.full(x.size, 0.01) for n, x in start.items()},
                random_seed=seed,  # `pm.fit` passes it on only if the method is a name
            ),
            obj_optimizer=pm.adam(learning_rate=1e-3),
            progressbar=False,
        )
        return found.sample(draws, random_seed=seed)


def held_out(
    rankings: br.Rankings, mode: xr.DataTree, draws: xr.DataTree | None = None
) -> NDArray[np.float64]:
    r"""Log density of held-out rankings, :math:`\log \frac1S \sum_s p(y_n \mid \theta_s)`.

    Parameters
    ----------
    rankings : Rankings
        Rankings that were not used in training.
    mode : DataTree
        Mode of all weights. It supplies those that `draws` does not contain.
    draws : DataTree, optional
        Draws of some or all weights. Without them, the density is computed at the mode.

    Returns
    -------
    array, (n_rankings,)
    """
    point = {str(n): x.to_numpy()[0, 0] for n, x in mode["posterior"].data_vars.items()}
    symbols = {name: pt.tensor(name, dtype="float64", shape=x.shape) for name, x in point.items()}
    features = pt.constant(rankings.features)
    logp = weak_order_logp(fate_utility(features, symbols), pt.constant(rankings.ranks))
    density = pytensor.function(list(symbols.values()), logp)
    if draws is None:
        return density(*point.values())
    found = draws["posterior"].dataset.stack(s=("chain", "draw")).transpose("s", ...)
    terms = [
        density(*(point | {str(n): x.to_numpy() for n, x in found.isel(s=s).items()}).values())
        for s in range(found.sizes["s"])
    ]
    return logsumexp(terms, axis=0) - np.log(len(terms))


def compare(
    n: int, *, n_test: int = 5_000, advi_seeds: Sequence[int] = (1, 2, 3)
) -> dict[str, str]:
    """Compute the mean log density of held-out sets, its error and CPU seconds, by posterior.

    Parameters
    ----------
    n : int
        Number of training sets.
    n_test : int
        Number of held-out sets.
    advi_seeds : sequence of int
        Random seeds of the batches and the noise of ADVI; results differ between seeds.

    Returns
    -------
    dict of str to str
        One cell for each approximation of the posterior of the weights.
    """
    test, training = simulate_medoid(n_test, seed=99), simulate_medoid(n, seed=1)
    specs = fate_weights(2, WIDTHS, WIDTHS)
    model = build(training, specs)
    begin = time.process_time()
    mode = br.fit_minibatch(
        epochs=max(60, 60_000 // n), batch_size=min(100, n // 2), validation=0.2,
        patience=max(15, 15_000 // n), start=draw_weights(specs, 1), progressbar=False,
        random_seed=1, model=model)  # fmt: skip
    found = {"mode": _shown(held_out(test, mode), begin)}
    draws: dict[str, Callable[[], xr.DataTree]] = {
        "last, Laplace": partial(fit_last_layer, model, mode, method="laplace"),
        "last, NUTS": partial(fit_last_layer, model, mode, method="nuts"),
    }
    for seed in advi_seeds:
        name = f"all, ADVI, seed {seed}"
        draws[name] = partial(fit_advi, training, specs, mode, seed=seed)
    if n > MOST_SAMPLED:
        del draws["last, NUTS"]
    for name, draw in draws.items():
        begin = time.process_time()
        found[name] = _shown(held_out(test, mode, draw()), begin)
    return found


def _shown(logp: NDArray[np.float64], begin: float) -> str:
    error = logp.std() / np.sqrt(len(logp))
    return f"{logp.mean():.3f} ± {error:.3f} ({time.process_time() - begin:.0f} s)"
