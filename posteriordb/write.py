"""Write posteriors of rankings for others to test with, in the format of posteriordb.

``./dev run python posteriordb/write.py`` writes the data, what is said of them, and reference draws
from the data that come with the package and the programs in ``models``, which are written by hand;
``README.md`` says what is where. Draws that do not pass posteriordb's checks are not written. With
names of posteriors after it, only theirs are sampled.
"""

import importlib.metadata
import io
import json
import platform
import runpy
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr

import bayesrank as br
from bayesrank.inference import sample

HERE = Path(__file__).parent
WHO = {"added_by": "The bayesrank developers", "added_date": "2026-11-23"}
SAMPLER = {"chains": 10, "iter": 12_000, "warmup": 2_000, "thin": 10, "seed": 1}
TARGET_ACCEPT = 0.9


# ---------------------------------------------------------------------------------------------
# Data
# ---------------------------------------------------------------------------------------------


def nascar() -> dict[str, Any]:
    """Give the order of arrival in 36 races."""
    races = br.load_nascar()
    ordering = races.item + 1
    return {
        "N": races.n_items,
        "R": races.n_rankings,
        "K": ordering.shape[1],
        "ordering": ordering.tolist(),
    }


def pudding() -> dict[str, Any]:
    """Give how often either brand was preferred, or neither."""
    pairs = br.load_pudding()
    return {
        "N": pairs.n_items,
        "M": pairs.n_pairs,
        "first": (pairs.first + 1).tolist(),
        "second": (pairs.second + 1).tolist(),
        "counts": pairs.counts.tolist(),
    }


def regulars() -> pd.DataFrame:
    """Give the places of the drivers of all 36 races, a row per race, best mean place first."""
    races = br.load_nascar()
    table = races.to_frame().pivot_table("rank", "ranker", "item").loc[races.rankers]
    places = table.dropna(axis="columns").astype(int)
    return places[places.mean().sort_values(kind="stable").index]


def bands() -> dict[str, Any]:
    """Give in which of the places 1-5, 6-10, 11-20 and 21-43 the regular drivers came."""
    places = regulars().to_numpy()
    band = np.digitize(places, [6, 11, 21])
    ordering = np.argsort(band, axis=1, kind="stable") + 1
    size = (band[:, :, None] == np.arange(4)).sum(axis=1)
    return {
        "N": places.shape[1],
        "R": places.shape[0],
        "B": size.shape[1],
        "ordering": ordering.tolist(),
        "size": size.tolist(),
    }


def preferences() -> dict[str, Any]:
    """Give who of the twelve best regular drivers was before whom, as counts of ordered pairs."""
    places = regulars().to_numpy()[:, :12]
    better, worse = np.array([*permutations(range(places.shape[1]), 2)]).T
    counts = (places[:, better] < places[:, worse]).astype(int)
    return {
        "N": places.shape[1],
        "R": places.shape[0],
        "M": len(better),
        "better": (better + 1).tolist(),
        "worse": (worse + 1).tolist(),
        "counts": counts.tolist(),
    }


@dataclass(frozen=True)
class Data:
    """What posteriordb says of a data set, and what makes it."""

    make: Callable[[], dict[str, Any]]
    title: str
    description: str
    references: list[str]


@dataclass(frozen=True)
class Model:
    """What posteriordb says of a model, and the lengths of its parameters in the data."""

    title: str
    description: str
    references: list[str]
    dimensions: dict[str, str | int]


DATA = {
    "nascar2002": Data(
        nascar,
        "NASCAR 2002",
        "The 36 races of the season: 43 of 87 drivers in each, in the order of arrival. Four of "
        "them came last whenever they drove.",
        ["hunter2004mm"],
    ),
    "pudding1970": Data(
        pudding,
        "Chocolate pudding",
        "Six brands, compared two by two 745 times; 202 times neither was preferred.",
        ["davidson1970extending"],
    ),
    "nascar2002_bands": Data(
        bands,
        "NASCAR 2002 in four bands",
        "The 27 drivers of all 36 races; of each race only whether they came in the places 1-5, "
        "6-10, 11-20 or 21-43. The lower the number of a driver, the better the mean place.",
        ["hunter2004mm"],
    ),
    "nascar2002_preferences": Data(
        preferences,
        "NASCAR 2002 as preferences",
        "The 12 drivers of all 36 races with the best mean places; of each race who was before "
        "whom, in 66 pairs. The lower the number of a driver, the better the mean place.",
        ["hunter2004mm"],
    ),
}
MODELS = {
    "plackett_luce": Model(
        "Plackett-Luce",
        "The best is chosen with a probability proportional to its worth, exp(utility), then the "
        "best of those left. Normal utilities.",
        ["plackett1975analysis", "hunter2004mm"],
        {"utility": "N"},
    ),
    "davidson": Model(
        "Davidson: paired comparisons with ties",
        "A win is as probable as the worth of the winner, a tie as nu times the geometric mean of "
        "both. Normal utilities and lognormal nu.",
        ["davidson1970extending"],
        {"utility": "N", "nu": 1},
    ),
    "ordered_partitions": Model(
        "Probabilistic model over ordered partitions, geometric means, given sizes",
        "Of what is left a set is chosen by the geometric mean of its worths, among all sets of "
        "its size: elementary symmetric polynomials normalise. Normal utilities.",
        ["tran2011probabilistic"],
        {"utility": "N"},
    ),
    "multinomial_preferences": Model(
        "Multinomial preference model",
        "Preferences of each ranker are multinomial over ordered pairs, with the difference of the "
        "scores times the adherence of the ranker as logits. Normal scores, lognormal adherences.",
        ["volkovs2012flexible"],
        {"score": "N", "adherence": "R"},
    ),
}
POSTERIORS = {
    "nascar2002-plackett_luce",
    "pudding1970-davidson",
    "nascar2002_bands-ordered_partitions",
    "nascar2002_preferences-multinomial_preferences",
}

