"""What is compared is comparable: densities sum to one over the outcomes that their labels name."""

import numpy as np
import pandas as pd
import pytest

import bayesrank as br
from bayesrank.inference.approximation.modes import kept_of
from bayesrank.likelihoods.pmop.set_kernels import AGGREGATES
from tests.builders import model_of
from tests.distributions.pair_examples import FAMILIES, table
from tests.oracles import block_sizes, compositions, weak_orders

# among all weak orders is the one that says nothing: all items in one block
pytestmark = pytest.mark.filterwarnings("ignore::bayesrank.data.UninformativeRankingWarning")

N_ITEMS, N_MATCHES = 4, 3
ITEMS = list("abcd")[:N_ITEMS]
EVERY_WEAK_ORDER = weak_orders(N_ITEMS)


def rankings_of(ranks):
    """One ranking per row of ranks."""
    item = np.tile(np.arange(N_ITEMS), (len(ranks), 1))
    return br.Rankings(item, ranks, items=ITEMS)


def orders(family, **options):
    """Model that observes all weak orders, each in a ranking of its own."""
    return model_of(rankings_of(EVERY_WEAK_ORDER), family, **options)


def counts(name):
    """Model that observes all counts of a number of matches, each as a pair of its own."""
    family = FAMILIES[name]
    everything = table(N_MATCHES, family.n_outcomes)
    pairs = [("a", "d", f"{i}", *np.pad(x, (0, 3 - len(x)))) for i, x in enumerate(everything)]
    frame = pd.DataFrame(pairs, columns=["one", "two", "who", "first", "second", "tie"])
    long = frame.melt(["one", "two", "who"], var_name="outcome", value_name="n")
    observed = br.Pairs.from_frame(
        long, first="one", second="two", outcome="outcome", count="n", judge="who"
    )
    assert observed.n_pairs == len(everything)
    return model_of(observed, family.distribution, **family.parameter)


MODELS = {
    "PlackettLuce": lambda: orders(br.PlackettLuce),
    **{
        f"PMOP {aggregate}{' given sizes' if given else ''}": (
            lambda aggregate=aggregate, given=given: orders(
                br.PMOP, aggregate=aggregate, given_sizes=given
            )
        )
        for aggregate in AGGREGATES
        for given in (False, True)
    },
    "PMOP with a tie prevalence": lambda: orders(
        br.PMOP, aggregate="geometric", tie_prevalence=[0.5, 0.2, 0.1]
    ),
    **{name: (lambda name=name: counts(name)) for name in FAMILIES},
}


def outcome_of(model):
    """What the label says, as `compare` reads it."""
    return kept_of(model, "y").outcome


def sums(outcome, probabilities):
    """Add up over each space of outcomes that the label names."""
    if outcome == "weak orders given their block sizes":
        sizes = [block_sizes(ranks) for ranks in EVERY_WEAK_ORDER]
        assert set(sizes) == set(compositions(N_ITEMS))
        return [
            sum(p for p, s in zip(probabilities, sizes, strict=True) if s == given)
            for given in compositions(N_ITEMS)
        ]
    assert outcome in (
        "weak orders",
        "pair outcomes given the pairs",
        "pair outcomes with ties given the pairs",
    )
    return [probabilities.sum()]


@pytest.mark.parametrize("name", MODELS)
def test_densities_sum_to_one_over_the_outcomes_that_the_label_names(name, rng):
    model = MODELS[name]()
    logp = model.compile_logp(vars=model["y"], sum=False, mode="FAST_COMPILE")
    for scale in (0.5, 3.0):
        (logps,) = logp({"utility": scale * rng.normal(size=len(model.coords["item"]))})
        np.testing.assert_allclose(sums(outcome_of(model), np.exp(logps)), 1, atol=1e-9)
