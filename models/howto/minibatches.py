r"""How do I learn from minibatches of rankings?

Story: many rankings depend on the utilities of the items. `pm.Minibatch` selects some rankings at
every step, and ``total_size`` rescales them, so that the gradient is unbiased. ADVI needs nothing
else.

    utility[i]   ~ Normal(0, 1)
    ranking      ~ PlackettLuce(utility)

Minibatches select rows of arrays, so pass the rankings as arrays: the items of every slot and their
ranks, both from a `Rankings`. The example gathers the utility into the slots, and ``where`` marks
the slots in use. Repeat weighted rankings first (`Rankings.expand`).

Use minibatches if evaluating the utilities is expensive, for example with a neural network, or if
the data do not fit into memory. Otherwise use NUTS, because the gradient of all rankings is cheap.
Mean-field ADVI underestimates the standard deviations of correlated utilities, and its means keep
moving with the batches. Lower the learning rate or enlarge the batches until this movement is small
compared with the standard deviations. For the mode only, with early stopping, use
`br.fit_minibatch`.

Run ``python minibatches.py`` for 5,000 simulated rankings, 100 at a time.

``mean`` and ``sd`` are those of a normal approximation. It ignores correlations, so ``sd`` tends
to be too small. The means are close to ``truth``.
"""

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br


def simulate(n_rankings: int = 5000, *, seed: int = 1) -> tuple[br.Rankings, pd.Series]:
    """Simulate rankings of three to five of ten items, and the utilities they come from."""
    rng = np.random.default_rng(seed)
    utility = pd.Series(np.linspace(1.5, -1.5, 10), index=list("abcdefghij"))
    orderings = []
    for length in rng.integers(3, 6, n_rankings):
        some = rng.choice(10, length, replace=False)
        noisy = utility.to_numpy()[some] + rng.gumbel(size=length)
        orderings.append(utility.index[some[np.argsort(-noisy)]])
    return br.Rankings.from_orderings(orderings, rest=(), items=utility.index), utility


def build(rankings: br.Rankings, batch_size: int = 100) -> pm.Model:
    """Build the model of `batch_size` rankings at a time."""
    with pm.Model(coords={"item": rankings.items}) as model:
        item, ranks = pm.Minibatch(rankings.item, rankings.ranks, batch_size=batch_size)
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce(
            "y",
            utility[item],
            where=ranks > 0,
            observed=ranks,
            total_size=rankings.n_rankings,
        )
    return model


def fitted(model: pm.Model, n_steps: int = 10_000) -> pd.DataFrame:
    """Fit by ADVI; return the mean and standard deviation of every utility, after centring."""
    with model:
        approximation = pm.fit(
            n_steps,
            obj_optimizer=pm.adam(learning_rate=0.01),
            random_seed=1,
            progressbar=False,
        )
    utility = approximation.sample(1000, random_seed=1)["posterior"]["utility"]
    utility = utility - utility.mean("item")
    dims = ["chain", "draw"]
    return pd.DataFrame({"mean": utility.mean(dims).to_series(), "sd": utility.std(dims)})


if __name__ == "__main__":
    rankings, truth = simulate()
    print(fitted(build(rankings)).assign(truth=truth).round(2).to_string())
