"""Every verb of PyMC and ArviZ on every family: what works, and what is refused in which words.

``python -m tests.verbs`` runs all cells and writes the table of ``docs/verbs.md``, above the
sections that people wrote; ``python -m tests.verbs
PlackettLuce BPR`` prints the columns of these families alone. `test_verbs.py` checks that each cell
is what the page says. A cell is "ok", which says that what came out was looked at, or the sentence
that was raised. A sentence is one that this package writes, or one about a package that is not
installed: anything else is a traceback from inside, and no cell may be one.

Data and draws are few: the table says whether a verb works, and other tests whether it is right.
"""

import contextlib
import gc
import io
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import arviz as az
import cloudpickle
import numpy as np
import nutpie
import pandas as pd
import pymc as pm
import pytensor
import pytensor.tensor as pt
import xarray as xr

import bayesrank as br
from bayesrank.likelihoods.pmop import AGGREGATES
from tests.builders import model_of
from tests.fake_draws import fake_draws

__all__ = [
    "FAMILIES",
    "PAGE",
    "TRACEBACK",
    "VERBS",
    "cell",
    "column",
    "is_not_installed",
    "page",
    "read_page",
]

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "verbs.md"
FEW = {"tune": 10, "draws": 10, "chains": 1, "random_seed": 1, "progressbar": False}
FAST = {"mode": "FAST_COMPILE"}
ITEMS = list("abcd")


# Families


class Family(NamedTuple):
    """A family, data that it observes, others that may follow, and a model of one value."""

    data: Any
    other: Any
    observed: Callable[[Any], pm.Model]
    latent: Callable[[], pm.Model]
    value: Any  # of what is latent
    parameter: str = "utility"
    together: bool = False  # whether the rows depend on each other, and have one number


ORDERS = [["a", "b", "c", "d"], ["b", {"a", "c"}], ["d", "a", "c"], [{"c", "d"}, "b", "a"]]
OTHERS = [["c", "a"], ["d", {"a", "b"}, "c"]]
STAGED = [["a", "b", "c", "d"], ["b", {"a", "c"}], ["d", "a", {"b", "c"}]]
CHOICES = [["a", {"b", "c"}, "d"], ["b", {"a", "c"}, "d"], ["d", "c"]]


def _of_rankings(
    distribution: Any, value: Any, orders: Any = ORDERS, others: Any = OTHERS, **options: Any
) -> Family:
    def observed(rankings: br.Rankings) -> pm.Model:
        return model_of(rankings, distribution, **options)

    def latent() -> pm.Model:
        with pm.Model(coords={"item": ITEMS}) as model:
            distribution("y", pm.Normal("utility", 0, 1, dims="item"), **options)
        return model

    data = br.Rankings.from_orderings(orders, rest=())
    other = br.Rankings.from_orderings(others, rest=())
    return Family(data, other, observed, latent, np.array(value))


def _of_pairs(distribution: Any, tie: str | None, value: Any) -> Family:
    def parameter() -> dict[str, Any]:
        if tie is None:
            return {}
        spread = pm.HalfNormal("spread", 1)
        if tie == "cutpoints":
            return {tie: pt.stack([-spread, spread])}
        return {tie: spread + 1.0}

    def observed(pairs: br.Pairs) -> pm.Model:
        with pm.Model(coords=pairs.coords) as model:
            utility = pm.Normal("utility", 0, 1, dims="item")
            distribution("y", utility, observed=pairs, **parameter())
        return model

    def latent() -> pm.Model:
        with pm.Model(coords={"item": ITEMS}) as model:
            utility = pm.Normal("utility", 0, 1, dims="item")
            distribution("y", utility[[0, 1]], total=sum(value), **parameter())
        return model

    def pairs(rows: list[tuple[str, str, str]]) -> br.Pairs:
        frame = pd.DataFrame(rows, columns=["one", "two", "who"])
        return br.Pairs.from_frame(
            frame, first="one", second="two", outcome="who", items=ITEMS, both_bad=bad
        )

    third, bad = "first" if tie is None else "tie", None
    if len(value) == 4:
        third = bad = "both bad"
    rows = [("a", "b", "first"), ("b", "c", "second"), ("c", "d", third), ("d", "a", "first")]
    data, other = pairs([*rows, ("a", "b", "second")]), pairs([*rows[:3], ("a", "d", third)])
    return Family(data, other, observed, latent, np.array(value))


