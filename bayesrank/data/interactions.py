"""Interactions: which items a user has clicked, bought, watched; of the others nothing is known.

The items that a user has make a set without order. They are kept user by user, as the rows of a
sparse matrix are: those of user ``u`` are ``item[start[u]:start[u + 1]]``, in ascending order, so
that memory grows with the interactions and not with users times items.

>>> clicks = pd.DataFrame({"user": ["Ann", "Bo", "Ann"], "page": ["c", "b", "a"]})
>>> have = Interactions.from_frame(clicks, user="user", item="page")
>>> have
Interactions: 3 of 2 users with 3 items, 1 to 2 items each
>>> have.start, have.item
(array([0, 2, 3]), array([0, 2, 1], dtype=int32))

A *triple* is a user, an item the user has and an item the user has not: one comparison, in favour
of the former. There are ``n_triples`` of them, too many to list but for small data.
"""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from bayesrank.data.interaction_constructors import (
    InteractionConstructors,
    RepeatedInteractionWarning,
    UninformativeUserWarning,
    check_two_blocks,
)
from bayesrank.data.rankings import Rankings
from bayesrank.data.read.labels import coord_values, counted, locate

__all__ = [
    "Interactions",
    "RepeatedInteractionWarning",
    "UninformativeUserWarning",
    "check_two_blocks",
]

MOST_CELLS = 20_000_000
"""Users times items, or triples, up to which all of them are written out."""


