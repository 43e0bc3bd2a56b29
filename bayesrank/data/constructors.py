"""Constructors of `Rankings`: how tables, lists and files are read."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Self

import pandas as pd
from numpy.typing import ArrayLike

from bayesrank.data.read import entries as read
from bayesrank.data.read.columns import finite_numbers
from bayesrank.data.read.entries import Features, Labels
from bayesrank.data.read.formats import read_letor, read_preflib
from bayesrank.data.read.orderings import from_orderings
from bayesrank.data.read.preferences import PreferenceConstructor


class Constructors(PreferenceConstructor):
    """The named constructors of `Rankings`."""

    @classmethod
    def from_ratings(
        cls,
        frame: pd.DataFrame,
        *,
        ranker: str,
        item: str,
        rating: str,
        ranking: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        features: Features | Sequence[str] | None = None,
    ) -> Self:
        """Rank the items of each ranker by rating: high is good, equal ratings are one block.

        Parameters
        ----------
        frame : DataFrame
            One row per rating.
        ranker, item, rating : str
            Columns that say who rated what how.
        ranking : str, optional
            Column that separates several rankings of one ranker (say a session).
        weight : str, optional
            Column with the multiplicity of the ranking, the same in all its rows.
        items : sequence of labels, optional
            The item axis, in this order; it may hold items that no row has. By default the items
            of the table, sorted (categories in their own order).
        features : list of str, DataFrame, or array of shape (n_items, n_features), optional
            Columns of `frame`; or a table indexed by item; or an array aligned with the item axis.

        Returns
        -------
        Rankings

        Raises
        ------
        ValueError
            For a missing column, a rating that is missing, infinite or not a number, an item
            rated twice in a ranking, or an item that is not in `items`.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame(
        ...     {"user": [7, 7, 7, 8, 8], "film": list("abcab"), "stars": [3, 5, 3, 1, 2]}
        ... )
        >>> r = br.Rankings.from_ratings(table, ranker="user", item="film", rating="stars")
        >>> r.ranks
        array([[1, 2, 2],
               [1, 2, 0]], dtype=int32)
        """
        cost = finite_numbers(frame, rating, "rating")
        # ~x = -x - 1 turns integers and booleans round without overflow.
        cost = -cost if cost.dtype.kind == "f" else ~cost
        return cls._of(
            read.from_table(
                frame,
                cost,
                ranker=ranker,
                item=item,
                ranking=ranking,
                weight=weight,
                items=items,
                features=features,
            )
        )

    @classmethod
    def from_long_ranks(
        cls,
        frame: pd.DataFrame,
        *,
        ranker: str,
        item: str,
        rank: str,
        ranking: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        features: Features | Sequence[str] | None = None,
    ) -> Self:
        """Read a long table of ranks: low is good, equal ranks are one block, gaps are closed.

        Only the order of the ranks within a ranking counts, so competition ranks (1, 2, 2, 4) and
        positions in a longer list both become dense ranks. The table of ``to_frame()`` reads
        back with ``ranking="ranking", ranker="ranker", item="item", rank="rank"``.

        Parameters
        ----------
        frame : DataFrame
            One row per item in a ranking.
        ranker, item, rank : str
            Columns that say who placed what where.
        ranking, weight, items, features
            As in `from_ratings`.

        Returns
        -------
        Rankings

        Raises
        ------
        ValueError
            As in `from_ratings`.

        Examples
        --------
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"race": [1, 1, 1], "car": list("abc"), "place": [7, 1, 7]})
        >>> br.Rankings.from_long_ranks(table, ranker="race", item="car", rank="place").ranks
        array([[1, 2, 2]], dtype=int32)
        """
        cost = finite_numbers(frame, rank, "rank")
        return cls._of(
            read.from_table(
                frame,
                cost,
                ranker=ranker,
                item=item,
                ranking=ranking,
                weight=weight,
                items=items,
                features=features,
            )
        )

    @classmethod
    def from_orderings(
        cls,
        orderings: Iterable[Iterable[Any]],
        *,
        rest: Literal["items"] | Iterable[Any] | None = None,
        items: Labels | None = None,
        rankers: Labels | None = None,
        weight: ArrayLike | None = None,
        features: Features | None = None,
    ) -> Self:
        """Read lists of items, best first; a set inside a list is a block.

        Parameters
        ----------
        orderings : iterable of iterables
            One list of labels per ranking. A ``set`` or ``frozenset`` is a block.
        rest : "items", an iterable of labels, or one set or list of labels per ranking, optional
            For top-k data: the items presented. Those that an ordering leaves out become its last
            block, below everything it names. ``"items"`` stands for the whole item axis.
        items : sequence of labels, optional
            The item axis; by default all items named, sorted.
        rankers : sequence of labels, one per ranking, optional
            Who ranked; a ranker may occur several times. By default all rankers differ.
        weight : array, shape (n_rankings,), optional
            Multiplicity of each ranking.
        features : DataFrame indexed by item, or array of shape (n_items, n_features), optional
            Covariates of the items.

        Returns
        -------
        Rankings

        Raises
        ------
        ValueError
            For an empty ordering or block, a duplicate item, or an item that is not in `items`.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["c"], ["a", "b"]], rest=["a", "b", "c", "d"])
        >>> r.ranks
        array([[1, 2, 2, 2],
               [1, 2, 3, 3]], dtype=int32)
        """
        return cls._of(
            from_orderings(
                orderings,
                rest=rest,
                items=items,
                rankers=rankers,
                weight=weight,
                features=features,
            )
        )

    @classmethod
    def from_ranks(
        cls,
        frame: pd.DataFrame,
        *,
        rankers: Labels | None = None,
        weight: ArrayLike | None = None,
        features: Features | None = None,
    ) -> Self:
        """Read a wide table: one row per ranking, one column per item, 1 = best, NaN = absent.

        Parameters
        ----------
        frame : DataFrame, shape (n_rankings, n_items)
            Dense ranks. The columns are the item axis, in their order.
        rankers : sequence of labels, one per row, optional
            Who ranked; by default the index of the frame, in which a ranker may occur several
            times.
        weight : array, shape (n_rankings,), optional
            Multiplicity of each ranking.
        features : DataFrame indexed by item, or array of shape (n_items, n_features), optional
            Covariates of the items.

        Returns
        -------
        Rankings

        Raises
        ------
        ValueError
            If the ranks of a row are not 1, 2, ... without gaps, or a row is empty.

        Examples
        --------
        >>> import bayesrank as br
        >>> wide = pd.DataFrame({"a": [1, 2], "b": [2, 1], "c": [2, float("nan")]})
        >>> br.Rankings.from_ranks(wide).ranks
        array([[1, 2, 2],
               [1, 2, 0]], dtype=int32)
        """
        entries = read.from_wide(frame, rankers=rankers, weight=weight, features=features)
        return cls._of(entries, must_be_dense=True)

    @classmethod
    def from_letor(cls, path: str | Path, *, n_features: int | None = None) -> Self:
        """Read judged documents with features (SVMlight lines with ``qid:``, as in LETOR).

        The rankers are the queries and the labels are ratings (high is good). The files name no
        documents, so the documents of different queries are different items, labelled
        ``"qid/position in the query"``; their features are in `features`, slot by slot.

        Parameters
        ----------
        path : path
            The file, plain or compressed (.gz, .bz2).
        n_features : int, optional
            Number of features, for folds whose last feature may be absent.

        Returns
        -------
        Rankings

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is empty, has no qid, or does not parse.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_letor("S1.txt")  # doctest: +SKIP
        >>> r.features.shape  # doctest: +SKIP
        (157, 118, 46)
        """
        return cls._of(read.from_judged(read_letor(path, n_features=n_features)))

    @classmethod
    def from_preflib(cls, path: str | Path, *, rest: Literal["items"] | None = None) -> Self:
        """Read a PrefLib file of orders: soc, soi, toc or toi.

        Each distinct order is a ranking by a ranker of its own, its weight the number of voters.

        Parameters
        ----------
        path : path
            The file, with ``# ALTERNATIVE NAME 1: ...`` lines and rows ``count: 1,2,{3,4}``.
        rest : "items", optional
            For incomplete orders (soi, toi): alternatives that an order leaves out become its
            last block. By default they were not presented.

        Returns
        -------
        Rankings

        Raises
        ------
        FileNotFoundError
            If there is no such file.
        ValueError
            If the file is empty, of another kind, cut off, or does not parse.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_preflib("00014-00000001.soc")  # doctest: +SKIP
        """
        orders = read_preflib(path)
        return cls.from_orderings(
            orders.orderings, rest=rest, items=orders.alternatives, weight=orders.voters
        )