def _of_counts(*, grouped: bool = False) -> Family:
    def observed(counts: br.PairCounts) -> pm.Model:
        with pm.Model(coords=counts.coords) as model:
            utility = pm.Normal("utility", 0, 1, dims=("region", "item") if grouped else "item")
            adherence = pm.HalfNormal("adherence", 1, dims="ranker")
            more = {"variance": pm.HalfNormal("spread", 1, dims="item") + 0.1} if grouped else {}
            br.MPM("y", utility, adherence=adherence, observed=counts, **more)
        return model

    def latent() -> pm.Model:
        with pm.Model(coords={"item": ITEMS}) as model:
            utility = pm.Normal("utility", 0, 1, dims="item")
            br.MPM("y", utility, total=3)
        return model

    def counts(orders: list[str]) -> br.PairCounts:
        rankings = br.Rankings.from_orderings(list(map(list, orders)), rankers=[7, 8, 9])
        return rankings.grouped({"region": {7: "north", 8: "south", 9: "north"}}).counts()

    value = np.array([[0, 1, 0, 0], [0, 0, 2, 0], [0, 0, 0, 0], [0, 0, 0, 0]])
    return Family(
        counts(["abcd", "bacd", "dabc"]), counts(["dcba", "abdc", "bdca"]), observed, latent, value
    )


def _of_distances(*, by_stage: bool = False, marginal: bool = False) -> Family:
    distribution = br.GeneralizedMallows if by_stage else partial(br.Mallows, distance="kendall")
    consensus = None if marginal else np.array([2, 1, 3, 4])
    by_item = {} if marginal else {"consensus_dims": "item"}

    def alpha() -> Any:
        return pm.HalfNormal("alpha", 1, dims="stage" if by_stage else None)

    def observed(rankings: br.Rankings) -> pm.Model:
        with pm.Model(coords=rankings.coords | {"stage": [1, 2, 3]}) as model:
            distribution("y", consensus, alpha(), **by_item, observed=rankings)
        return model

    def latent() -> pm.Model:
        with pm.Model(coords={"stage": [1, 2, 3]}) as model:
            distribution("y", consensus, alpha())
        return model

    # those of generalised models may have ties in the last block
    last = [{"a", "b", "c"}] if by_stage else list("acb")
    data = br.Rankings.from_orderings([list("abcd"), list("bacd"), ["d", *last]], rest=())
    other = br.Rankings.from_orderings([list("bacd"), list("cbda")])
    value = np.array([1, 2, 3, 4])
    return Family(data, other, observed, latent, value, "alpha", together=marginal)


def _of_kinds(unit: str) -> Family:
    def observed(rankings: br.Rankings) -> pm.Model:
        with pm.Model(coords={**rankings.coords, "kind": ["one", "other"]}) as model:
            share = pm.Normal("share", 0, 1, dims="kind")
            utility = pm.Normal("utility", 0, 1, dims=("kind", "item"))
            component = br.PlackettLuce.dist(utility)
            br.Mixture("y", pm.math.softmax(share), component, unit=unit, observed=rankings)
        return model

    def latent() -> pm.Model:
        with pm.Model(coords={"item": ITEMS, "kind": ["one", "other"]}) as model:
            share = pm.Normal("share", 0, 1, dims="kind")
            utility = pm.Normal("utility", 0, 1, dims=("kind", "item"))
            br.Mixture("y", pm.math.softmax(share), br.PlackettLuce.dist(utility))
        return model

    orders = [["a", "b", "c", "d"], ["b", {"a", "c"}], ["d", "a", "c"], [{"c", "d"}, "b", "a"]]
    whose = {"rest": (), "rankers": [7, 8, 8, 9]}
    data = br.Rankings.from_orderings(orders, **whose)
    other = br.Rankings.from_orderings([*orders[2:], *orders[:2]], **whose)
    return Family(data, other, observed, latent, np.array([2, 1, 4, 3]))


def _of_interactions() -> Family:
    def observed(have: br.Interactions) -> pm.Model:
        with pm.Model(coords=have.coords) as model:
            utility = pm.Normal("utility", 0, 1, dims=("user", "item"))
            br.BPR("y", utility, observed=have)
        return model

    def latent() -> pm.Model:
        with pm.Model(coords={"item": ITEMS}) as model:
            utility = pm.Normal("utility", 0, 1, dims="item")
            br.BPR("y", utility[[[0, 1], [2, 3], [0, 3]]])
        return model

    def have(rows: list[tuple[int, str]]) -> br.Interactions:
        frame = pd.DataFrame(rows, columns=["user", "item"])
        return br.Interactions.from_frame(frame, user="user", item="item", items=ITEMS)

    data, other = have([(1, "a"), (1, "b"), (2, "c")]), have([(1, "d"), (2, "a"), (2, "d")])
    return Family(data, other, observed, latent, np.zeros(3, int))


