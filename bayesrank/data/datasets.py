"""Datasets: some are bundled, others are read from a folder that you name.

`load_nascar`, `load_baseball` and `load_pudding` need no download. MovieLens and sushi may not be
redistributed, so download them first. Then pass their folder as ``path=``, or set the environment
variable ``BAYESRANK_DATA`` to the folder that contains ``ml-100k`` and ``sushi3``.
"""

import os
from importlib.resources import files
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from bayesrank.data.pairs import Pairs
from bayesrank.data.rankings import Rankings

__all__ = ["load_baseball", "load_movielens", "load_nascar", "load_pudding", "load_sushi"]


def load_nascar() -> Rankings:
    """Load the 36 races of the NASCAR 2002 season, each with 43 of 87 drivers.

    Races are the rankers. Four drivers came last in every race that they drove: Andy Hillenburg,
    Gary Bradberry, Jason Hedlesky and Randy Renfrow. Their utilities have no finite
    maximum-likelihood estimate.

    See Also
    --------
    load_sushi, load_movielens, load_baseball, Rankings

    References
    ----------
    Hunter, D. R. (2004). MM algorithms for generalized Bradley-Terry models. Annals of
    Statistics 32, 384-406.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.load_nascar()
    Rankings: 36 rankings of 87 items by 36 rankers, 43 items in each, no ties
    """
    return Rankings.from_long_ranks(
        _bundled("nascar2002.csv"), ranker="race", item="driver", rank="place"
    )._with(roles={"item": "driver", "ranker": "race"})


def load_baseball() -> Pairs:
    """Load the 1987 season of the American League East: 7 teams, 13 games per pair of teams.

    The first item is the home team.

    See Also
    --------
    load_pudding, load_nascar, Pairs

    References
    ----------
    Agresti, A. (2002). Categorical Data Analysis, 2nd edition, section 10.6. Wiley.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.load_baseball()
    Pairs: 42 pairs of 7 items by 1 judge, 273 matches (154 first, 119 second, 0 tie)
    """
    table = _bundled("baseball1987.csv")
    return Pairs.from_frame(table, first="home", second="away", outcome="outcome", count="count")


def load_pudding() -> Pairs:
    """Load paired comparisons, with ties, of six brands of chocolate pudding.

    The brands are numbered 1 to 6. The data do not record which brand of a pair was tasted first.

    See Also
    --------
    load_baseball, load_nascar, Pairs

    References
    ----------
    Davidson, R. R. (1970). On extending the Bradley-Terry model to accommodate ties in paired
    comparison experiments. Journal of the American Statistical Association 65, 317-328, Example 2.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.load_pudding()
    Pairs: 15 pairs of 6 items by 1 judge, 745 matches (254 first, 289 second, 202 tie)
    """
    table = _bundled("pudding1970.csv")
    return Pairs.from_frame(table, first="first", second="second", outcome="outcome", count="count")


def _bundled(name: str) -> pd.DataFrame:
    """Read one of the bundled tables."""
    with files("bayesrank.data").joinpath("files", name).open(encoding="utf-8") as file:
        return pd.read_csv(file)


def load_movielens(path: str | Path | None = None) -> Rankings:
    """Load MovieLens 100K: 943 users rank 20 to 737 of 1,682 movies in five blocks of stars.

    Items are titles, in the order of the movie ids. If a title occurs under two ids, the id is
    appended to it, as in ``Chasing Amy (1997) [246]``.

    Parameters
    ----------
    path : path, optional
        Folder with ``u.data`` and ``u.item``. By default, ``ml-100k`` in ``BAYESRANK_DATA``.

    Raises
    ------
    FileNotFoundError
        If the folder or a file does not exist.

    See Also
    --------
    load_nascar, load_sushi, Rankings.from_ratings, Interactions

    References
    ----------
    Harper, F. M., & Konstan, J. A. (2015). The MovieLens datasets. ACM Transactions on
    Interactive Intelligent Systems 5, 19:1-19:19.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.load_movielens("ml-100k")  # doctest: +SKIP
    Rankings: 943 rankings of 1682 items by 943 rankers
    """
    folder = _folder(path, "ml-100k", ["u.data", "u.item"])
    ratings = pd.read_csv(
        folder / "u.data", sep="\t", names=["user", "movie", "rating", "time"], header=None
    )
    movies = pd.read_csv(
        folder / "u.item",
        sep="|",
        names=["movie", "title"],
        usecols=[0, 1],
        header=None,
        encoding="latin-1",
    )
    title = movies["title"].str.strip()
    twice = title.duplicated(keep=False)
    title = title.where(~twice, title + " [" + movies["movie"].astype(str) + "]")
    ratings["movie"] = ratings["movie"].map(dict(zip(movies["movie"], title, strict=True)))
    return Rankings.from_ratings(
        ratings, ranker="user", item="movie", rating="rating", items=title.tolist()
    )


