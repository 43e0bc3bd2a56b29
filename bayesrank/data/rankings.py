"""Rankings: a collection of weak orders, one row per ranking, slots sorted best first.

A *ranking* is one weak order by one ranker over the items presented to it. Row ``n`` contains its
items in the slots ``0, ..., n_items_of_ranking - 1``, best first. ``ranks`` are dense (1 = best,
equal ranks form a block), and 0 marks an empty slot. Within a block, slots follow the item axis.

>>> r = Rankings.from_orderings([["b", "a", "c"], ["c", {"a", "b"}]])
>>> r
Rankings: 2 rankings of 3 items by 2 rankers, 3 items in each, 33% of entries tied
>>> r.item
array([[1, 0, 2],
       [2, 0, 1]], dtype=int32)
>>> r.ranks
array([[1, 2, 3],
       [1, 2, 2]], dtype=int32)

The item axis is sorted, or given as ``items=``. Rankings and rankers keep their order of first
appearance.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar, Literal, Self, overload

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from bayesrank.data.derive.design import Design, design
from bayesrank.data.derive.graph import Connectivity, connectivity
from bayesrank.data.derive.grouping import group
from bayesrank.data.derive.layout import arrange, block_sizes, lay_out
from bayesrank.data.derive.parts import all_pairs, folds, held_out, identical
from bayesrank.data.derive.stages import Stages, stage_table
from bayesrank.data.frozen import Frozen
from bayesrank.data.pair_counts import PairCounts
from bayesrank.data.pairs import Pairs
from bayesrank.data.read import choice_entries, entries, score_entries
from bayesrank.data.read.attributes import Attributes
from bayesrank.data.read.count_entries import (
    assign_one_problem,
    check_method,
    ordered_pairs,
)
from bayesrank.data.read.entries import Features
from bayesrank.data.read.frames import Table
from bayesrank.data.read.labels import (
    Group,
    Labels,
    Unused,
    axis_index,
    counted,
    label_repr,
    locate,
    quoted,
    warn,
)
from bayesrank.data.read.orders import read_preflib
from bayesrank.data.read.score_entries import Rope, ScoreTable
from bayesrank.data.read.scores import Scores
from bayesrank.data.read.streams import Source

__all__ = ["Rankings"]


class Rankings(Frozen):
    """Rankings of items by rankers: weak orders, which may have ties and different lengths.

    The object is immutable, and its data are checked. Most data are read by `from_ratings`,
    `from_long_ranks`, `from_orderings`, `from_ranks`, `from_scores`, `from_best_worst`,
    `from_choices` or `from_preflib`. The constructor itself accepts padded arrays, with slots in
    any order, and sorts the slots best first.

    ``rankings[3]`` is an ordering: a list of items, best first, with blocks as sets.
    ``rankings[:3]`` and ``rankings[mask]`` are rankings. Positions count from 0; `subset` selects
    by label. ``list(rankings)`` contains one ordering per ranking.

    Parameters
    ----------
    item : array of int, shape (n_rankings, n_slots)
        Position on `items` of the item in each slot; ignored where `ranks` is 0.
    ranks : array of int, shape (n_rankings, n_slots)
        Dense ranks, 1 = best, equal ranks form a block, 0 = empty slot.
    items, rankers : sequence of labels
        The axes. `rankers` is optional; by default every ranking has a separate ranker.
    ranker_idx : array of int, shape (n_rankings,), optional
        Position on `rankers` of each ranking's ranker; optional with one ranking per ranker.
    count : array of int, shape (n_rankings,), or Series, optional
        Number of independent rankings that each row stands for, such as ballots cast; 1 by default.
        A Series is aligned by the labels of the rankings, or of the rankers if each ranked once.
    weight : array, shape (n_rankings,), or Series, optional
        Sampling weight of each of these rankings, positive; 1 by default. It multiplies the
        log-likelihood, and is not a number of rankings. Aligned as `count`.
    labels : sequence of labels, optional
        Names of the rankings; by default the names of the rankers if each ranked once, otherwise
        0, 1, 2, ...
    features : array, shape (n_rankings, n_slots, n_features), optional
        Covariates of each slot, in the same order as the slots of `item`.
    feature_names : sequence of labels, optional
        Names of the features.

    Attributes
    ----------
    items, rankers, labels, item, ranks, ranker_idx, count, weight, features, feature_names
        As given, with the slots sorted best first; labels become a pandas Index.
    evidence : array of float64, shape (n_rankings,)
        The count times the weight, which multiplies the log-probability of a row.
    mask : array of bool, shape (n_rankings, n_slots)
        Whether the slot is in use.
    block_sizes : array of int32, shape (n_rankings, n_blocks)
        Sizes of the blocks, 0 after the last.
    attributes : Attributes or None
        How ``attributes=`` of `from_choices`, `from_best_worst` and so on were coded as features.
        ``print(rankings.attributes)`` describes each column, ``units`` holds the means and standard
        deviations of columns of numbers, and ``code(table)`` codes other profiles.
    groups : mapping of str to Group
        Groups of the rankings (season, region). Each has ``labels``, a pandas Index, and ``idx``,
        array of int32, shape (n_rankings,).
    notes : tuple of str
        What was read from the source of the data, and every change made while reading. Empty if the
        data came from a constructor of this class other than `from_scores`. Selections keep the
        notes, and ``==`` ignores them.
    roles : mapping of str to str
        Columns of the table that a reader read, by role, such as ``{"item": "film"}``.
    scores : Scores or None
        The scores that `from_scores` ranked, for `bayesrank.scores_model`. Selections of rankings
        keep them, and ``==`` ignores them.
    unused : Unused or None
        The rankings grouped also by columns of the table that no argument named, for
        `bayesrank.column_checks`. Selections of rankings keep them, and ``==`` ignores them.

    Raises
    ------
    ValueError
        If the arrays are not a collection of weak orders; the message names the ranking.

    Warns
    -----
    UninformativeRankingWarning
        If rankings contain one item or one block. They are kept and contribute zero, unless the
        model includes block sizes.

    See Also
    --------
    Pairs, PairCounts, Interactions, read_rankings, read_choices

    Examples
    --------
    >>> import bayesrank as br
    >>> r = br.Rankings.from_orderings([["b", {"a", "c"}], ["c", "a", "b"]])
    >>> r[1], len(r[:1])
    (['c', 'a', 'b'], 1)
    >>> br.Rankings.from_orderings(list(r)) == r
    True
    """

    AXES: ClassVar = {
        "item": ("items", ("item",)),
        "ranker": ("rankers", ("ranker_idx",)),
        "ranking": ("labels", ()),
    }

    ROW: ClassVar = "ranking"

    items: pd.Index
    rankers: pd.Index
    labels: pd.Index
    item: NDArray[np.int32]
    ranks: NDArray[np.int32]
    mask: NDArray[np.bool_]
    block_sizes: NDArray[np.int32]
    ranker_idx: NDArray[np.int32]
    count: NDArray[np.int64]
    weight: NDArray[np.float64]
    groups: Mapping[str, Group]
    features: NDArray[np.float64] | None
    feature_names: pd.Index | None
    attributes: Attributes | None
    notes: tuple[str, ...] = ()
    roles: Mapping[str, str] = MappingProxyType({})
    unused: Unused | None = None
    scores: Scores | None = None

    def __init__(
        self,
        item: ArrayLike,
        ranks: ArrayLike,
        *,
        items: Labels,
        rankers: Labels | None = None,
        ranker_idx: ArrayLike | None = None,
        count: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        labels: Labels | None = None,
        features: ArrayLike | None = None,
        feature_names: Labels | None = None,
    ) -> None:
        given = entries.from_arrays(
            item, ranks, items, rankers, ranker_idx, count, weight, labels, features, feature_names
        )
        self.__setstate__(arrange(given, must_be_dense=True))

    def grouped(self, groups: Mapping[str, Labels | Mapping[Hashable, Hashable]]) -> Self:
        """Add groups of the rankings (season, region), which a utility can have as dims.

        Parameters
        ----------
        groups : mapping of str
            For each name, one label per ranking, in order; or a Series or mapping by ranker, which
            may include other rankers. Labels are sorted (categories keep their order).

        Returns
        -------
        Rankings
            With these groups and the previous ones; a group of the same name is replaced.

        Raises
        ------
        ValueError
            If the number of labels is not the number of rankings, or the name is reserved.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Ann", "Bo"])
        >>> r = r.grouped({"season": [2026, 2025], "team": {"Ann": "red", "Bo": "blue"}})
        >>> r.groups["season"].idx.tolist(), r.coords["team"].tolist()
        ([1, 0], ['blue', 'red'])
        """
        added = entries.grouped(groups, self.ranker_idx, self.rankers)
        return self._with(groups={**self.groups, **added})

    # Constructors

    @classmethod
    def from_frame(
        cls,
        frame: Source,
        *,
        ranker: str | None = None,
        item: str | None = None,
        rank: str | None = None,
        rating: str | None = None,
        ranking: str | None = None,
        count: str | None = None,
        weight: str | None = None,
        by: str | Sequence[str] = (),
        features: Sequence[Any] = (),
        items: Labels | None = None,
    ) -> Self:
        """Read a long table, by default one that `to_frame` wrote.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per item in a ranking. Files are read as by `from_ratings`.
        ranker, item : str
            Columns. Without the name of any column, those that `to_frame` writes are read.
        rank, rating : str
            Column of ranks, as in `from_long_ranks`, or of ratings, as in `from_ratings`.
        ranking, count, weight, by, items
            As in `from_ratings`. The errors are also the same.
        features : list of labels
            Columns of numbers, the covariates of each item in a ranking.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["b", {"a", "c"}], ["a", "b"]], rest=())
        >>> r = r.grouped({"season": [2025, 2026]})
        >>> br.Rankings.from_frame(r.to_frame(), by="season") == r
        True
        """
        names = {"ranker": ranker, "item": item, "rank": rank, "ranking": ranking}
        names |= {"count": count, "weight": weight}
        return cls._from_entries(entries.from_frame(frame, names, rating, by, items, features))

    @classmethod
    def from_ratings(
        cls,
        frame: Source,
        *,
        ranker: str,
        item: str,
        rating: str,
        ranking: str | None = None,
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        features: Features | Sequence[str] | None = None,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Rank the items of each ranker by rating: high is good, equal ratings form a block.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per rating. A table is a DataFrame of pandas or polars, a table of pyarrow, or a
            list of dicts. A path may be a Parquet or text file, a folder of such files, or a URL
            such as ``s3://bucket/ratings/`` (which needs fsspec). Only the named columns of
            files are read, in batches. Row numbers continue from file to file.
        ranker, item, rating : str
            Columns. Ratings are numbers or ordered categories; the last category is the best.
        ranking : str, optional
            Column that separates several rankings of one ranker, such as sessions.
        count : str, optional
            Column with the number of independent rankings that the ranking stands for, such as
            ballots cast: whole numbers, constant within the ranking.
        weight : str, optional
            Column with the sampling weight of the ranking, constant within the ranking. It
            multiplies the log-likelihood, and is not a number of rankings.
        items : sequence of labels, optional
            The item axis, in this order; it may include items that are not in the table. By
            default, the items of the table, sorted (categories keep their order).
        features : list of str, DataFrame, or array of shape (n_items, n_features), optional
            Columns of `frame`; or a table indexed by item; or an array aligned with the item axis.
        by : str or sequence of str, optional
            Columns that group the rankings (season, region), constant within a ranking. A utility
            can have them as dims.

        Raises
        ------
        ValueError
            If a column is missing, or a rating is not a finite number. Also if an item is rated
            twice in a ranking or not in `items`. Also if a column of `by` varies within a ranking
            or has a reserved name, or a file cannot be read.
        FileNotFoundError
            If a path does not exist.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame(
        ...     {"user": [7, 7, 7, 8, 8], "film": list("abcab"), "stars": [3, 5, 3, 1, 2]}
        ... )
        >>> r = br.Rankings.from_ratings(table, ranker="user", item="film", rating="stars")
        >>> r.ranks
        array([[1, 2, 2],
               [1, 2, 0]], dtype=int32)
        """
        columns = entries.Columns(ranker, item, ranking, count, weight, by)
        return cls._from_entries(
            entries.from_table(frame, rating, "rating", columns, items, features)
        )

    @classmethod
    def from_long_ranks(
        cls,
        frame: Source,
        *,
        ranker: str,
        item: str,
        rank: str,
        ranking: str | None = None,
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        features: Features | Sequence[str] | None = None,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Read a long table of ranks: low is good, equal ranks form a block, gaps are closed.

        Only the order of the ranks within a ranking matters. Competition ranks (1, 2, 2, 4) and
        positions in a longer list become dense ranks.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per item in a ranking.
        ranker, item, rank : str
            Columns. Ranks are numbers or ordered categories; the first category is the best.
        ranking, count, weight, items, features, by
            As in `from_ratings`. The errors are also the same.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> table = pd.DataFrame({"race": [1, 1, 1], "car": list("abc"), "place": [7, 1, 7]})
        >>> br.Rankings.from_long_ranks(table, ranker="race", item="car", rank="place").ranks
        array([[1, 2, 2]], dtype=int32)
        """
        columns = entries.Columns(ranker, item, ranking, count, weight, by)
        table = entries.from_table(frame, rank, "rank", columns, items, features)
        return cls._from_entries(table)

    @classmethod
    def from_scores(
        cls,
        frame: Table,
        *,
        item: str | None = None,
        case: str | None = None,
        score: str | None = None,
        column: Sequence[Any] | None = None,
        fold: str | None = None,
        rope: Rope = 0.0,
        lower_is_better: Labels = (),
        weight: str | None = None,
        by: str | Sequence[str] = (),
        items: Labels | None = None,
    ) -> Self:
        """Rank items by their scores in each case, such as models on tasks.

        A case is a ranker, and each of its folds is a ranking. High scores are good, except in the
        cases of `lower_is_better`. Scores of a case are *practically equivalent* if they differ by
        at most its rope. This relation is not transitive. So blocks are made from the top: the best
        score opens a block, which takes all scores within the rope of it. The best of the rest
        opens the next block.

        Folds or seeds of a case share data, so they are not independent. Together they count as one
        case: each ranking has the weight of the case divided by its number of folds.

        Parameters
        ----------
        frame : table
            DataFrame of pandas or polars, table of pyarrow, or list of dicts. It has one row per
            score, or one row per item or per case.
        item, case, score : str, optional
            Columns. Without `score`, the table is wide. With only `item`, each row is an item and
            each other column a case. With only `case`, it is the reverse.
        column : sequence of labels, optional
            Columns of the scores of a wide table; by default all that no argument names.
        fold : str, optional
            Column of the folds, seeds or repetitions of a case.
        rope : float, mapping by case, or function
            Largest difference of two scores without practical meaning, 0 or more. A function gets
            the array of all scores of a case, and returns its rope.
        lower_is_better : sequence of labels
            Cases in which low scores are good, such as errors.
        weight : str, optional
            Column with the sampling weight of the case.
        by : str or sequence of str, optional
            Columns that group the cases, such as families of data sets.
        items : sequence of labels, optional
            As in `from_ratings`.

        Returns
        -------
        Rankings
            ``notes`` counts the equivalent pairs, those that other rules would judge otherwise, and
            the missing scores. An item without a score (an empty cell or no row) is not in the
            ranking.

        Raises
        ------
        ValueError
            If a column is missing, a score is not a number, or an item has two scores in a case and
            fold. Also if there is only one case or one item, a rope is negative or missing, or all
            scores of each case are equivalent.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> import pandas as pd
        >>> table = pd.DataFrame({"model": ["a", "b", "c"], "mnli": [0.91, 0.905, 0.80],
        ...                       "rmse": [2.0, 1.0, None]})
        >>> r = br.Rankings.from_scores(table, item="model", rope=0.01, lower_is_better=["rmse"])
        >>> r.to_frame()[["ranker", "item", "rank"]].to_numpy().tolist()
        [['mnli', 'a', 1], ['mnli', 'b', 1], ['mnli', 'c', 2], ['rmse', 'b', 1], ['rmse', 'a', 2]]
        >>> print(r.notes[2])
        Missing scores: 1 of 6. An item without a score was not run, so it is not in the ranking.
        """
        columns = ScoreTable(item, case, score, column, fold, weight, by)
        given, scores, notes = score_entries.from_scores(
            frame, columns, rope, lower_is_better, items
        )
        return cls._from_entries(given)._with(notes=notes, roles=columns.roles, scores=scores)

    @classmethod
    def from_best_worst(
        cls,
        frame: Source,
        *,
        respondent: str,
        item: str,
        task: str | None = None,
        best: str | None = None,
        worst: str | None = None,
        codes: str | None = None,
        best_code: Hashable = None,
        worst_code: Hashable = None,
        several: bool = False,
        missing: Literal["raise", "drop"] = "raise",
        threshold: str | None = None,
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        attributes: Sequence[str] | Table | None = None,
        coding: Literal["reference", "sum"] = "reference",
        standardise: bool = True,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Read best-worst tasks (MaxDiff): each is the weak order {best} > {middle} > {worst}.

        The order of the middle is unknown, so `PlackettLuce` sums over all orders of it. If only
        the best (or the worst) of a task is known, the other items are one block.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per item shown. `from_best_worst_wide` reads one row per task.
        respondent, item : str
            Columns of the rankers, and of the item shown.
        task : str, optional
            Column that separates the tasks of a respondent. By default, each respondent did one
            task.
        best, worst : str, optional
            Columns of flags: 1 or 0, True or False, "x" or empty.
        codes : str, optional
            One column of codes instead: "best", "worst" or empty, or 1, -1 or 0.
        best_code, worst_code : optional
            Other codes in that column, such as 2 and 1.
        several : bool
            Whether a task may have several best or worst items, which then form a block.
        missing : "raise" or "drop"
            Whether to refuse a task in which nothing was chosen, or to leave it out.
        threshold : str, optional
            Column with the answer to a further question of the task (anchored MaxDiff): do "all",
            "some" or "none" of these items matter? Empty if it was not asked. If only the best was
            asked, the column may also tell whether none of the items matters, True or False. The
            task then includes the item "threshold", above all items ("none"), below them ("all")
            or in one block with the middle ("some"). With `attributes`, another feature marks it.
        count, weight, items, by
            As in `from_ratings`.
        attributes, coding, standardise
            As in `from_choices`.

        Raises
        ------
        ValueError
            If a task is impossible, such as one with the same item as best and worst, or a code is
            unknown. The message names the row.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> long = pd.DataFrame({"id": 7, "set": [1, 1, 1], "drink": ["tea", "water", "milk"]})
        >>> tasks = br.Rankings.from_best_worst(
        ...     long.assign(answer=[2, None, 1]),
        ...     respondent="id",
        ...     task="set",
        ...     item="drink",
        ...     codes="answer",
        ...     best_code=2,
        ...     worst_code=1,
        ... )
        >>> list(tasks)
        [['tea', 'water', 'milk']]
        """
        columns = entries.Columns(respondent, item, task, count, weight, by)
        answers = choice_entries.Answers(
            best, worst, codes, best_code, worst_code, threshold, several, missing=missing
        )
        given = choice_entries.Given(attributes, coding, standardise)
        return cls._from_entries(
            choice_entries.from_best_worst(frame, columns, answers, items, given)
        )

    @classmethod
    def from_best_worst_wide(
        cls,
        frame: Source,
        *,
        respondent: str,
        items_shown: Sequence[str],
        task: str | None = None,
        best: str | None = None,
        worst: str | None = None,
        positions: bool = False,
        missing: Literal["raise", "drop"] = "raise",
        threshold: str | None = None,
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        attributes: Sequence[str] | Table | None = None,
        coding: Literal["reference", "sum"] = "reference",
        standardise: bool = True,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Read best-worst tasks (MaxDiff) from a table with one row per task.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per task. `from_best_worst` reads one row per item shown.
        respondent : str
            Column of the rankers.
        items_shown : list of str
            Columns of the items shown. Their cells may be empty.
        task : str, optional
            Column that names the tasks of a respondent. By default, each row is one task.
        best, worst : str, optional
            Columns of the items chosen. One of them is enough.
        positions : bool
            Whether `best` and `worst` are positions 1, 2, ... in `items_shown`, instead of labels.
        missing, threshold, count, weight, items, by
            As in `from_best_worst`. The errors are also the same.
        attributes, coding, standardise
            As in `from_choices`.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> wide = pd.DataFrame({"id": [7, 7], "set": [1, 2], "best": ["tea", "milk"]})
        >>> wide["worst"] = ["milk", "water"]
        >>> wide[["a", "b", "c"]] = [["tea", "water", "milk"], ["water", "milk", "tea"]]
        >>> tasks = br.Rankings.from_best_worst_wide(
        ...     wide, respondent="id", items_shown=["a", "b", "c"], best="best", worst="worst"
        ... )
        >>> list(tasks)
        [['tea', 'water', 'milk'], ['milk', 'tea', 'water']]
        """
        columns = entries.Columns(respondent, "", task, count, weight, by)
        answers = choice_entries.Answers(
            best, worst, threshold=threshold, positions=positions, missing=missing
        )
        given = choice_entries.Given(attributes, coding, standardise)
        return cls._from_entries(
            choice_entries.from_best_worst_wide(frame, columns, items_shown, answers, items, given)
        )

    @classmethod
    def from_choices(
        cls,
        frame: Source,
        *,
        respondent: str | None = None,
        task: str | None = None,
        alternative: str = "alternative",
        chosen: str | None = None,
        rank: str | None = None,
        available: str | None = None,
        missing: Literal["raise", "drop"] = "raise",
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        attributes: Sequence[str] | Table | None = None,
        coding: Literal["reference", "sum"] = "reference",
        standardise: bool = True,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Read choices or ranked alternatives, with their attributes as features.

        A choice is the weak order {chosen} > {others}, and `PlackettLuce` is its multinomial logit.
        With `rank`, it is the rank-ordered logit.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per alternative of a choice. `from_choices_wide` reads one row per choice.
        respondent : str, optional
            Column of the rankers. By default, every choice has its own ranker.
        task : str, optional
            Column that separates the choices of a respondent, or, without `respondent`, all
            choices. By default, each respondent made one choice.
        alternative : str
            Column of the alternative, which is the item.
        chosen : str, optional
            Column of flags, as in `from_best_worst`.
        rank : str, optional
            Column of ranks instead of `chosen`, 1 = best.
        available : str, optional
            Column of flags of the alternatives that could be chosen.
        missing, count, weight, items, by
            As in `from_best_worst`.
        attributes : list of str, or table indexed by item, optional
            Columns to code as features: numbers, or levels such as brands. ``"brand:price"`` is a
            product of two columns, and ``"alternative:age"`` gives each alternative a separate
            coefficient of a column of the person. A table has a row per item.
        coding : "reference" or "sum"
            The coding of levels: relative to the first one, or summing to zero. Categories keep
            their order.
        standardise : bool
            Whether to subtract the mean of columns of numbers and divide by their standard
            deviation. ``print(rankings.attributes)`` lists them.

        Raises
        ------
        ValueError
            If a choice is impossible; the message names the row. Also if an attribute is the same
            for all alternatives of every choice.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> long = pd.DataFrame({"trip": [1, 1, 2, 2], "mode": ["bus", "car", "bus", "car"]})
        >>> choices = br.Rankings.from_choices(
        ...     long.assign(cost=[2, 5, 3, 7], taken=["x", "", "", "x"]),
        ...     task="trip",
        ...     alternative="mode",
        ...     chosen="taken",
        ...     attributes=["mode", "cost"],
        ... )
        >>> list(choices), choices.feature_names.tolist()
        ([['bus', 'car'], ['car', 'bus']], ['mode[car]', 'cost'])
        """
        columns = entries.Columns(respondent or "", alternative, task, count, weight, by)
        answers = choice_entries.Answers(chosen, missing=missing)
        offered = choice_entries.Offered(rank, available)
        given = choice_entries.Given(attributes, coding, standardise)
        return cls._from_entries(
            choice_entries.from_choices(frame, columns, answers, offered, items, given)
        )

    @classmethod
    def from_choices_wide(
        cls,
        frame: Table,
        *,
        alternatives: Sequence[Hashable],
        respondent: str | None = None,
        task: str | None = None,
        chosen: str | None = None,
        rank: str | None = None,
        available: str | None = None,
        varying: Sequence[str] = (),
        naming: str = "{alternative}_{attribute}",
        positions: bool = False,
        alternative: str = "alternative",
        missing: Literal["raise", "drop"] = "raise",
        count: str | None = None,
        weight: str | None = None,
        items: Labels | None = None,
        attributes: Sequence[str] | Table | None = None,
        coding: Literal["reference", "sum"] = "reference",
        standardise: bool = True,
        by: str | Sequence[str] = (),
    ) -> Self:
        """Read choices or ranked alternatives from a table with one row per choice.

        Attributes of the alternatives have one column per alternative. Other columns belong to the
        person.

        Parameters
        ----------
        frame : table
            One row per choice. `from_choices` reads one row per alternative.
        alternatives : sequence of labels
            The alternatives, in the order of the item axis.
        respondent : str, optional
            Column of the rankers. By default, every choice has its own ranker.
        task : str, optional
            Column that names the choices. By default, each row is one choice.
        chosen : str, optional
            Column of the alternative chosen.
        rank, available : str, optional
            Names in `varying` of the ranks, instead of `chosen`, and of the flags of availability.
        varying : sequence of str
            Attributes that have one column per alternative.
        naming : str
            How the columns of `varying` are named, such as ``"{attribute}.{alternative}"``.
        positions : bool
            Whether `chosen` is a position 1, 2, ... in `alternatives`, instead of a label.
        alternative : str
            A name for the alternative, to use in `attributes`.
        missing, count, weight, items, by
            As in `from_best_worst`.
        attributes, coding, standardise
            As in `from_choices`. The errors are also the same.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> wide = pd.DataFrame({"car_cost": [5.0, 7.0], "bus_cost": [2.0, 3.0], "age": [20, 50]})
        >>> choices = br.Rankings.from_choices_wide(
        ...     wide.assign(mode=["bus", "car"]),
        ...     chosen="mode",
        ...     alternatives=["bus", "car"],
        ...     varying=["cost"],
        ...     attributes=["alternative", "cost", "alternative:age"],
        ... )
        >>> list(choices), choices.feature_names.tolist()
        ([['bus', 'car'], ['car', 'bus']], ['alternative[car]', 'cost', 'alternative[car]:age'])
        >>> print(choices.attributes)
        alternative: 2 levels, relative to 'bus'
        cost: standardised, mean 4.25 and sd 1.92
        age: standardised, mean 35 and sd 15
        """
        wide = choice_entries.Wide(alternatives, varying, naming)
        columns = entries.Columns(respondent or "", alternative, task, count, weight, by)
        answers = choice_entries.Answers(chosen, positions=positions, missing=missing)
        offered = choice_entries.Offered(rank, available)
        given = choice_entries.Given(attributes, coding, standardise)
        return cls._from_entries(
            choice_entries.from_choices_wide(frame, wide, columns, answers, offered, items, given)
        )

    @classmethod
    def from_orderings(
        cls,
        orderings: Iterable[Iterable[Any]],
        *,
        rest: Literal["items"] | Iterable[Any] | None = None,
        items: Labels | None = None,
        rankers: Labels | None = None,
        count: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        features: Features | None = None,
    ) -> Self:
        """Read lists of items, best first; a set inside a list is a block.

        Parameters
        ----------
        orderings : iterable of iterables, or Series of them
            One list of labels per ranking. A ``set`` or ``frozenset`` is a block. The index of a
            Series names the rankers, unless `rankers` is given.
        rest : "items", an iterable of labels, or one set or list of labels per ranking, optional
            The items presented. If an ordering does not list some of them, they form its last
            block. ``"items"`` means the whole item axis: the ranker stopped early, as on a ballot.
            ``()`` means that only the listed items were presented. Optional only if all orderings
            have the same length.
        items : sequence of labels, optional
            The item axis; by default all listed items, sorted.
        rankers : sequence of labels, one per ranking, optional
            A ranker may occur several times. By default all rankers differ.
        count, weight : array, shape (n_rankings,), or Series, optional
            Number of independent rankings that each ordering stands for, and sampling weight, as in
            `Rankings`. A Series as `count`, `weight` or `rankers` is aligned with the index of
            `orderings`. If `orderings` is a list, it is aligned by row number or by ranker.
        features : DataFrame indexed by item, or array of shape (n_items, n_features), optional
            Covariates of the items.

        Raises
        ------
        ValueError
            If an ordering or block is empty, or an item is repeated or not in `items`. Also if
            orderings differ in length and `rest` is not given.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["c"], ["a", "b"]], rest=["a", "b", "c", "d"])
        >>> r.ranks
        array([[1, 2, 2, 2],
               [1, 2, 3, 3]], dtype=int32)
        """
        listed = entries.from_orderings(orderings, rest, items, rankers, count, weight, features)
        return cls._from_entries(listed)

    @classmethod
    def from_ranks(
        cls,
        frame: Table,
        *,
        rest: Literal["items"] | Iterable[Any] | None = None,
        rankers: Labels | None = None,
        count: ArrayLike | None = None,
        weight: ArrayLike | None = None,
        features: Features | None = None,
    ) -> Self:
        """Read a wide table: one row per ranking, one column per item, 1 = best, NaN = not ranked.

        Parameters
        ----------
        frame : table, shape (n_rankings, n_items)
            Ranks without gaps. Items that tie may have dense ranks (1, 2, 2, 3), competition ranks
            (1, 2, 2, 4) or midranks (1, 2.5, 2.5, 4). Ordered categories, the best first, may
            leave gaps. The columns are the item axis.
        rest, features
            As in `from_orderings`. `rest` is optional only if all rows rank the same number of
            items.
        rankers : sequence of labels, one per row, optional
            By default the index of the frame, in which a ranker may occur several times.
        count, weight : array, shape (n_rankings,), or Series, optional
            Number of independent rankings that each row stands for, and sampling weight, as in
            `Rankings`. A Series as `count`, `weight` or `rankers` is aligned with the index of the
            frame.

        Raises
        ------
        ValueError
            If a row is empty, or its ranks have gaps that ties do not explain. Also if rows rank
            different numbers of items and `rest` is not given.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> wide = pd.DataFrame({"a": [1, 2], "b": [2, 1], "c": [2, float("nan")]})
        >>> br.Rankings.from_ranks(wide, rest=()).ranks
        array([[1, 2, 2],
               [1, 2, 0]], dtype=int32)
        """
        table = entries.from_wide(frame, rest, rankers, count, weight, features)
        return cls._from_entries(table)

    @classmethod
    def from_preflib(
        cls, path: str | Path, *, rest: Literal["items"] | Iterable[Any] | None = None
    ) -> Self:
        r"""Read a PrefLib file of orders: soc, soi, toc or toi.

        Each distinct order is one row, and its count is the number of voters.

        Parameters
        ----------
        path : path
            The file, with ``# ALTERNATIVE NAME 1: ...`` lines and rows ``count: 1,2,{3,4}``.
        rest
            As in `from_orderings`, for incomplete orders (soi, toi). Use ``"items"`` if the
            alternatives not listed come last, as on a ballot, and ``()`` if they were not
            presented.

        Raises
        ------
        FileNotFoundError
            If the file does not exist.
        ValueError
            If the file is empty, truncated, in another format, or cannot be parsed. Also if orders
            differ in length and `rest` is not given.

        Examples
        --------
        >>> import tempfile
        >>> from pathlib import Path
        >>> import bayesrank as br
        >>> path = Path(tempfile.mkdtemp(), "votes.soi")
        >>> names = ["# ALTERNATIVE NAME 1: Ann", "# ALTERNATIVE NAME 2: Bo"]
        >>> _ = path.write_text("\n".join([*names, "5: 1,2", "3: 2"]))
        >>> br.Rankings.from_preflib(path, rest="items").to_frame()
           ranking  ranker item  rank  count  weight
        0        0       0  Ann     1      5     1.0
        1        0       0   Bo     2      5     1.0
        2        1       1   Bo     1      3     1.0
        3        1       1  Ann     2      3     1.0
        """
        orders = read_preflib(path)
        return cls.from_orderings(
            orders.orderings, rest=rest, items=orders.alternatives, count=orders.voters
        )

    # Sizes, coordinates, tables

    @property
    def n_rankings(self) -> int:
        """Number of rows; a row stands for `count` rankings."""
        return len(self.ranks)

    @property
    def evidence(self) -> NDArray[np.float64]:
        """Count times weight, which multiplies the log-probability of a row."""
        return self.count * self.weight

    @property
    def n_rankers(self) -> int:
        """Number of rankers: those with names, or one for each ranking that was counted."""
        more = int((self.count - 1).sum()) if self.are_anonymous else 0
        return len(self.rankers) + more

    @property
    def are_anonymous(self) -> bool:
        """Whether rankers have only numbers, and ranked once.

        A row with a count of 40 then stands for 40 rankers. If a ranker has a name or several rows,
        the count says how often this ranker gave the ranking.
        """
        numbered = self.rankers.dtype.kind in "iu" and np.array_equal(
            self.rankers, np.arange(len(self.rankers))
        )
        return numbered and len(np.unique(self.ranker_idx)) == self.n_rankings

    @property
    def n_slots(self) -> int:
        """Number of items in the longest ranking."""
        return self.ranks.shape[1]

    @property
    def n_blocks(self) -> int:
        """Largest number of blocks in a ranking."""
        return self.block_sizes.shape[1]

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: item, ranking, ranker, slot, and more."""
        return super().coords | {"slot": np.arange(self.n_slots)}

    def to_frame(self) -> pd.DataFrame:
        """Return a long table, best first, with the groups and features as columns.

        `from_frame` reads it back. For groups, features, and items in another order or without a
        ranking, write ``by=[*r.groups]``, ``features=[*r.feature_names]`` and ``items=r.items``.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", {"a", "c"}]]).to_frame()
           ranking  ranker item  rank  count  weight
        0        0       0    b     1      1     1.0
        1        0       0    a     2      1     1.0
        2        0       0    c     2      1     1.0
        """
        row, slot = np.nonzero(self.mask)
        columns = {
            "ranking": self.labels.take(row),
            "ranker": self.rankers.take(self.ranker_idx[row]),
            "item": self.items.take(self.item[row, slot]),
            "rank": self.ranks[row, slot],
            "count": self.count[row],
            "weight": self.weight[row],
        }
        columns |= {name: labels.take(idx[row]) for name, (labels, idx) in self.groups.items()}
        frame = pd.DataFrame(columns)
        if self.features is None:
            return frame
        covariates = pd.DataFrame(self.features[row, slot], columns=self.feature_names)
        return pd.concat([frame, covariates], axis=1)

    # Derived rankings: subsets, merged and expanded rankings

    def subset(
        self,
        index: ArrayLike | None = None,
        *,
        labels: Labels | None = None,
        rankers: Labels | None = None,
    ) -> Self:
        """Select rankings, on the same axes of items and rankers.

        Parameters
        ----------
        index : array of bool of shape (n_rankings,), or array of int, optional
            Mask or positions of the rankings, as in ``rankings[index]``. Negative positions count
            from the end, and a Boolean Series is aligned by the labels of the rankings.
        labels, rankers : sequence of labels, optional
            Labels of the rankings, or of their rankers. Give one of the three arguments.

        Returns
        -------
        Rankings
            In the requested order; with `rankers`, in the previous order.

        Raises
        ------
        ValueError
            If nothing is selected, a ranking is selected twice, or a label is unknown.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], rankers=["Ann", "Bo"])
        >>> r.subset(labels=["Bo"]).item
        array([[1, 0]], dtype=int32)
        """
        if (index is not None) + (labels is not None) + (rankers is not None) != 1:
            raise ValueError("Give exactly one of `index`, `labels` and `rankers`.")
        if labels is not None:
            chosen = locate(axis_index(labels, "labels"), self.labels, "ranking")
        elif rankers is not None:
            wanted = locate(axis_index(rankers, "rankers"), self.rankers, "ranker")
            chosen = np.flatnonzero(np.isin(self.ranker_idx, wanted))
        else:
            chosen = self._positions(index)
        if not len(chosen):
            raise ValueError("No ranking is selected: a collection needs at least one.")
        return self._take(chosen)

    def _used(self, name: str) -> NDArray[Any]:
        return self.item[self.mask] if name == "item" else super()._used(name)

    def _on_axes(self, values: dict[str, Any]) -> Self:
        if "item" in values:  # within a block, items follow the order of their axis
            row, slot = np.nonzero(self.mask)
            moved, ranks = values["item"][row, slot], self.ranks[row, slot]
            layout = lay_out(moved, ranks, group(row, len(self)))
            values["item"] = layout.item
            if self.features is not None:
                values["features"] = layout.pad(self.features[row, slot])
        return self._with(**values)

    def drop_items(self, items: Labels) -> Self:
        """Remove items from the axis and from every ranking, and close the gaps in the ranks.

        Rankings without any other item are dropped with a warning.

        Parameters
        ----------
        items : sequence of labels
            The items to drop.

        Raises
        ------
        ValueError
            If an item is unknown, or no ranking remains.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b", "c"]]).drop_items(["b"])
        >>> r.items.tolist(), r.ranks.tolist()
        (['a', 'c'], [[1, 2]])
        """
        dropped = locate(axis_index(items, "items"), self.items, "item")
        stays = np.ones(self.n_items, dtype=bool)
        stays[dropped] = False
        row, slot = np.nonzero(self.mask & stays[self.item])
        rankings = np.unique(row)
        if not len(rankings):
            raise ValueError(
                "Every ranking contains dropped items only, so nothing would be left. Drop fewer "
                "items."
            )
        gone = np.setdiff1d(np.arange(self.n_rankings), rankings)
        if len(gone):
            warn(
                f"{len(gone)} of {counted(self.n_rankings, 'ranking')} contained only dropped "
                f"items and {'was' if len(gone) == 1 else 'were'} removed "
                f"({quoted(self.labels.take(gone), 3)})."
            )
        new = np.cumsum(stays) - 1
        covariates = None
        if self.features is not None:
            covariates = entries.Covariates(
                self.features[row, slot], self.feature_names, self.attributes
            )
        return self._from_entries(
            entries.Entries(
                np.searchsorted(rankings, row),
                new[self.item[row, slot]],
                self.ranks[row, slot],
                items=self.items[stays],
                rankers=self.rankers,
                ranker_idx=self.ranker_idx[rankings],
                labels=self.labels.take(rankings),
                count=self.count[rankings],
                weight=self.weight[rankings],
                features=covariates,
                groups={name: group.take(rankings) for name, group in self.groups.items()},
            )
        )._with(
            notes=self.notes,
            roles=self.roles,
            scores=None if self.scores is None else self.scores.take(rankings),
        )

    @overload
    def split(
        self,
        into: int,
        *,
        random_seed: int | None = None,
        by: Literal["ranking", "ranker"] = "ranking",
    ) -> list[tuple[Self, Self]]: ...
    @overload
    def split(
        self,
        into: float,
        *,
        random_seed: int | None = None,
        by: Literal["ranking", "ranker"] = "ranking",
    ) -> tuple[Self, Self]: ...
    def split(
        self,
        into: float,
        *,
        random_seed: int | None = None,
        by: Literal["ranking", "ranker"] = "ranking",
    ) -> tuple[Self, Self] | list[tuple[Self, Self]]:
        """Split at random into training and test rankings, or into folds.

        Parameters
        ----------
        into : float in (0, 1), or int >= 2
            The share of the first part, or the number of folds.
        random_seed : int, optional
            Seed of the shuffle.
        by : "ranking" or "ranker"
            The unit that is shuffled. With "ranker", all rankings of a ranker stay together.

        Returns
        -------
        (Rankings, Rankings), or a list of such pairs
            Training and test part, or one such pair per fold. Each ranking is in the test part of
            one fold. All parts keep the axes of items and rankers, and the order of the rankings.
            A row with a count is divided, because it stands for independent rankings.

        Raises
        ------
        ValueError
            If a part would be empty.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"], ["b", "a"]])
        >>> train, test = r.split(0.75, random_seed=1)
        >>> len(train), len(test), len(r.split(4, random_seed=1))
        (3, 1, 4)
        """
        if by not in ("ranking", "ranker"):
            raise ValueError(f"`by` must be 'ranking' or 'ranker'; got {by!r}.")
        # a row with a count is divided, unless its ranker has to stay together
        apart = by == "ranking" or self.are_anonymous
        row = np.repeat(np.arange(self.n_rankings), self.count if apart else 1)
        unit = np.arange(len(row)) if apart else self.ranker_idx
        if not isinstance(into, int | float | np.integer):
            raise ValueError(
                f"`into` must be a share between 0 and 1, or a number of folds; got {into!r}."
            )
        if isinstance(into, int | np.integer):
            parts = folds(unit, into, random_seed, by)
            return [self._parted(row[test], apart) for test in parts]
        return self._parted(row[held_out(unit, into, random_seed, by)], apart)

    def collapse(self, *, within_ranker: bool = False) -> Self:
        """Merge identical rankings, and add their counts; the inverse of `expand`.

        Rankings are identical if they order the same items in the same way, with the same features,
        groups and sampling weight. A merged ranking keeps the label of the first one.

        Parameters
        ----------
        within_ranker : bool
            Merge only rankings by the same ranker. By default, rankers lose their names, and a
            merged ranking stands for as many rankers as its count.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["a", "b"]]).collapse()
        >>> r
        Rankings: 3 rankings, 2 different, of 2 items by 3 rankers, 2 items in each, no ties
        >>> r.count
        array([2, 1])
        """
        content: list[NDArray[Any]] = [self.item, self.ranks, self.weight[:, None]]
        if self.features is not None:
            content.append(self.features.reshape(self.n_rankings, -1) + 0.0)  # -0.0 is 0.0
        content += [group.idx[:, None] for group in self.groups.values()]
        if within_ranker:
            content.append(self.ranker_idx[:, None])
        same = identical(content)
        first = np.unique(same, return_index=True)[1]
        times = np.zeros(len(first), dtype=np.int64)
        np.add.at(times, same, self.count)
        merged = self._take(first)._with(count=times, unused=None, scores=None)
        if within_ranker:
            return merged
        n = len(first)
        return merged._with(rankers=pd.RangeIndex(n), ranker_idx=np.arange(n, dtype=np.int32))

    def expand(self) -> Self:
        """Repeat each ranking as often as its count says; the inverse of `collapse`.

        Repeated rankings have the count 1, the same sampling weight and the labels 0, 1, 2, ...
        Rankers without names become different rankers.

        Examples
        --------
        >>> import bayesrank as br
        >>> counted = br.Rankings.from_orderings([["a", "b"], ["b", "a"]], count=[3, 2])
        >>> len(counted), len(counted.expand())
        (2, 5)
        """
        if (self.count == 1).all():
            return self
        expanded = self._take(np.repeat(np.arange(self.n_rankings), self.count))
        n = len(expanded)
        once = expanded._with(
            labels=pd.RangeIndex(n), count=np.ones(n, dtype=np.int64), unused=None, scores=None
        )
        if not self.are_anonymous:
            return once
        return once._with(rankers=pd.RangeIndex(n), ranker_idx=np.arange(n, dtype=np.int32))

    # Derived quantities

    @cached_property
    def stages(self) -> Stages:
        """Distinct (block, remainder) pairs and their weights, so that each is evaluated once.

        Computed on first access and cached; read-only.
        """
        table = stage_table(self.item, self.ranks, self.evidence, self.n_items)
        for array in table:
            array.flags.writeable = False
        return table

    def connectivity(self) -> Connectivity:
        """Find the components of the graph in which an item beats the items of lower blocks.

        Returns
        -------
        Connectivity
            ``weak`` and ``strong`` hold the component of each item. Items of one weak component are
            linked by comparisons, and those of one strong component by wins in both directions.
            ``never_wins``, ``never_loses`` and ``uncompared`` list items, and printing the object
            explains the result. The order inside a block is unknown, so ties do not connect items.

        Examples
        --------
        >>> import bayesrank as br
        >>> found = br.Rankings.from_orderings([["a", "b"], ["b", "a"], ["b", "c"]]).connectivity()
        >>> found.weak.tolist(), found.strong.tolist(), found.never_wins.tolist()
        ([0, 0, 0], [0, 0, 1], ['c'])
        """
        return connectivity(self.items, self.item, self.ranks)

    def design(self) -> Design:
        """Count how often each item and each pair was presented.

        Returns
        -------
        Design
            ``items`` and ``pairs`` are tables of counts. ``message`` describes the balance and
            names items that cannot be compared.

        Examples
        --------
        >>> import bayesrank as br
        >>> found = br.Rankings.from_orderings([["a", "b"], ["b", "c"], ["c", "b"]]).design()
        >>> found.pairs.loc["a"].tolist(), found.items["shown"].tolist()
        ([0, 1, 0], [1, 3, 2])
        """
        # rankers without names see an item as often as rankings contain it
        ranker = None if self.are_anonymous else self.ranker_idx
        return design(self.connectivity(), self.item, self.mask, ranker, self.count)

    def pairs(self, *, ties: Literal["keep", "drop"] = "keep") -> Pairs:
        """List all pairs of items presented together, one row per pair and ranking.

        A ranking of n items gives n (n - 1) / 2 pairs. The product of their likelihoods is a
        composite likelihood, which is not comparable with a likelihood of whole rankings.

        Parameters
        ----------
        ties : "keep" or "drop"
            Whether two items of one block are a pair with the outcome "tie" (judged equal), or are
            left out (order unknown).

        Returns
        -------
        Pairs
            The first item is in the higher block, and the judges are the rankers. Each pair is one
            match, with the count and the weight of its ranking.

        Raises
        ------
        ValueError
            If `ties` is neither "keep" nor "drop".

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", "a"]]).pairs().to_frame()
          first second outcome  count  judge
        0     b      a   first      1      0
        """
        if ties not in ("keep", "drop"):
            raise ValueError(f"`ties` must be 'keep' or 'drop'; got {ties!r}.")
        row, better, worse, steps = all_pairs(self.item, self.ranks, keep_ties=ties == "keep")
        counts = np.zeros((len(row), 3), dtype=np.int64)
        counts[:, 0] = np.where(steps > 0, self.count[row], 0)
        counts[:, 2] = np.where(steps == 0, self.count[row], 0)
        return Pairs(
            items=self.items,
            judges=self.rankers,
            first=better,
            second=worse,
            counts=counts,
            weight=self.weight[row],
            judge_idx=self.ranker_idx[row],
            groups={name: group.take(row) for name, group in self.groups.items()},
            collapsed=False,
        )

    def counts(
        self,
        method: Literal["difference", "binary"] = "difference",
    ) -> PairCounts:
        """Count preferences per ranker, for every pair of items that the ranker ordered.

        Parameters
        ----------
        method : "difference" or "binary"
            What a ranking adds to the count of (better, worse): the difference of the dense ranks,
            or 1.

        Returns
        -------
        PairCounts
            With the groups that are constant over the rankings of each ranker, and the sampling
            weight of each ranker. A row of rankers without names becomes as many rankers as its
            count. All items belong to one problem 'all'; `PairCounts.from_ratings` reads several
            problems.

        Raises
        ------
        ValueError
            If the rankings of a ranker have different weights, or there is only one item.

        Examples
        --------
        >>> import bayesrank as br
        >>> br.Rankings.from_orderings([["b", "a", "c"]]).counts().dense(0)
        array([[0., 0., 1.],
               [1., 0., 2.],
               [0., 0., 0.]])
        """
        check_method(method)
        if self.are_anonymous and (self.count != 1).any():
            return self.expand().counts(method)
        axis = assign_one_problem(self.items)
        row, slot = np.nonzero(self.mask)
        cost = self.ranks[row, slot].astype(np.float64)
        pairs = ordered_pairs(row, self.item[row, slot], -cost, axis.problem_idx)
        step = np.ones(len(pairs.step)) if method == "binary" else pairs.step
        amount = (self.count[pairs.ranker] * step).astype(np.float64)
        pairs = pairs._replace(ranker=self.ranker_idx[pairs.ranker], step=amount)
        if (np.diff(self.ranker_idx) > 0).all():  # one ranking per ranker, already sorted
            counts = PairCounts.from_sorted_pairs(axis, self.rankers, pairs)
        else:
            counts = PairCounts.from_pairs(axis, self.rankers, pairs)
        counts = counts.grouped(self._groups_of_rankers())
        if (self.weight == 1).all():
            return counts
        weight = np.ones(len(self.rankers))
        weight[self.ranker_idx] = self.weight
        differs = weight[self.ranker_idx] != self.weight
        if differs.any():
            ranker = self.rankers[self.ranker_idx[int(differs.argmax())]]
            raise ValueError(
                f"The sampling weight must be the same in all rankings of a ranker, because counts "
                f"have one weight per ranker. Ranker {label_repr(ranker)} has several. Make the "
                f"weights equal, or use PlackettLuce."
            )
        return counts.weighted(weight)

    def _groups_of_rankers(self) -> dict[str, pd.Categorical]:
        """Return the labels by ranker of groups that are constant within each ranker."""
        first = np.full(len(self.rankers), -1)
        first[self.ranker_idx[::-1]] = np.arange(self.n_rankings)[::-1]
        if (first < 0).any():
            return {}
        return {
            name: pd.Categorical.from_codes(idx[first], labels)
            for name, (labels, idx) in self.groups.items()
            if np.array_equal(idx[first][self.ranker_idx], idx) and name != "problem"
        }

    # Length and text

    def __len__(self) -> int:
        """Count the rankings."""
        return self.n_rankings

    def __repr__(self) -> str:
        """Summarise the rankings in one line."""
        length = self.mask.sum(axis=1)
        low, high = length.min(), length.max()
        size = f"{low}" if low == high else f"{low} to {high}"
        tied = np.where(self.block_sizes > 1, self.block_sizes, 0).sum(axis=1)
        share = float(self.count @ tied) / float(self.count @ length)
        words = [
            f"{self._counted_text()} of {counted(self.n_items, 'item')} by "
            f"{self.n_rankers:,} {'ranker' if self.n_rankers == 1 else 'rankers'}"
            f"{self._groups_text()}",
            f"{size} {'item' if high == 1 else 'items'} in each",
            f"{share:.0%} of entries tied" if share else "no ties",
        ]
        if (self.weight != 1).any():
            words.append(f"total weight {self.evidence.sum():g}")
        if self.features is not None:
            words.append(counted(self.features.shape[2], "feature"))
        return "Rankings: " + ", ".join(words)

    def _counted_text(self) -> str:
        n = int(self.count.sum())
        total = f"{n:,} {'ranking' if n == 1 else 'rankings'}"
        if (self.count == 1).all():
            return total
        return f"{total}, {len(np.unique(identical([self.item, self.ranks]))):,} different,"

    def _row(self, n: int) -> list[Any]:
        """Return the ordering, as `from_orderings` reads it."""
        items, begin, ordering = self.items.take(self.item[n, self.mask[n]]).tolist(), 0, []
        for size in self.block_sizes[n, : self.ranks[n].max()].tolist():
            block = items[begin : begin + size]
            ordering.append(block[0] if size == 1 else set(block))
            begin += size
        return ordering

    def _shown(self, n: int) -> dict[str, Any]:
        item, rank = self.items.take(self.item[n, self.mask[n]]), self.ranks[n, self.mask[n]]
        signs = np.where(np.diff(rank, prepend=0) > 0, " > ", " = ")
        order = "".join(f"{sign}{label}" for sign, label in zip(signs, item, strict=True))
        who = self.rankers[self.ranker_idx[n]]
        row = {"ranking": self.labels[n], "ranker": who, "order": order.removeprefix(" > ")}
        return row if (self.count == 1).all() else row | {"count": int(self.count[n])}

    # Internal constructors

    @classmethod
    def _from_entries(cls, given: entries.Entries) -> Self:
        self = object.__new__(cls)
        self.__setstate__(arrange(given))
        return self

    def _take(self, chosen: NDArray[np.int64]) -> Self:
        used = int(self.mask[chosen].any(axis=0).sum())
        ranks = self.ranks[chosen, :used]
        return self._with(
            labels=self.labels.take(chosen),
            item=self.item[chosen, :used],
            ranks=ranks,
            mask=ranks > 0,
            block_sizes=block_sizes(ranks),
            ranker_idx=self.ranker_idx[chosen],
            count=self.count[chosen],
            weight=self.weight[chosen],
            features=None if self.features is None else self.features[chosen, :used],
            groups={name: group.take(chosen) for name, group in self.groups.items()},
            unused=None if self.unused is None else self.unused.take(chosen),
            scores=None if self.scores is None else self.scores.take(chosen),
        )

    def _parted(self, test: NDArray[np.int64], apart: bool) -> tuple[Self, Self]:
        """Divide the rows into two parts; `test` lists each row as often as it is in the second."""
        n = np.bincount(test, minlength=self.n_rankings)
        n = n if apart else n * self.count
        return self._given(self.count - n), self._given(n)

    def _given(self, count: NDArray[np.int64]) -> Self:
        """Give rankings new counts, and leave out those with none."""
        some = np.flatnonzero(count)
        return self._take(some)._with(count=count[some])