FAMILIES: dict[str, Callable[[], Family]] = {
    "PlackettLuce": partial(_of_rankings, br.PlackettLuce, [2, 1, 4, 3]),
    "PlackettLuce by stage": partial(
        _of_rankings, br.PlackettLuce, [2, 1, 4, 3], STAGED, STAGED[1:], stage_scale=[1.0, 0.8, 0.5]
    ),
    "MaxDiff": partial(
        _of_rankings, br.MaxDiff, [2, 1, 2, 3], CHOICES, [["c", {"a", "b"}, "d"]], method="marley"
    ),
    **{
        f"PMOP {aggregate}": partial(_of_rankings, br.PMOP, [2, 1, 2, 3], aggregate=aggregate)
        for aggregate in AGGREGATES
    },
    "Mallows": _of_distances,
    "Mallows marginalised": partial(_of_distances, marginal=True),
    "GeneralizedMallows": partial(_of_distances, by_stage=True),
    "Mixture": partial(_of_kinds, "ranking"),
    "Mixture of rankers": partial(_of_kinds, "ranker"),
    "MPM": _of_counts,
    "MPM by region": partial(_of_counts, grouped=True),
    "BradleyTerry": partial(_of_pairs, br.BradleyTerry, None, [3, 2]),
    "Thurstone": partial(_of_pairs, br.Thurstone, None, [3, 2]),
    "Davidson": partial(_of_pairs, br.Davidson, "nu", [3, 1, 1]),
    "RaoKupper": partial(_of_pairs, br.RaoKupper, "theta", [3, 1, 1]),
    "GroundedRaoKupper": partial(_of_pairs, br.GroundedRaoKupper, "theta", [3, 1, 1, 1]),
    "OrderedPairs": partial(_of_pairs, br.OrderedPairs, "cutpoints", [3, 1, 1]),
    "BPR": _of_interactions,
}


# Verbs


class Example:
    """A family at work: its model, and draws that stand for a posterior."""

    def __init__(self, family: Family) -> None:
        self.family = family

    def model(self) -> pm.Model:
        """Make the model of the data."""
        return self.family.observed(self.family.data)

    @staticmethod
    def posterior() -> xr.DataTree:
        """Draws of the model in context."""
        return fake_draws(chains=2, draws=60)


def _finite(example: Example, idata: xr.DataTree, n: int = 10) -> None:
    """See that there are draws of the parameter."""
    draws = idata["posterior"][example.family.parameter]
    assert draws.sizes["draw"] == n, draws.sizes
    assert np.isfinite(draws).all()


def draw(example: Example) -> None:
    y = example.model()["y"]
    values = pm.draw(y, draws=3, random_seed=1)
    assert values.shape == (3, *y.shape.eval())


def prior_predictive(example: Example) -> None:
    with example.model():
        idata = pm.sample_prior_predictive(4, random_seed=1)
    assert idata["prior_predictive"]["y"].sizes["draw"] == 4


def posterior_predictive(example: Example) -> None:
    with example.model():
        idata = example.posterior()
        found = pm.sample_posterior_predictive(
            idata.isel(draw=slice(3)), random_seed=1, progressbar=False
        )
    predicted, seen = found["posterior_predictive"]["y"], found["observed_data"]["y"]
    assert predicted.dims == ("chain", "draw", *seen.dims)


def find_map(example: Example) -> None:
    with example.model() as model:
        at = pm.find_MAP(progressbar=False, random_seed=1, return_inferencedata=False)
        start = model.initial_point()
        logp = model.compile_logp(jacobian=False)
    assert logp({name: at[name] for name in start}) > logp(start)


def nuts(sampler: str, example: Example) -> None:
    with example.model():
        idata = pm.sample(nuts_sampler=sampler, cores=1, **FEW)
    _finite(example, idata)


def nuts_nutpie(backend: str, example: Example) -> None:
    compiled = nutpie.compile_pymc_model(example.model(), backend=backend)
    idata = nutpie.sample(
        compiled, seed=1, cores=1, tune=10, draws=10, chains=1, progress_bar=False
    )
    _finite(example, idata)


