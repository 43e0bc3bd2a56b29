"""The posteriors for others to test with: our models are Stan's, and the draws are theirs.

Stan's programs are written down here once more, in NumPy, line by line.
"""

import json
import re
import runpy
from itertools import combinations
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pytest
from scipy.special import gammaln, log_softmax, logsumexp
from scipy.stats import lognorm, norm

from tests.builders import PACKAGE

ROOT = PACKAGE.parent / "posteriordb"
WRITE = runpy.run_path(str(ROOT / "write.py"))
POSTERIORS = sorted(path.stem for path in (ROOT / "posteriors").glob("*.json"))


def read(path):
    return json.loads((ROOT / path).read_text(encoding="utf-8"))


def unzipped(path):
    with ZipFile(ROOT / f"{path}.zip") as archive:
        assert archive.namelist() == [Path(path).name]
        return json.loads(archive.read(Path(path).name))


def plackett_luce(data, utility):
    total = norm.logpdf(utility).sum()
    for ordering in data["ordering"]:
        u = utility[np.array(ordering) - 1]
        total += sum(u[k] - logsumexp(u[k:]) for k in range(data["K"] - 1))
    return total


def davidson(data, utility, nu):
    total = norm.logpdf(utility).sum() + lognorm.logpdf(nu, s=1)
    for first, second, counts in zip(data["first"], data["second"], data["counts"], strict=True):
        one, other = utility[first - 1], utility[second - 1]
        ways = gammaln(sum(counts) + 1) - gammaln(np.array(counts) + 1).sum()
        total += ways + counts @ log_softmax([one, other, np.log(nu) + (one + other) / 2])
    return total


def elementary(v, m):
    """The sum over all sets of m of the products of exp(v), by multiplying out (1 + x exp(v))."""
    polynomial = np.ones(1)
    for x in np.exp(v):
        polynomial = np.convolve(polynomial, [1.0, x])[: m + 1]
    return polynomial[m]


def ordered_partitions(data, utility):
    total = norm.logpdf(utility).sum()
    for ordering, size in zip(data["ordering"], data["size"], strict=True):
        left = np.array(ordering) - 1
        for m in size[:-1]:
            v = utility[left] / m
            total += v[:m].sum() - np.log(elementary(v, m))
            left = left[m:]
    return total


def multinomial_preferences(data, score, adherence):
    total = norm.logpdf(score).sum() + lognorm.logpdf(adherence, s=0.5).sum()
    lead = score[np.array(data["better"]) - 1] - score[np.array(data["worse"]) - 1]
    for counts, theta in zip(np.array(data["counts"]), adherence, strict=True):
        ways = gammaln(counts.sum() + 1) - gammaln(counts + 1).sum()
        total += ways + counts @ log_softmax(theta * lead)
    return total


STAN = {
    f.__name__: f for f in (plackett_luce, davidson, ordered_partitions, multinomial_preferences)
}


def parts(name):
    """The data of a posterior, the name of its model, the lengths of its parameters."""
    posterior = read(f"posteriors/{name}.json")
    data = unzipped(read(f"data/info/{posterior['data_name']}.info.json")["data_file"])
    return data, posterior["model_name"], posterior["dimensions"]


def point(rng, dimensions):
    """Values of the parameters: utilities and scores of any sign, the others positive."""
    drawn = {k: rng.normal(size=n) * 2 for k, n in dimensions.items()}
    return {k: v if k in ("utility", "score") else np.exp(v / 2) for k, v in drawn.items()}


def test_elementary_polynomials_are_sums_over_sets():
    v = np.array([0.3, -1.2, 0.9, 2.0, -0.4])
    for m in range(1, 6):
        every = sum(np.exp(v[list(chosen)].sum()) for chosen in combinations(range(5), m))
        assert elementary(v, m) == pytest.approx(every, rel=1e-14)


def test_there_are_four_posteriors_and_every_file_is_of_one():
    assert set(POSTERIORS) == WRITE["POSTERIORS"]
    data, models = ({name.split("-")[part] for name in POSTERIORS} for part in (0, 1))
    files = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*") if path.is_file()}
    files = {path for path in files if "__pycache__" not in path}
    data_files = {f"data/data/{k}.json.zip" for k in data} | {
        f"data/info/{k}.info.json" for k in data
    }
    model_files = {f"models/info/{k}.info.json" for k in models}
    programs = {f"models/stan/{k}.stan" for k in models} | {f"models/pymc/{k}.py" for k in models}
    draws = "reference_posteriors/draws"
    draw_files = {f"{draws}/draws/{k}.json.zip" for k in POSTERIORS}
    draw_files |= {f"{draws}/info/{k}.info.json" for k in POSTERIORS}
    others = {"README.md", "write.py", "bibliography/references.bib", "alias/posteriors.json"}
    posteriors = {f"posteriors/{k}.json" for k in POSTERIORS}
    assert files == data_files | model_files | programs | draw_files | others | posteriors


