"""Slips in the call of a distribution: the message shows the call that works."""

import re

import numpy as np
import pymc as pm
import pytest
from pymc.model.transform.optimization import freeze_dims_and_data

import bayesrank as br

RANKINGS = br.Rankings.from_orderings([["a", "b", "c"], ["b", "a", "c"]])
CALLS = {  # the call that each message advises
    "PlackettLuce": ("utility", RANKINGS),
    "PMOP": ("utility", RANKINGS),
    "MaxDiff": ("utility", RANKINGS),
    "Mallows": ("consensus, alpha", RANKINGS),
    "GeneralizedMallows": ("consensus, alpha", RANKINGS),
    "Mixture": ("weights, components", RANKINGS),
    "MPM": ("score", RANKINGS.counts()),
    "BPR": ("utility", br.Interactions.from_rankings(br.Rankings.from_orderings([["a", {"b"}]]))),
    "BradleyTerry": ("utility", RANKINGS.pairs()),
    "Thurstone": ("utility", RANKINGS.pairs()),
    "Davidson": ("utility", RANKINGS.pairs()),
    "RaoKupper": ("utility", RANKINGS.pairs()),
    "OrderedPairs": ("utility", RANKINGS.pairs()),
    "GroundedRaoKupper": ("utility", RANKINGS.pairs()),
}


@pytest.mark.parametrize("family", CALLS)
def test_misplaced_missing_and_unknown_arguments_show_the_call(family):
    distribution, (parameters, data) = getattr(br, family), CALLS[family]
    call = re.escape(f"{family}('y', {parameters}, observed=...).") + "$"
    kind = type(data).__name__
    with pm.Model(coords={"item": ["a", "b", "c"]}):
        u = pm.Normal("u", dims="item")
        for args, more in [
            (("y", data), {}), ((data,), {}), ((u, data), {}), (("y", u, data), {}),
            (("y", u), {"data": data}), (("y", u, 1, 2, 3, data), {}),
        ]:  # fmt: skip
            with pytest.raises(TypeError, match=f"^{family} got {kind} as a parameter.* {call}"):
                distribution(*args, **more)
        with pytest.raises(TypeError, match=f"^{family} needs name.* {call}"):
            distribution(observed=data)
        with pytest.raises(TypeError, match=f"^{family} got int as the name .* {call}"):
            distribution(1, u, [u], observed=data) if "," in parameters else distribution(1, u)
        with pytest.raises(TypeError, match=f"^{family} takes name and .* got 6 .* {call}"):
            distribution("y", u, 1, 2, 3, 4)
        with pytest.raises(TypeError, match=f"^{family} got an unexpected .* 'obs'. It takes .*ob"):
            distribution("y", u, *[1][: parameters.count(",")], obs=1)


def test_dist_names_no_internal_function():
    for unnamed in (br.PlackettLuce.dist, br.BradleyTerry.dist, br.MPM.dist):
        with pytest.raises(
            TypeError, match=r"unexpected keyword argument 'obs'\. It takes its par"
        ):
            unnamed([0.0, 1.0], obs=1)
    with pytest.raises(TypeError, match=r"^BradleyTerry\.dist needs utility, of shape"):
        br.BradleyTerry.dist()


def test_data_of_other_kinds_and_frozen_models_say_what_to_do():
    with pm.Model(coords=RANKINGS.coords) as model:
        br.PlackettLuce("y", pm.Normal("u", dims="item"), observed=RANKINGS)
    with pytest.raises(TypeError, match=r"not list\. Read .* by br\.Rankings\.from_frame\.$"):
        br.set_observed("y", [["a", "b"]], model=model)
    with pytest.raises(TypeError, match=r"`name` is Rankings; .* br\.set_observed\('y', data\)"):
        br.set_observed(RANKINGS, "y", model=model)
    with pytest.raises(TypeError, match=r"the model is frozen\. Replace them in the model that"):
        br.set_observed("y", RANKINGS, model=freeze_dims_and_data(model))
    with pytest.raises(TypeError, match=r"`rankings` is str; .* br\.part_worths\(rankings, 'p"):
        br.part_worths("b", RANKINGS, model=model)
    with pytest.raises(ValueError, match=r"the utility has length 2 .* They must be equal\."):
        model.compile_logp()({"u": np.zeros(2)})