def advi(example: Example) -> None:
    with example.model():
        fit = pm.fit(5, random_seed=1, progressbar=False)
        _finite(example, fit.sample(10, random_seed=1))


def smc(example: Example) -> None:
    with example.model():
        idata = pm.sample_smc(10, chains=1, cores=1, random_seed=1, progressbar=False)
    _finite(example, idata)


def do(example: Example) -> None:
    model, name = example.model(), example.family.parameter
    done = pm.do(model, {name: np.zeros(model[name].shape.eval())})
    assert name not in [rv.name for rv in done.free_RVs]
    assert pm.draw(done["y"], random_seed=1).shape == tuple(model["y"].shape.eval())


def observe(example: Example) -> None:
    latent = example.family.latent()
    assert pm.draw(latent["y"], random_seed=1).shape == example.family.value.shape
    model = pm.observe(latent, {"y": example.family.value})
    assert [rv.name for rv in model.observed_RVs] == ["y"]
    assert np.isfinite(model.compile_logp()(model.initial_point()))


def log_likelihood(example: Example) -> None:
    with example.model() as model:
        idata = example.posterior()
        pm.compute_log_likelihood(idata, progressbar=False)
    logps = idata["log_likelihood"]["y"]
    by = () if example.family.together else model.named_vars_to_dims["y"][:1]
    assert logps.dims == ("chain", "draw", *by)
    assert np.isfinite(logps).all()


def loo(example: Example) -> None:
    with example.model():
        idata = example.posterior()
        pm.compute_log_likelihood(idata, progressbar=False)
    assert np.isfinite(az.loo(idata).elpd)


def _same(tree: xr.DataTree, again: xr.DataTree) -> None:
    """See that what was read is what was written."""
    assert set(again.children) == set(tree.children)
    for group in tree.children:
        written, read = tree[group].dataset, again[group].dataset.load()
        assert written.equals(read), group
    assert set(again["constant_data"].coords) == set(tree["constant_data"].coords)


def netcdf(example: Example) -> None:
    with example.model(), tempfile.TemporaryDirectory() as folder:
        tree = example.posterior()
        tree.to_netcdf(Path(folder) / "results.nc")
        with xr.open_datatree(Path(folder) / "results.nc") as again:
            _same(tree, again)


def zarr(example: Example) -> None:
    _installed("zarr")
    with example.model(), tempfile.TemporaryDirectory() as folder:
        tree = example.posterior()
        tree.to_zarr(Path(folder) / "results.zarr")
        with xr.open_datatree(Path(folder) / "results.zarr", engine="zarr") as again:
            _same(tree, again)


def pickled(example: Example) -> None:
    model = example.model()
    again = cloudpickle.loads(cloudpickle.dumps(model))
    at = model.initial_point()
    assert again.compile_logp()(at) == model.compile_logp()(at)


def debug(example: Example) -> None:
    output, model = io.StringIO(), example.model()
    with contextlib.redirect_stdout(output):
        model.debug()
    if "raised the following exception" in output.getvalue():  # and was printed
        model.compile_logp(sum=False)(model.initial_point())
    assert "No problems found" in output.getvalue(), output.getvalue()


def graphviz(example: Example) -> None:
    model, name = example.model(), example.family.parameter
    assert f"{name} --> y" in pm.model_to_mermaid(model)  # the same graph without the package
    _installed("graphviz")
    drawn = pm.model_to_graphviz(model)
    assert f"{name} -> y" in drawn.source
    if shutil.which("dot"):  # the program that makes a picture of it
        assert "</svg>" in drawn.pipe(format="svg", encoding="utf-8")


def set_observed(example: Example) -> None:
    model = example.model()
    logp = model.compile_logp()
    at = model.initial_point()
    other = example.family.other
    br.set_observed("y", other, model=model)
    np.testing.assert_allclose(logp(at), example.family.observed(other).compile_logp()(at))


def _installed(package: str) -> None:
    """Raise the sentence of a package that is not there."""
    try:
        __import__(package)
    except ImportError as e:
        raise NotInstalledError(f"The package {package} is not installed.") from e


class NotInstalledError(ImportError):
    """A verb needs a package that is not there."""


