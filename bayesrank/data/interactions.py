"""Interactions: the items that each user clicked, bought or watched (implicit feedback).

The items of a user are a set without order. They are stored like the rows of a sparse matrix: user
``u`` has the items ``item[start[u]:start[u + 1]]``, in ascending order. Memory therefore grows with
the number of interactions, not with users times items.

>>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "page": ["c", "b", "a"]})
>>> have = Interactions.from_frame(clicks, user="user", item="page")
>>> have
Interactions: 3 of 2 users with 3 items, 1 to 2 items each
>>> have.start, have.item
(array([0, 2, 3]), array([0, 2, 1], dtype=int32))

A *triple* is a user, an item that the user has, and an item that the user does not have. It is one
comparison, won by the former item. There are ``n_triples`` triples; only small data allow you to
list them all.
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.derive.grouping import distinct_cells
from bayesrank.data.frozen import Frozen, label_at
from bayesrank.data.rankings import Rankings
from bayesrank.data.read.columns import finite_numbers, is_graded, layout
from bayesrank.data.read.labels import counted, encode, label_repr, locate, quoted, warn
from bayesrank.data.read.streams import Source, table_of

__all__ = [
    "Interactions",
    "RepeatedInteractionWarning",
    "UninformativeUserWarning",
]

MOST_CELLS = 20_000_000
"""The largest number of cells (users times items) or triples that are listed in full."""


class RepeatedInteractionWarning(UserWarning):
    """Some interactions occur more than once in a table; each counts once."""


class UninformativeUserWarning(UserWarning):
    """Some users have no item or all items, so their data contain no preference."""


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(Frozen):
    """Interactions of users with items, such as purchases or clicks: the items of each user.

    Use `from_frame`, `from_ratings` or `from_rankings`, which check their input. The constructor
    itself checks nothing. ``have[3]`` is the dict of one interaction, and ``have[:3]`` or
    ``have[mask]`` are interactions. Positions count from 0.

    Attributes
    ----------
    users, items : pandas.Index
        Axes, which may include users without items and items without users.
    start : array of int64, shape (n_users + 1,)
        Where the items of each user begin in `item`, and the end of the last.
    item : array of int32, shape (n_interactions,)
        Position on `items`, ascending within a user.

    See Also
    --------
    BPR, Rankings, recommendation_metrics

    Examples
    --------
    >>> import pandas as pd
    >>> import bayesrank as br
    >>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "page": ["c", "b", "a"]})
    >>> br.Interactions.from_frame(clicks, user="user", item="page")
    Interactions: 3 of 2 users with 3 items, 1 to 2 items each
    """

    AXES: ClassVar = {"user": ("users", ("user_idx",)), "item": ("items", ("item",))}

    ROW: ClassVar = "interaction"

    users: pd.Index
    items: pd.Index
    start: NDArray[np.int64]
    item: NDArray[np.int32]

    # Constructors

    @classmethod
    def from_frame(
        cls,
        frame: Source,
        *,
        user: str | None = None,
        item: str | None = None,
        users: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table in which each row is one interaction of a user with an item.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per interaction. Files are read as by `Rankings.from_ratings`.
        user, item : str
            Columns. Without names, those that `to_frame` writes are read.
        users, items : sequence of labels, optional
            The axes; by default the labels of the table, sorted. They may include labels that are
            not in the table: users without items, and items without users.

        Raises
        ------
        ValueError
            If there are no rows, or a column or label is missing. Also if a user or an item is not
            on the given axis.

        Warns
        -----
        RepeatedInteractionWarning
            If several rows have the same user and item. They count once.
        UninformativeUserWarning
            If a user has all items. Such users are kept and contribute nothing.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "page": ["c", "b", "a"]})
        >>> have = br.Interactions.from_frame(clicks, user="user", item="page", items=[*"abcd"])
        >>> have.items_of("Ann").tolist(), have.items.tolist()
        (['a', 'c'], ['a', 'b', 'c', 'd'])
        """
        names, _ = layout({"user": user, "item": item}, ("user", "item"))
        user, item = names["user"], names["item"]
        frame = table_of(frame, "interactions", labels=[user, item])
        user_idx, user_axis = encode(frame[user], users, user, "user")
        item_idx, item_axis = encode(frame[item], items, item)
        codes = [user_idx, item_idx]
        del frame, user_idx, item_idx
        return cls._from_codes(user_axis, item_axis, codes)

    @classmethod
    def from_ratings(
        cls,
        frame: Source,
        *,
        user: str,
        item: str,
        rating: str,
        at_least: float | str,
        users: Iterable[Hashable] | None = None,
        items: Iterable[Hashable] | None = None,
    ) -> Self:
        """Read a table of ratings; a rating of at least `at_least` is an interaction.

        Parameters
        ----------
        frame : table, path, list of paths, or pyarrow.dataset.Dataset
            One row per rating. Files are read as by `Rankings.from_ratings`.
        user, item, rating : str
            Columns.
        at_least : float, or category
            The lowest rating that counts as an interaction, such as "good" for ratings that are
            ordered categories. All users and items of the table stay
            on the axes.
        users, items : sequence of labels, optional
            The axes; by default the labels of the table, sorted.

        Raises
        ------
        ValueError
            For the reasons given in `from_frame`, if a rating is not a finite number, or if no
            rating is high enough.

        Warns
        -----
        RepeatedInteractionWarning, UninformativeUserWarning
            As in `from_frame`; the latter also if a user has no rating that is high enough.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> stars = pd.DataFrame({"user": [7, 7, 9], "movie": ["b", "a", "a"], "stars": [5, 2, 4]})
        >>> have = br.Interactions.from_ratings(
        ...     stars, user="user", item="movie", rating="stars", at_least=4
        ... )
        >>> have.items_of(7).tolist(), have.items_of(9).tolist()
        (['b'], ['a'])
        """
        frame = table_of(frame, "interactions", labels=[user, item], numbers=[rating])
        user_idx, user_axis = encode(frame[user], users, user, "user")
        item_idx, item_axis = encode(frame[item], items, item)
        given = finite_numbers(frame, rating, "rating")
        if is_graded(frame[rating]):
            scale, shown = frame[rating].cat.categories, label_repr(at_least)
            wanted = pd.Index([at_least], dtype=object)
            high = given > locate(wanted, scale, "grade")[0]  # numbers of grades begin at 1
            largest = label_repr(scale[int(given.max()) - 1])
        elif isinstance(at_least, str):
            raise ValueError(
                f"`at_least` must be a number, as the ratings in column {rating!r} are; got "
                f"{at_least!r}."
            )
        else:
            high, shown, largest = given >= at_least, f"{at_least:g}", f"{given.max():g}"
        if not high.any():
            raise ValueError(
                f"No rating is {shown} or more: the largest in column {rating!r} is {largest}. "
                f"Lower at_least."
            )
        rated, has_items = np.zeros((2, len(user_axis)), dtype=bool)
        rated[user_idx] = has_items[user_idx[high]] = True
        lost = user_axis[rated & ~has_items]
        if len(lost):
            warn(
                f"{counted(len(lost), 'user')} ({quoted(lost, 3)}) gave no rating of "
                f"{shown} or more. Such users are kept without items.",
                UninformativeUserWarning,
            )
        return cls._from_codes(user_axis, item_axis, [user_idx[high], item_idx[high]])

    @classmethod
    def from_rankings(cls, rankings: Rankings) -> Self:
        """Convert rankings with two blocks: the items that the ranker has, above all others.

        Each ranker must have one ranking, which contains all items.

        Raises
        ------
        ValueError
            If a ranking does not have two blocks or lacks an item, a ranker ranked twice, or a
            weight is not 1.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"], ["b", {"a", "c"}]])
        >>> br.Interactions.from_rankings(r).item
        array([0, 1, 1], dtype=int32)
        """
        used = rankings.mask.sum(axis=1)
        n_blocks = rankings.ranks.max(axis=1)
        again = pd.Index(rankings.ranker_idx).duplicated()
        cases = (
            (
                n_blocks > 2,
                f"has {n_blocks[(n_blocks > 2).argmax()]} blocks, but interactions need two: the "
                "items that the user has, and the others. For ratings, choose a threshold: "
                "Interactions.from_ratings(frame, user=..., item=..., "
                "rating=..., at_least=...).",
            ),
            (
                n_blocks < 2,
                "has one block, so the ranker may have all of its items or none. Remove it with "
                "rankings.subset().",
            ),
            (
                used < rankings.n_items,
                f"does not contain all of the {counted(rankings.n_items, 'item')}, so the ranker "
                f"may or may not have the others. Use PlackettLuce for such rankings, or rank "
                f"the others last with Rankings.from_orderings(..., rest=...).",
            ),
            (again, "is the second one by its ranker. Merge the two."),
            (
                rankings.weight != 1,
                "has a weight other than 1, which interactions do not support. Set it to 1.",
            ),
            (
                rankings.count != 1,
                "has a count other than 1, but each user has a separate row in interactions. Use "
                "rankings.expand().",
            ),
        )
        for broken, fault in cases:
            if broken.any():
                raise ValueError(
                    f"Ranking {label_repr(rankings.labels[int(broken.argmax())])} {fault}"
                )
        row, slot = np.nonzero(rankings.ranks == 1)
        codes = [rankings.ranker_idx[row], rankings.item[row, slot]]
        return cls._from_codes(rankings.rankers, rankings.items, codes)

    @classmethod
    def _from_codes(cls, users: pd.Index, items: pd.Index, codes: list[NDArray[Any]]) -> Self:
        """Build the table from the users and items of the interactions, in any order.

        The list `codes` is emptied, which frees memory early for large data.
        """
        user_idx, item_idx = codes
        codes.clear()
        start, (item,), _ = distinct_cells(user_idx, [item_idx], [len(items)], len(users), None)
        n_rows = len(item_idx)
        del user_idx, item_idx
        item = item.astype(np.int32, copy=False)
        n_again = n_rows - len(item)
        if n_again:
            warn(
                f"{counted(n_again, 'row')} of {n_rows} repeat an earlier interaction. Each "
                f"interaction counts once.",
                RepeatedInteractionWarning,
            )
        table = cls(users=users, items=items, start=start, item=item)
        full = users[np.diff(start) == len(items)]
        if len(full):
            warn(
                f"{counted(len(full), 'user')} with all {counted(len(items), 'item')} "
                f"({quoted(full, 3)}) prefer no item to another. Such users "
                f"are kept and contribute nothing.",
                UninformativeUserWarning,
            )
        return table

    # Sizes and conversions

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def n_interactions(self) -> int:
        """Number of interactions."""
        return len(self.item)

    @property
    def n_items_of_user(self) -> NDArray[np.int64]:
        """Number of items of each user, (n_users,)."""
        return np.diff(self.start)

    @property
    def n_triples(self) -> int:
        """Number of triples: a user, an item of the user, and another item."""
        n = self.n_items_of_user
        return int(n @ (self.n_items - n))

    @property
    def user_idx(self) -> NDArray[np.int32]:
        """User of each interaction, (n_interactions,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.n_items_of_user)

    def _on_axes(self, values: dict[str, Any]) -> Self:
        user_idx = values.pop("user_idx", self.user_idx)
        new = replace(self, **values)
        size = [new.n_items]
        start, (item,), _ = distinct_cells(user_idx, [new.item], size, new.n_users, None)
        return replace(new, start=start, item=item)

    def items_of(self, user: Hashable) -> pd.Index:
        """Return the labels of one user's items.

        Raises
        ------
        ValueError
            If the user is unknown.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "item": ["c", "b", "a"]})
        >>> br.Interactions.from_frame(clicks).items_of("Ann").tolist()
        ['a', 'c']
        """
        wanted = pd.Index([user], tupleize_cols=False)
        u = int(locate(wanted, self.users, "user")[0])
        return self.items.take(self.item[self.start[u] : self.start[u + 1]])

    def to_frame(self) -> pd.DataFrame:
        """Return a table with one row per interaction, which `from_frame` reads back.

        For users and items in another order or without interactions, write ``users=have.users`` and
        ``items=have.items``.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([["b", "a"], ["a", "b"]])
        >>> have = br.Interactions.from_rankings(r)
        >>> have.to_frame()
           user item
        0     0    b
        1     1    a
        """
        columns = {"user": self.users.take(self.user_idx), "item": self.items.take(self.item)}
        return pd.DataFrame(columns)

    def to_matrix(self) -> NDArray[np.bool_]:
        """Return a Boolean matrix, (n_users, n_items): True where the user has the item.

        Raises
        ------
        ValueError
            If it has more than 20 million cells.

        Examples
        --------
        >>> import pandas as pd
        >>> import bayesrank as br
        >>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "item": ["c", "b", "a"]})
        >>> br.Interactions.from_frame(clicks).to_matrix()
        array([[ True, False,  True],
               [False,  True, False]])
        """
        self._check_small(self.n_users * self.n_items, "cells of users times items")
        cells = np.zeros((self.n_users, self.n_items), dtype=bool)
        cells[self.user_idx, self.item] = True
        return cells

    # Triples

    def all_triples(self) -> NDArray[np.int32]:
        """List up to 20 million triples, in ascending order.

        Returns
        -------
        array of int32, (n_triples, 3)
            Positions of the user, of one of the user's items, and of another item.

        Raises
        ------
        ValueError
            If there are more than 20 million triples.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"]])
        >>> br.Interactions.from_rankings(r).all_triples().tolist()
        [[0, 0, 2], [0, 1, 2]]
        """
        self._check_small(self.n_triples, "triples")
        has_not = ~self.to_matrix()
        listed = [
            np.stack(np.meshgrid([u], self.item[a:b], np.flatnonzero(has_not[u]), indexing="ij"))
            for u, (a, b) in enumerate(zip(self.start[:-1], self.start[1:], strict=True))
        ]
        return np.concatenate([x.reshape(3, -1).T for x in listed]).astype(np.int32)

    def sample_triples(self, n: int, *, random_seed: int | None = None) -> NDArray[np.int32]:
        """Draw `n` triples uniformly, with replacement.

        Returns
        -------
        array of int32, (n, 3)
            Rows as in `all_triples`.

        Raises
        ------
        ValueError
            If there are no triples: every user has all items or none.

        Examples
        --------
        >>> import bayesrank as br
        >>> r = br.Rankings.from_orderings([[{"a", "b"}, "c"]])
        >>> br.Interactions.from_rankings(r).sample_triples(3, random_seed=2).tolist()
        [[0, 1, 2], [0, 0, 2], [0, 0, 2]]
        """
        self.check_triples()
        rng = np.random.default_rng(random_seed)
        user_idx = self.user_idx
        known = user_idx * np.int64(self.n_items) + self.item
        tries = self.n_interactions * self.n_items / self.n_triples  # expected, per triple
        found = np.empty((0, 3), dtype=np.int32)
        while len(found) < n:
            # Rejected pairs are drawn again as pairs: drawing only a new item would favour the
            # triples of users with many items. Draw slightly more than the expected number.
            size = int(1.1 * (n - len(found)) * tries) + 10
            pick = rng.integers(self.n_interactions, size=size)
            other = rng.integers(self.n_items, size=size, dtype=np.int32)
            key = user_idx[pick] * np.int64(self.n_items) + other
            place = np.minimum(np.searchsorted(known, key), len(known) - 1)
            new = np.stack([user_idx[pick], self.item[pick], other], axis=1)[known[place] != key]
            found = np.concatenate([found, new[: n - len(found)]])
        return found

    def check_triples(self) -> None:
        """Raise a ValueError if there are no triples to learn from."""
        if not self.n_triples:
            raise ValueError(
                "There is nothing to learn: every user has all items or none. List all available "
                "items with items=."
            )

    def _check_small(self, n: int, unit: str) -> None:
        if n > MOST_CELLS:
            raise ValueError(
                f"There are {n:,} {unit}, but at most {MOST_CELLS:,} can be listed. Draw some with "
                f"sample_triples."
            )

    # Length and text

    def __len__(self) -> int:
        """Count the interactions."""
        return self.n_interactions

    def __repr__(self) -> str:
        """Summarise the table in one line."""
        n = self.n_items_of_user
        low, high = int(n.min()), int(n.max())
        size = counted(high, "item") if low == high else f"{low} to {counted(high, 'item')}"
        return (
            f"Interactions: {self.n_interactions} of {counted(self.n_users, 'user')} with "
            f"{counted(self.n_items, 'item')}, {size} each"
        )

    def _row(self, n: int) -> dict[str, Any]:
        user = int(np.searchsorted(self.start, n, side="right")) - 1
        return {"user": label_at(self.users, user), "item": label_at(self.items, self.item[n])}

    def _take(self, rows: NDArray[np.int64]) -> Self:
        rows = np.sort(rows)  # interactions are sorted
        return replace(self, start=np.searchsorted(rows, self.start), item=self.item[rows])
