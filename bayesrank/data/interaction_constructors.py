"""Constructors of `Interactions`: how tables and rankings are read."""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.derive.layout import warn
from bayesrank.data.pair_table import PairTable
from bayesrank.data.rankings import Rankings
from bayesrank.data.read.columns import finite_numbers, require_columns
from bayesrank.data.read.labels import (
    axis_index,
    counted,
    factorize,
    label_repr,
    locate,
    plain_index,
    quoted,
    sorted_axis,
)


class RepeatedInteractionWarning(UserWarning):
    """Some users have an item more than once in a table, which counts as once."""


class UninformativeUserWarning(UserWarning):
    """Some users have no item or all of them, so that there is nothing they prefer to another."""


@dataclass(frozen=True, eq=False, repr=False)
class InteractionConstructors(PairTable):
    """The named constructors of `Interactions`, which documents the attributes."""

    users: pd.Index
    items: pd.Index
    start: NDArray[np.int64]
    item: NDArray[np.int32]

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        user: str,
        item: str,
        users: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
        rating: str | None = None,
    ) -> Self:
        """Read a table in which every row says that a user has an item.

        Parameters
        ----------
        frame : DataFrame
            One row per interaction.
        user, item : str
            Columns with who has what.
        users, items : sequence of labels, optional
            The axes; by default the labels of the table, sorted. Labels that are not in the table
            are kept: users without items, items that nobody has.
        rating : None
            Refused, with a sentence that says how ratings become interactions.

        Returns
        -------
        Interactions

        Raises
        ------
        ValueError
            If there are no rows, a column or a label is missing, a user or an item is not on the
            axis given, or a rating is named.

        Warns
        -----
        RepeatedInteractionWarning
            If the same user has the same item in several rows, which counts once.
        UninformativeUserWarning
            If a user has all items. Such users are kept and contribute nothing.

        Examples
        --------
        >>> import bayesrank as br
        >>> clicks = pd.DataFrame({"user": [7, 9], "page": ["b", "a"]})
        >>> br.Interactions.from_frame(clicks, user="user", item="page", items=list("abc"))
        Interactions: 2 of 2 users with 3 items, 1 item each
        """
        if rating is not None:
            raise ValueError(
                f"from_frame takes every row for an interaction, whatever the {rating!r} in it. "
                f"Say from which rating on a user has an item: Interactions.from_ratings(frame, "
                f"user={user!r}, item={item!r}, rating={rating!r}, at_least=4), say."
            )
        user_idx, item_idx, user_axis, item_axis = _coded(frame, user, item, users, items)
        return cls._of(user_axis, item_axis, user_idx, item_idx)

    @classmethod
    def from_ratings(
        cls,
        frame: pd.DataFrame,
        *,
        user: str,
        item: str,
        rating: str,
        at_least: float,
        users: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of ratings, of which those from a threshold on are interactions.

        Parameters
        ----------
        frame : DataFrame
            One row per rating.
        user, item, rating : str
            Columns with who rated what how high.
        at_least : float
            The lowest rating that counts. All users and items of the table stay on the axes. The
            items rated lower are, like those not rated at all, items that the user has not.
        users, items : sequence of labels, optional
            The axes; by default the labels of the table, sorted.

        Returns
        -------
        Interactions

        Raises
        ------
        ValueError
            As `from_frame` does, and if a rating is not a finite number or none is high enough.

        Warns
        -----
        RepeatedInteractionWarning, UninformativeUserWarning
            As in `from_frame`; the latter also if no rating of a user is high enough.

        Examples
        --------
        >>> import bayesrank as br
        >>> stars = pd.DataFrame({"user": [7, 7, 9], "movie": ["b", "a", "a"], "stars": [5, 2, 4]})
        >>> have = br.Interactions.from_ratings(
        ...     stars, user="user", item="movie", rating="stars", at_least=4
        ... )
        >>> have.items_of(7).tolist(), have.items_of(9).tolist()
        (['b'], ['a'])
        """
        user_idx, item_idx, user_axis, item_axis = _coded(frame, user, item, users, items)
        given = finite_numbers(frame, rating, "rating")
        high = given >= at_least
        if not high.any():
            raise ValueError(
                f"No rating is {at_least:g} or more: column {rating!r} ends at {given.max():g}. "
                f"Lower at_least."
            )
        there = np.bincount(user_idx, minlength=len(user_axis)) > 0
        left = np.bincount(user_idx[high], minlength=len(user_axis)) > 0
        lost = user_axis[there & ~left]
        if len(lost):
            warn(
                f"{counted(len(lost), 'user')} ({quoted(lost, 3)}) gave no rating of "
                f"{at_least:g} or more. They are kept, without items.",
                UninformativeUserWarning,
            )
        return cls._of(user_axis, item_axis, user_idx[high], item_idx[high])

    @classmethod
    def from_rankings(cls, rankings: Rankings) -> Self:
        """Take rankings in two blocks: what the ranker has, over all that the ranker has not.

        Parameters
        ----------
        rankings : Rankings
            One ranking of all items in two blocks per ranker.

        Returns
        -------
        Interactions
            Users are the rankers.

        Raises
        ------
        ValueError
            If a ranking has not two blocks or not all items, a ranker ranked twice, or a weight
            is not 1.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
        >>> br.Interactions.from_rankings(r).item
        array([0, 1, 1], dtype=int32)
        """
        check_two_blocks(rankings)
        used = rankings.mask.sum(axis=1)
        n_blocks = rankings.ranks.max(axis=1)
        again = pd.Index(rankings.ranker_idx).duplicated()
        cases = (
            (
                n_blocks < 2,
                "has one block, which does not tell whether the ranker has all or none of it. "
                "Leave it out with rankings.subset().",
            ),
            (
                used < rankings.n_items,
                f"does not hold all of the {counted(rankings.n_items, 'item')}: of the others it "
                f"does not say that the ranker has them not. Observe the rankings as they are, or "
                f"add the others below with Rankings.from_orderings(..., rest=...).",
            ),
            (again, "is by a ranker who ranked before. Merge the two."),
            (rankings.weight != 1, "has a weight, which interactions have not."),
        )
        for broken, what in cases:
            if broken.any():
                raise ValueError(
                    f"Ranking {label_repr(rankings.labels[int(broken.argmax())])} {what}"
                )
        row, slot = np.nonzero(rankings.ranks == 1)
        return cls._of(
            rankings.rankers, rankings.items, rankings.ranker_idx[row], rankings.item[row, slot]
        )

    @classmethod
    def _of(
        cls, users: pd.Index, items: pd.Index, user_idx: NDArray[Any], item_idx: NDArray[Any]
    ) -> Self:
        key = user_idx.astype(np.int64) * len(items) + item_idx
        distinct = np.unique(key)
        n_again = len(key) - len(distinct)
        if n_again:
            warn(
                f"{counted(n_again, 'row')} of {len(key)} repeat an interaction that is there "
                f"already; a user has an item once.",
                RepeatedInteractionWarning,
            )
        who, what = np.divmod(distinct, len(items))
        start = np.zeros(len(users) + 1, dtype=np.int64)
        np.cumsum(np.bincount(who, minlength=len(users)), out=start[1:])
        table = cls(users=users, items=items, start=start, item=what.astype(np.int32))
        full = users[np.diff(start) == len(items)]
        if len(full):
            have, kept = (
                ("has", "The user is kept and contributes")
                if len(full) == 1
                else ("have", "They are kept and contribute")
            )
            warn(
                f"{counted(len(full), 'user')} ({quoted(full, 3)}) {have} all "
                f"{counted(len(items), 'item')}: there is nothing that is preferred to another. "
                f"{kept} nothing.",
                UninformativeUserWarning,
            )
        return table


def check_two_blocks(rankings: Rankings) -> None:
    """Raise a ValueError if a ranking has more than two blocks, and say how to make them two."""
    many = rankings.ranks.max(axis=1) > 2
    if many.any():
        row = int(many.argmax())
        raise ValueError(
            f"Ranking {label_repr(rankings.labels[row])} has {rankings.ranks[row].max()} blocks, "
            f"but what a user has and has not are two. Of ratings, say from which one on a user "
            f"has an item: Interactions.from_ratings(frame, user=..., item=..., rating=..., "
            f"at_least=...)."
        )


def _coded(
    frame: pd.DataFrame,
    user: str,
    item: str,
    users: Iterable[Hashable] | None,
    items: Iterable[Hashable] | None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], pd.Index, pd.Index]:
    """Code the two columns on their axes."""
    require_columns(frame, [user, item])
    if not len(frame):
        raise ValueError("There are no interactions: give at least one row.")
    who, user_axis = _on_axis(frame[user], users, "user")
    what, item_axis = _on_axis(frame[item], items, "item")
    return who, what, user_axis, item_axis


def _on_axis(
    values: pd.Series, axis: Iterable[Hashable] | None, what: str
) -> tuple[NDArray[np.int64], pd.Index]:
    if axis is None:
        return sorted_axis(values, str(values.name))
    given = axis_index(axis, f"{what}s")
    codes, distinct = factorize(values, str(values.name))
    return locate(plain_index(distinct), given, what)[codes], given