@dataclass(frozen=True, eq=False, repr=False)
class Interactions(InteractionConstructors):
    """Which items each user has.

    Made by `from_frame`, `from_ratings` or `from_rankings`, which check; the fields themselves are
    trusted.

    Attributes
    ----------
    users, items : pandas.Index
        Axes. There may be users without items, and items without users.
    start : array of int64, shape (n_users + 1,)
        Where the items of each user begin, and where the last ones end.
    item : array of int32, shape (n_interactions,)
        Position on `items`, ascending within a user.
    """

    # What there is

    @property
    def n_users(self) -> int:
        """Number of users."""
        return len(self.users)

    @property
    def n_items(self) -> int:
        """Number of items."""
        return len(self.items)

    @property
    def n_interactions(self) -> int:
        """Number of interactions."""
        return len(self.item)

    @property
    def n_items_of_user(self) -> NDArray[np.int64]:
        """How many items each user has, (n_users,)."""
        return np.diff(self.start)

    @property
    def n_triples(self) -> int:
        """Number of triples: user, an item the user has, an item the user has not."""
        n = self.n_items_of_user
        return int(n @ (self.n_items - n))

    @property
    def user_idx(self) -> NDArray[np.int32]:
        """Whose each interaction is, (n_interactions,)."""
        return np.repeat(np.arange(self.n_users, dtype=np.int32), self.n_items_of_user)

    @property
    def coords(self) -> dict[str, NDArray[Any]]:
        """Coordinates for ``pm.Model(coords=...)``: user and item."""
        return {"user": coord_values(self.users), "item": coord_values(self.items)}

    def items_of(self, user: Hashable) -> pd.Index:
        """Labels of the items of one user.

        Parameters
        ----------
        user : label
            One of `users`.

        Returns
        -------
        pandas.Index

        Raises
        ------
        ValueError
            If there is no such user.

        Examples
        --------
        >>> r = Rankings.from_orderings([[{"a", "b"}, "c"]], rankers=["Ann"])
        >>> Interactions.from_rankings(r).items_of("Ann").tolist()
        ['a', 'b']
        """
        wanted = pd.Index([user], tupleize_cols=False)
        u = int(locate(wanted, self.users, "user")[0])
        return self.items.take(self.item[self.start[u] : self.start[u + 1]])

    def to_matrix(self) -> NDArray[np.bool_]:
        """Write all cells out, for small data.

        Returns
        -------
        array of bool, (n_users, n_items)

        Raises
        ------
        ValueError
            Beyond 20 million cells.

        Examples
        --------
        >>> r = Rankings.from_orderings([[{"a", "b"}, "c"]])
        >>> Interactions.from_rankings(r).to_matrix()
        array([[ True,  True, False]])
        """
        self._check_small(self.n_users * self.n_items, "cells of users times items")
        cells = np.zeros((self.n_users, self.n_items), dtype=bool)
        cells[self.user_idx, self.item] = True
        return cells

    def to_rankings(self) -> Rankings:
        """Rank what a user has over what the user has not, for small data.

        Returns
        -------
        Rankings
            One ranking of all items per user. Those of users with no item or with all of them have
            one block, of which Rankings warns.

        Raises
        ------
        ValueError
            Beyond 20 million cells of users times items.

        Examples
        --------
        >>> clicks = pd.DataFrame({"user": [7, 9], "page": ["b", "a"]})
        >>> Interactions.from_frame(clicks, user="user", item="page").to_rankings().ranks
        array([[1, 2],
               [1, 2]], dtype=int32)
        """
        have = self.to_matrix()
        alike = have.all(axis=1) | ~have.any(axis=1)
        return Rankings(
            np.broadcast_to(np.arange(self.n_items), have.shape),
            np.where(have | alike[:, None], 1, 2),
            items=self.items,
            rankers=self.users,
        )

    # Triples

    def all_triples(self) -> NDArray[np.int32]:
        """List all triples, for small data.

        Returns
        -------
        array of int32, (n_triples, 3)
            User, an item the user has, an item the user has not: positions, in ascending order.

        Raises
        ------
        ValueError
            Beyond 20 million triples.

        Examples
        --------
        >>> r = Rankings.from_orderings([[{"a", "b"}, "c"]])
        >>> Interactions.from_rankings(r).all_triples().tolist()
        [[0, 0, 2], [0, 1, 2]]
        """
        self._check_small(self.n_triples, "triples")
        has_not = ~self.to_matrix()
        listed = [
            np.stack(np.meshgrid([u], self.item[a:b], np.flatnonzero(has_not[u]), indexing="ij"))
            for u, (a, b) in enumerate(zip(self.start[:-1], self.start[1:], strict=True))
        ]
        return np.concatenate([x.reshape(3, -1).T for x in listed]).astype(np.int32)

    def sample_triples(self, n: int, *, seed: int) -> NDArray[np.int32]:
        """Draw triples, each of `n_triples` with the same probability, with replacement.

        Parameters
        ----------
        n : int
            How many.
        seed : int
            Of the generator.

        Returns
        -------
        array of int32, (n, 3)
            User, an item the user has, an item the user has not: positions.

        Raises
        ------
        ValueError
            If there are no triples: every user has all items or none.

        Notes
        -----
        An interaction and an item at random; where the user has the item, both are drawn anew.
        Drawing the item alone anew would favour the triples of users who have many.

        Examples
        --------
        >>> r = Rankings.from_orderings([[{"a", "b"}, "c"]])
        >>> Interactions.from_rankings(r).sample_triples(3, seed=2).tolist()
        [[0, 1, 2], [0, 0, 2], [0, 0, 2]]
        """
        self.check_triples()
        rng = np.random.default_rng(seed)
        user_idx = self.user_idx
        known = user_idx * np.int64(self.n_items) + self.item
        found = np.empty((0, 3), dtype=np.int32)
        while len(found) < n:
            # as many as should do, and a few
            size = int(1.1 * (n - len(found)) * self._n_tries_per_triple) + 10
            pick = rng.integers(self.n_interactions, size=size)
            other = rng.integers(self.n_items, size=size, dtype=np.int32)
            key = user_idx[pick] * np.int64(self.n_items) + other
            place = np.minimum(np.searchsorted(known, key), len(known) - 1)
            new = np.stack([user_idx[pick], self.item[pick], other], axis=1)[known[place] != key]
            found = np.concatenate([found, new[: n - len(found)]])
        return found

    @property
    def _n_tries_per_triple(self) -> float:
        return self.n_interactions * self.n_items / self.n_triples

    def check_triples(self) -> None:
        """Raise a ValueError if there are no triples, and so nothing to learn from."""
        if not self.n_triples:
            raise ValueError(
                "There is nothing to learn: every user has all items or none. Name the items that "
                "could be had with items=."
            )

    def _check_small(self, n: int, what: str) -> None:
        if n > MOST_CELLS:
            raise ValueError(
                f"There are {n:,} {what}; up to {MOST_CELLS:,} are written out. Draw some with "
                f"sample_triples."
            )

    def __len__(self) -> int:
        """Count the interactions."""
        return self.n_interactions

    def __repr__(self) -> str:
        """Say in a line how much of what there is."""
        n = self.n_items_of_user
        low, high = int(n.min()), int(n.max())
        each = counted(high, "item") if low == high else f"{low} to {counted(high, 'item')}"
        return (
            f"Interactions: {self.n_interactions} of {counted(self.n_users, 'user')} with "
            f"{counted(self.n_items, 'item')}, {each} each"
        )
