r"""More rankings than fit into a gradient: how to learn from a few at a time?

Story: utilities of items, and many rankings. `pm.Minibatch` picks some rankings at every step, and
``total_size`` weighs them up, so that the gradient is right on average; ADVI needs no more.

    utility[i]   ~ Normal(0, 1)
    ranking      ~ PlackettLuce(utility)

Rows of arrays are picked, so that the rankings go in as arrays: the items of every slot and their
ranks, both from a `Rankings`. The utility is gathered into the slots by hand, and ``where`` says
which slots are in use. Rankings with a weight are repeated first (`Rankings.expand`).

When it pays: a gradient of all rankings at once is cheap (100,000 rankings of 10 items take 9 ms),
and NUTS gives the whole posterior, so that minibatches are for what is dear beside the likelihood:
a network of features for every slot, or data that do not fit into memory. Mean-field ADVI gives
standard deviations that are too small where utilities are correlated, and its means keep moving
with the batches, here by up to 0.08 about the mode of all rankings: lower the learning rate, or
take more at a time, until that is small beside the standard deviations. The mode alone, with early
stopping and of any model with its data in `pm.Data`, is `br.train`.

Run ``python -m models.howto.minibatches``: 5,000 made-up rankings, 100 at a time.
"""

import numpy as np
import pandas as pd
import pymc as pm

import bayesrank as br


def simulate(n_rankings: int = 5000, *, seed: int = 1) -> tuple[br.Rankings, pd.Series]:
    """Make up rankings of three to five of ten items, and the utilities they come from."""
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
    """Fit by ADVI: mean and standard deviation of every utility, less the mean of all."""
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