# The items of set A under their names in set B. Salmon roe is "ikura" there, but "sake" in set A.
_SUSHI_A = (
    "ebi (shrimp)",
    "anago (sea eel)",
    "maguro (tuna)",
    "ika (squid)",
    "uni (sea urchin)",
    "ikura (salmon roe)",
    "tamago (egg)",
    "toro (fatty tuna)",
    "tekka-maki (tuna roll)",
    "kappa-roll (cucumber-roll)",
)


def load_sushi(which: Literal["a", "b"], path: str | Path | None = None) -> Rankings:
    """Load full rankings of 10 types of sushi by each of 5,000 people.

    Parameters
    ----------
    which : "a" or "b"
        Set A: everyone ranks the same 10 items. Set B: everyone ranks 10 of 100 items.
    path : path, optional
        Folder with ``sushi3a.5000.10.order`` and ``sushi3b.5000.10.order``. By default, ``sushi3``
        in ``BAYESRANK_DATA``. If the folder contains ``itemset_B_names.csv`` (columns id_B and
        name), the items of set B get these names. Otherwise they are the numbers 0 to 99.

    Returns
    -------
    Rankings
        Items are in the order of their ids. The two sets number the items differently, but both
        use the names of set B.

    Raises
    ------
    FileNotFoundError
        If the folder or the file does not exist.
    ValueError
        If `which` is neither "a" nor "b".

    See Also
    --------
    load_nascar, load_movielens, Rankings.from_preflib

    References
    ----------
    Kamishima, T. (2003). Nantonac collaborative filtering: recommendation based on order
    responses. KDD 2003, 583-588.

    Examples
    --------
    >>> import bayesrank as br
    >>> br.load_sushi("a", "sushi3")  # doctest: +SKIP
    Rankings: 5000 rankings of 10 items by 5000 rankers, 10 items in each, no ties
    """
    if which not in ("a", "b"):
        raise ValueError(f"`which` must be 'a' or 'b'; got {which!r}.")
    name = f"sushi3{which}.5000.10.order"
    folder = _folder(path, "sushi3", [name])
    order = np.loadtxt(folder / name, dtype=np.int64, skiprows=1)[:, 2:]
    items: list[str] | list[int] = list(_SUSHI_A)
    if which == "b":
        names = folder / "itemset_B_names.csv"
        items = pd.read_csv(names)["name"].tolist() if names.exists() else list(range(100))
    n, n_slots = order.shape
    ranks = np.broadcast_to(np.arange(1, n_slots + 1), order.shape)
    return Rankings(order, ranks, items=items, rankers=range(n))


def _folder(path: str | Path | None, name: str, needed: list[str]) -> Path:
    """Find the folder of a dataset and check that it contains the required files."""
    if path is None:
        root = os.environ.get("BAYESRANK_DATA")
        if not root:
            raise FileNotFoundError(
                f"The folder of the data is unknown: give the folder as path=, or set the "
                f"environment variable BAYESRANK_DATA to the folder that contains {name!r}."
            )
        path = Path(root) / name
    folder = Path(path)
    missing = [file for file in needed if not (folder / file).is_file()]
    if missing:
        raise FileNotFoundError(f"The folder {folder} has no file {' and no file '.join(missing)}.")
    return folder