VERBS: dict[str, Callable[[Example], None]] = {
    "draw": draw,
    "prior predictive": prior_predictive,
    "posterior predictive": posterior_predictive,
    "MAP": find_map,
    "NUTS, PyMC": partial(nuts, "pymc"),
    "NUTS, nutpie by numba": partial(nuts_nutpie, "numba"),
    "NUTS, nutpie by JAX": partial(nuts_nutpie, "jax"),
    "NUTS, NumPyro": partial(nuts, "numpyro"),
    "ADVI": advi,
    "SMC": smc,
    "do": do,
    "observe": observe,
    "compute_log_likelihood": log_likelihood,
    "LOO": loo,
    "netCDF": netcdf,
    "Zarr": zarr,
    "cloudpickle": pickled,
    "debug": debug,
    "graphviz": graphviz,
    "set_observed": set_observed,
}


# Cells and the page

TRACEBACK = "traceback"


def cell(name: str, verb: str) -> str:
    """Run a verb of a family: "ok", the sentence that was raised, or what went wrong inside."""
    # graphs run in Python, calling the same `perform`, but where a verb says by what they do
    with pytensor.config.change_flags(**FAST, cxx=""), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws
        try:
            VERBS[verb](Example(FAMILIES[name]()))
        except Exception as e:
            message = str(e).split("\nApply node")[0].strip()
            if _is_a_sentence(e):
                return " ".join(message.split())
            traceback.print_exc()
            return f"{TRACEBACK}: {type(e).__name__}: {message.splitlines()[0] if message else ''}"
    return "ok"


def _is_a_sentence(error: BaseException) -> bool:
    """Whether this package raised it on purpose."""
    if isinstance(error, NotInstalledError):
        return True
    where = traceback.extract_tb(error.__traceback__)[-1].filename
    expected = ValueError, TypeError, NotImplementedError
    return isinstance(error, expected) and Path(where).is_relative_to(Path(br.__file__).parent)


def is_not_installed(text: str) -> bool:
    """Whether a cell depends on what is installed."""
    return text.startswith("The package ") and text.endswith(" is not installed.")


def column(name: str) -> dict[str, str]:
    """Run all verbs of a family."""
    found = {}
    for verb in VERBS:
        start = time.process_time()
        found[verb] = cell(name, verb)
        print(f"{name}, {verb}: {found[verb]} ({time.process_time() - start:.1f} s)", flush=True)
    sys.modules["jax"].clear_caches()  # a gigabyte, after all families
    gc.collect()
    return found


INTRODUCTION = """\
# Functions of PyMC and ArviZ

This table shows which functions of PyMC and ArviZ work with each family. A number refers to the
error message below the table. `python -m tests.verbs` writes the table, and `tests/test_verbs.py`
checks each function with each family. The sections below are about other samplers and checks.
"""


def page(columns: dict[str, dict[str, str]]) -> str:
    """Write the families, and a table with one row per verb."""
    sentences: dict[str, int] = {}
    rows = []
    for verb in VERBS:
        failing = []
        for family, found in columns.items():
            if (text := found[verb]) != "ok":
                number = sentences.setdefault(text, len(sentences) + 1)
                failing.append(f"{family} [{number}]")
        rows.append(f"| {verb} | {'all except ' + ', '.join(failing) if failing else 'all'} |")
    families = [f"- {family}" for family in columns]
    below = [f"{number}. {text}" for text, number in sentences.items()]
    table = ["| function | works with |", "|---|---|", *rows]
    return "\n".join([INTRODUCTION, *table, "", *below, "", "The families are:", "", *families, ""])


def by_hand(text: str) -> str:
    """Return the sections of the page below the table, which people write."""
    return text[text.index("\n## ") :]


def read_page(text: str) -> dict[str, dict[str, str]]:
    """Read the table back: the inverse of `page`."""
    sentences = dict(re.findall(r"(?m)^(\d+)\. (.*)$", text))
    columns = {family: dict.fromkeys(VERBS, "ok") for family in re.findall(r"(?m)^- (.*)$", text)}
    for verb, failing in re.findall(r"(?m)^\| (.+) \| all except (.+) \|$", text):
        for family, number in re.findall(r"([^,\[\]]+) \[(\d+)\](?:, )?", failing):
            columns[family][verb] = sentences[number]
    return columns


if __name__ == "__main__":
    names = sys.argv[1:] or list(FAMILIES)
    found = {name: column(name) for name in names}
    if len(names) == len(FAMILIES):
        below = by_hand(PAGE.read_text(encoding="utf-8"))
        PAGE.write_text(page(found) + below, encoding="utf-8")
    else:
        print(page(found))
