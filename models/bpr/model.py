r"""Bayesian personalised ranking: recommend items, with their uncertainty.

Story: users have some of many items, and nothing is known about the other items. A user tends to
prefer the user's own items to the other items. Either everybody likes them, or they suit the taste
of this user.

    item_bias[i]      ~ Normal(0, bias_scale)
    user_factor[u, k] ~ Normal(0, user_scale)
    item_factor[i, k] ~ Normal(0, item_scale)
    utility[u, i]     = item_bias[i] + sum_k user_factor[u, k] item_factor[i, k]
    y                 ~ BPR(utility): pairs of an item i that u has
                        and an item j that u does not have

==================  ====================  ============
symbol              variable              dims
==================  ====================  ============
:math:`W`           ``user_factor``       user, factor
:math:`H`           ``item_factor``       item, factor
:math:`b`           ``item_bias``         item
==================  ====================  ============

The model differs from the paper in the weight of the pairs. MovieLens 100K has 130 million pairs.
As independent observations they would leave almost no uncertainty. Here all pairs together count as
one comparison per interaction (``evidence``), which corresponds to the usual penalties. The paper
penalises each parameter of a triple, so frequent parameters have narrower priors. `fit_map`
maximises the posterior of the model above, with one scale for users, items and biases each.

This is a composite likelihood: check the coverage of its posterior before you rely on it, and do
not compute LOO. `models.bpr.choice` has the same utilities and a proper likelihood.

``python -m models.bpr.study`` compares fits on MovieLens 100K; ``RESULTS.md`` contains the results.

References
----------
Rendle et al., BPR: Bayesian personalized ranking from implicit feedback, UAI 2009.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import arviz as az
import numpy as np
import pymc as pm
import pytensor.tensor as pt
from numpy.typing import NDArray

import bayesrank as br
from models.bpr.learn_bpr import FactorFit, learn_bpr, prior_penalties
from models.bpr.recommend import fold_in, recommend, recommend_new

__all__ = ["Priors", "build", "fit_advi", "fit_map", "fold_in", "recommend", "recommend_new"]


class Priors(NamedTuple):
    """Number of factors (1 or more) and positive standard deviations."""

    n_factors: int = 64
    user_scale: float = 1.0  # only its product with `item_scale` is identified
    item_scale: float = 1.0
    bias_scale: float = 0.5

    @property
    def scales(self) -> dict[str, float]:
        """The standard deviations by name, in the order of the variables."""
        return {name: value for name, value in self._asdict().items() if name != "n_factors"}

    def check(self, interactions: br.Interactions, **positive: float) -> None:
        """Raise if there is nothing to learn, or a number is out of its range."""
        if not isinstance(interactions, br.Interactions):
            raise TypeError(
                f"Expected Interactions; got {type(interactions).__name__}. Convert a table of "
                f"ratings with br.Interactions.from_ratings(frame, user=..., item=..., "
                f"rating=..., at_least=...), or a table of clicks with from_frame."
            )
        interactions.check_triples()
        if self.n_factors < 1:
            raise ValueError(f"`n_factors` is {self.n_factors}; give at least one.")
        for name, value in {**self.scales, **positive}.items():
            if not 0 < value < math.inf:
                raise ValueError(f"`{name}` is {value}; it must be positive.")

    def data(self, interactions: br.Interactions, **more: float) -> dict[str, NDArray[Any]]:
        """Return the constant data that `recommend` needs."""
        numbers = {"user_scale": self.user_scale, **more}
        found = {name: np.array(value, dtype=float) for name, value in numbers.items()}
        return {**found, "known_start": interactions.start, "known_item": interactions.item}

    @contextmanager
    def model(self, interactions: br.Interactions, **more: float) -> Iterator[Any]:
        """Open a model with these data; yield it, the factors of users and items, and biases."""
        with pm.Model(coords={**interactions.coords, "factor": np.arange(self.n_factors)}) as model:
            for name, value in self.data(interactions, **more).items():
                pm.Data(name, value)
            W = pm.Normal("user_factor", 0, self.user_scale, dims=("user", "factor"))
            H = pm.Normal("item_factor", 0, self.item_scale, dims=("item", "factor"))
            yield model, W, H, pm.Normal("item_bias", 0, self.bias_scale, dims="item")

    def results(self, fit: FactorFit, interactions: br.Interactions, **more: float) -> Any:
        """Convert a mode into results, with the same data."""
        values = {name: x[None, None].astype(float) for name, x in fit._asdict().items()}
        dims = {"user_factor": ["user", "factor"], "item_factor": ["item", "factor"]}
        return az.from_dict(
            {"posterior": values, "constant_data": self.data(interactions, **more)},
            coords={**interactions.coords, "factor": np.arange(self.n_factors)},
            dims={**dims, "item_bias": ["item"], "known_start": ["bound"], "known_item": ["known"]},
        )


def build(
    interactions: br.Interactions,
    *,
    evidence: float | None = None,
    batch_size: int | None = None,
    n_triples: int | None = None,
    seed: int = 1,
    **priors: Any,
) -> pm.Model:
    """Build the model.

    Parameters
    ----------
    interactions : Interactions
        The items of every user.
    evidence : float, optional
        Number of comparisons that all pairs together count as; by default the number of
        interactions.
    batch_size : int, optional
        Number of triples in each step of `pm.fit`, drawn from `n_triples` triples. By default the
        model contains all pairs, which suits small data.
    n_triples : int, optional
        Number of triples to draw; by default 20 for each interaction.
    seed : int
        Random seed of the triples.
    **priors
        Fields of `Priors`: n_factors, user_scale, item_scale, bias_scale.

    Returns
    -------
    pm.Model
        With the variables of the table above, and the interactions as data, which `recommend`
        reads from the results.

    Raises
    ------
    ValueError
        If there is nothing to learn, or a number is out of its range.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> model = build(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> [rv.name for rv in model.free_RVs]
    ['user_factor', 'item_factor', 'item_bias']
    """
    prior, total = _checked(interactions, evidence, priors)
    for what, number in (("batch_size", batch_size), ("n_triples", n_triples)):
        if number is not None and number < 1:
            raise ValueError(f"`{what}` is {number}; give at least one.")

    weight = total / interactions.n_triples
    with prior.model(interactions, pair_weight=weight) as (model, W, H, b):
        if batch_size is None:
            utility = pt.sum(W[:, None, :] * H, axis=-1) + b
            br.BPR("y", utility, observed=interactions, weight=weight)
        else:
            n = 20 * len(interactions) if n_triples is None else n_triples
            triples = interactions.sample_triples(n, random_seed=seed).astype("int32")
            user, *both = pm.Minibatch(*triples.T, batch_size=batch_size)
            pair = pt.stack(both, axis=-1)
            utility = pt.sum(W[user][:, None, :] * H[pair], axis=-1) + b[pair]
            zeros = np.zeros(batch_size, dtype=int)
            br.BPR("y", utility, observed=zeros, weight=total / batch_size)
    return model


def _checked(
    interactions: br.Interactions, evidence: float | None, priors: dict[str, Any]
) -> tuple[Priors, float]:
    """Return the priors, and the number of comparisons that all pairs count as."""
    prior = Priors(**priors)
    prior.check(interactions, **({} if evidence is None else {"evidence": evidence}))
    return prior, float(len(interactions)) if evidence is None else evidence


# ---------------------------------------------------------------------------------------------
# Fitting
# ---------------------------------------------------------------------------------------------


def fit_map(
    interactions: br.Interactions,
    *,
    evidence: float | None = None,
    n_epochs: float = 100,
    learning_rate: float = 0.05,
    seed: int = 1,
    **priors: Any,
) -> Any:
    """Find a posterior mode of the model by LearnBPR.

    Parameters
    ----------
    interactions, evidence, **priors
        As in `build`.
    n_epochs, learning_rate, seed
        As in `learn_bpr`; the learning rate falls to zero.

    Returns
    -------
    DataTree
        Group ``posterior`` with the mode as its only draw, and ``constant_data``.

    Examples
    --------
    >>> clicks = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
    >>> mode = fit_map(br.Interactions.from_rankings(clicks), n_factors=2)
    >>> dict(mode["posterior"]["item_factor"].sizes)
    {'chain': 1, 'draw': 1, 'item': 3, 'factor': 2}
    """
    prior, total = _checked(interactions, evidence, priors)
    fit = learn_bpr(
        interactions, n_factors=prior.n_factors, n_epochs=n_epochs, learning_rate=learning_rate,
        penalties=prior_penalties(interactions, **prior.scales, evidence=total), seed=seed,
    )  # fmt: skip
    return prior.results(fit, interactions, pair_weight=total / interactions.n_triples)


def fit_advi(
    model: pm.Model,
    start: Any = None,
    *,
    n_steps: int = 20_000,
    draws: int = 200,
    learning_rate: float = 0.01,
    seed: int = 1,
) -> Any:
    """Approximate the posterior by independent normals (mean-field ADVI).

    Parameters
    ----------
    model : pm.Model
        From `build`, with a `batch_size` if the data are not small.
    start : DataTree, optional
        Results of `fit_map`, as starting values of the means. They save most of the steps.
    n_steps, draws : int
        Number of steps of the optimiser, and number of draws of the result.
    learning_rate : float
        Learning rate of Adam.
    seed : int
        Random seed of steps and draws.

    Returns
    -------
    DataTree
        Groups as from `fit_map`, with `draws` draws.
    """
    point = None
    if start is not None:
        point = {rv.name: start["posterior"][rv.name].values[0, 0] for rv in model.free_RVs}
    with model:
        advi = pm.ADVI(start=point, random_seed=seed)
        optimiser = pm.adam(learning_rate=learning_rate)
        advi.fit(n_steps, obj_optimizer=optimiser, progressbar=False)
        return advi.approx.sample(draws, random_seed=seed)