# ---------------------------------------------------------------------------------------------
# Draws
# ---------------------------------------------------------------------------------------------


def pymc_model(name: str, data: dict[str, Any]) -> Any:
    """Build the PyMC program of a model."""
    return runpy.run_path(str(HERE / f"models/pymc/{name}.py"))["make_model"](data)


def parameters(posterior: xr.Dataset, dimensions: dict[str, str | int]) -> dict[str, Any]:
    """Name the parameters as Stan does: (chain, draw) of each.

    They are rounded to thousandths, hundredths of a standard deviation at most, for small files.
    """
    found = {}
    for name in dimensions:
        values = posterior[name].to_numpy()
        columns = values.reshape(*values.shape[:2], -1)
        for i in range(columns.shape[2]):
            label = name if values.ndim == 2 else f"{name}[{i + 1}]"
            found[label] = np.round(columns[:, :, i], 3)
    return found


def diagnosed(draws: dict[str, Any]) -> dict[str, Any]:
    """Compute what posteriordb keeps of draws, as it is named there."""
    stacked = xr.Dataset({k: (("chain", "draw"), v) for k, v in draws.items()})
    every = stacked.to_dataarray("name")
    of = {"sample_dims": ["chain", "draw"]}
    (first, *_) = draws.values()
    return {
        "diagnostic_information": {"names": list(draws)},
        "ndraws": first.size,
        "nchains": len(first),
        "effective_sample_size_bulk": rounded(az.ess(every, **of, method="bulk")),
        "effective_sample_size_tail": rounded(az.ess(every, **of, method="tail")),
        "r_hat": rounded(az.rhat(every, **of), 5),
    }


def rounded(x: Any, digits: int = 2) -> list[float]:
    """Turn numbers into a list that JSON writes short."""
    return np.round(np.asarray(x), digits).tolist()


def checked(diagnostics: dict[str, Any]) -> dict[str, bool]:
    """Hold diagnostics against posteriordb's definition of reference draws.

    Effective sample sizes lie within four standard deviations of those of independent draws, a
    standard deviation being taken as the root of seven times the number of draws.
    """
    n = diagnostics["ndraws"]
    sizes = [diagnostics[f"effective_sample_size_{part}"] for part in ("bulk", "tail")]
    return {
        "ndraws_is_10k": n == 10_000,
        "nchains_is_gte_4": diagnostics["nchains"] >= 4,
        "ess_within_bounds": bool(np.all(np.abs(np.subtract(sizes, n)) < 4 * np.sqrt(7 * n))),
        "r_hat_below_1_01": max(diagnostics["r_hat"]) < 1.01,
        "efmi_above_0_2": min(diagnostics["expected_fraction_of_missing_information"]) > 0.2,
        "no_divergent_transitions": not any(diagnostics["divergent_transitions"]),
    }


