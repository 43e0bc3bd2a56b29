"""Draw the pictures of the README: ``./dev run python docs/pictures.py``, half a minute.

NASCAR 2002, Plackett-Luce with independent normal utilities.
"""

from pathlib import Path

import pymc as pm

import bayesrank as br
from bayesrank.results import figure_png, write_whole

HERE = Path(__file__).parent


def main() -> None:
    """Sample, draw, and write the files whole."""
    races = br.load_nascar()
    with pm.Model(coords=races.coords):
        utility = pm.Normal("utility", 0, 1, dims="item")
        br.PlackettLuce("y", utility, observed=races)
        posterior = pm.sample(
            random_seed=1, nuts={"adaptation": "low_rank"}, progressbar=False, quiet=True
        )
        pm.sample_posterior_predictive(
            posterior, extend_inferencedata=True, random_seed=1, progressbar=False
        )
    pictures = {
        "ranks.png": br.plot_ranks(posterior, max_items=20),
        "places.png": br.plot_places(posterior, max_items=15),
        "checks.png": br.plot_ranking_checks(posterior),
    }
    for name, picture in pictures.items():
        write_whole(HERE / name, figure_png(picture, dpi=110))


if __name__ == "__main__":
    main()