def test_references_are_those_of_the_bibliography():
    text = (ROOT / "bibliography/references.bib").read_text(encoding="utf-8")
    files = [*ROOT.glob("posteriors/*.json"), *ROOT.glob("*/info/*.json")]
    cited = {key for path in files for key in json.loads(path.read_text("utf-8"))["references"]}
    assert cited == set(re.findall(r"(?m)^@\w+\{(\w+),", text))


@pytest.mark.parametrize("name", sorted(WRITE["DATA"]))
def test_the_data_are_those_that_come_with_the_package(name):
    assert unzipped(f"data/data/{name}.json") == WRITE["DATA"][name].make()


@pytest.mark.parametrize("name", POSTERIORS)
def test_our_log_density_is_that_of_the_stan_program(name):
    data, model, dimensions = parts(name)
    ours = WRITE["pymc_model"](model, data)
    logp = ours.compile_fn(
        ours.logp(jacobian=False), inputs=ours.value_vars, on_unused_input="raise"
    )
    rng = np.random.default_rng(1)
    for _ in range(3):
        at = point(rng, dimensions)
        values = {}
        for rv in ours.free_RVs:
            value, transform = ours.rvs_to_values[rv], ours.rvs_to_transforms[rv]
            x = at[rv.name] if rv.ndim else at[rv.name].item()
            values[value.name] = np.log(x) if transform is not None else x
        scalars = {k: v.item() if v.size == 1 else v for k, v in at.items()}
        assert float(logp(values)) == pytest.approx(STAN[model](data, **scalars), rel=1e-11)


@pytest.mark.parametrize("name", POSTERIORS)
def test_reference_draws_pass_the_checks_and_match_their_description(name):
    chains = unzipped(f"reference_posteriors/draws/draws/{name}.json")
    info = read(f"reference_posteriors/draws/info/{name}.info.json")
    dimensions = read(f"posteriors/{name}.json")["dimensions"]
    labels = [f"{k}[{i + 1}]" if k != "nu" else k for k, n in dimensions.items() for i in range(n)]
    assert [list(chain) for chain in chains] == [labels] * 10
    draws = {label: np.array([chain[label] for chain in chains]) for label in labels}
    assert {x.shape for x in draws.values()} == {(10, 1000)}
    again = info["diagnostics"] | WRITE["diagnosed"](draws)
    assert again == info["diagnostics"]
    assert WRITE["checked"](again) == info["checks_made"]
    assert all(info["checks_made"].values())


@pytest.mark.slow
@pytest.mark.parametrize("name", POSTERIORS)
def test_reference_draws_are_of_that_posterior(name):
    """Where a density vanishes at infinity, its score and x times its score have known means."""
    data, model, _ = parts(name)
    chains = unzipped(f"reference_posteriors/draws/draws/{name}.json")
    ours = WRITE["pymc_model"](model, data)
    score = ours.compile_fn(ours.dlogp(), inputs=ours.value_vars, point_fn=False)
    by_variable = {}
    for rv in ours.free_RVs:
        labels = [label for label in chains[0] if label.partition("[")[0] == rv.name]
        x = np.array([[chain[label][::5] for label in labels] for chain in chains])
        x = x.transpose(0, 2, 1)
        positive = ours.rvs_to_transforms[rv] is not None
        by_variable[rv] = (np.log(x) if positive else x).reshape(-1, len(labels))
    order = [by_variable[rv] for rv in ours.free_RVs]
    x = np.concatenate(order, axis=1)
    shapes = [() if rv.ndim == 0 else (-1,) for rv in ours.free_RVs]
    slopes = np.array(
        [
            score(*(v.reshape(shape) for v, shape in zip(values, shapes, strict=True)))
            for values in zip(*order, strict=True)
        ]
    )
    for found, wanted in ((slopes, 0.0), (slopes * (x - x.mean(axis=0)), -1.0)):
        error = found.std(axis=0) / np.sqrt(len(found))
        assert np.abs((found.mean(axis=0) - wanted) / error).max() < 6


def test_its_own_client_reads_all_of_it():
    client = pytest.importorskip(  # the folder here has the name of the package
        "posteriordb.posterior_database", reason="needs the package posteriordb"
    )
    base = client.PosteriorDatabase(str(ROOT))
    assert sorted(base.posterior_names()) == POSTERIORS
    assert len(list(base.models())) == len(list(base.datasets())) == len(POSTERIORS)
    for name in POSTERIORS:
        posterior = base.posterior(name)
        draws = posterior.reference_draws()
        dimensions = posterior.information["dimensions"]
        assert len(draws) == 10
        assert {len(x) for chain in draws for x in chain.values()} == {1000}
        assert len(draws[0]) == sum(dimensions.values())
        assert posterior.data.values() == unzipped(f"data/data/{posterior.data.name}.json")
        assert "\nmodel {" in posterior.model.stan_code()