def sampled(name: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """Sample a posterior: the draws by parameter, and what is said of them."""
    data, model = name.split("-")
    tree = sample(
        SAMPLER["iter"] - SAMPLER["warmup"],
        tune=SAMPLER["warmup"],
        chains=SAMPLER["chains"],
        random_seed=SAMPLER["seed"],
        nuts={"target_accept": TARGET_ACCEPT, "adaptation": "low_rank"},
        model=pymc_model(model, DATA[data].make()),
    )
    every = slice(None, None, SAMPLER["thin"])
    draws = parameters(tree["posterior"].dataset.isel(draw=every), MODELS[model].dimensions)
    stats = tree["sample_stats"]
    energy = stats["energy"].to_numpy()
    of_energy = (np.diff(energy, axis=1) ** 2).mean(axis=1) / energy.var(axis=1)
    diagnostics = diagnosed(draws) | {
        "divergent_transitions": stats["diverging"].sum("draw").to_numpy().tolist(),
        "expected_fraction_of_missing_information": rounded(of_energy, 4),
    }
    packages = ("bayesrank", "pymc", "pytensor", "nutpie", "numba", "numpy")
    versions = [f"{name}=={importlib.metadata.version(name)}" for name in packages]
    arguments = SAMPLER | {"control": {"adapt_delta": TARGET_ACCEPT, "adaptation": "low_rank"}}
    info = {
        "name": name,
        "inference": {
            "method": "pymc_sampling",
            "method_arguments": arguments,
        },
        "diagnostics": diagnostics,
        "checks_made": checked(diagnostics),
        "comments": "Sampled by nutpie's NUTS; rounded to thousandths.",
        **WHO,
        "versions": {
            "pymc_version": importlib.metadata.version("pymc"),
            "python_version": platform.python_version(),
            "python_environment": " ".join(versions),
        },
    }
    return draws, info


# ---------------------------------------------------------------------------------------------
# Files
# ---------------------------------------------------------------------------------------------


def write_json(path: str, content: Any) -> None:
    """Write a file that is read by people as well."""
    (HERE / path).parent.mkdir(parents=True, exist_ok=True)
    (HERE / path).write_text(json.dumps(content, indent=2) + "\n", "utf-8")


def write_zipped(path: str, content: Any) -> None:
    """Write a file that programs read, zipped, the same bytes for the same content."""
    target = HERE / f"{path}.zip"
    target.parent.mkdir(parents=True, exist_ok=True)
    entry = zipfile.ZipInfo(target.stem, date_time=(2026, 1, 1, 0, 0, 0))
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr(entry, json.dumps(content, separators=(",", ":")), compresslevel=9)
    target.write_bytes(archive.getvalue())


def described(name: str) -> dict[str, Any]:
    """Say what a posterior is made of."""
    data, model = name.split("-")
    made = DATA[data].make()
    sizes = MODELS[model].dimensions.items()
    return {
        "name": name,
        "keywords": ["ranking"],
        "urls": [],
        "model_name": model,
        "data_name": data,
        "reference_posterior_name": name,
        "references": sorted({*DATA[data].references, *MODELS[model].references}),
        "dimensions": {k: made[size] if isinstance(size, str) else size for k, size in sizes},
        **WHO,
    }


def write_descriptions() -> None:
    """Write the data, and what is said of data, models and posteriors."""
    for name, data in DATA.items():
        write_zipped(f"data/data/{name}.json", data.make())
        info: dict[str, Any] = {
            "name": name,
            "keywords": ["ranking"],
            "title": data.title,
            "description": data.description,
            "urls": [],
            "data_file": f"data/data/{name}.json",
            "references": data.references,
            **WHO,
        }
        write_json(f"data/info/{name}.info.json", info)
    for name, model in MODELS.items():
        code = {"stan": f"models/stan/{name}.stan", "pymc": f"models/pymc/{name}.py"}
        versions = {"stan": {"stan_version": ">=2.33.0"}, "pymc": {"pymc_version": ">=6.4"}}
        info = {
            "name": name,
            "keywords": ["ranking"],
            "title": model.title,
            "prior": {"keywords": "weakly informative"},
            "description": model.description,
            "urls": [],
            "model_implementations": {k: {"model_code": code[k]} | versions[k] for k in code},
            "references": model.references,
            **WHO,
            "licence": "Apache-2.0",
        }
        write_json(f"models/info/{name}.info.json", info)
    for name in sorted(POSTERIORS):
        write_json(f"posteriors/{name}.json", described(name))


def main(names: set[str]) -> None:
    """Write everything, and sample what is named."""
    if names - POSTERIORS:
        raise SystemExit(f"There is no posterior {min(names - POSTERIORS)}: {sorted(POSTERIORS)}.")
    write_descriptions()
    for name in sorted(names or POSTERIORS):
        draws, info = sampled(name)
        print(name, info["checks_made"], flush=True)
        if not all(info["checks_made"].values()):
            raise SystemExit(f"The draws of {name} do not pass: {info['diagnostics']}")
        chains = range(SAMPLER["chains"])
        content = [{k: v[chain].tolist() for k, v in draws.items()} for chain in chains]
        write_zipped(f"reference_posteriors/draws/draws/{name}.json", content)
        write_json(f"reference_posteriors/draws/info/{name}.info.json", info)


if __name__ == "__main__":
    main(set(sys.argv[1:]))
