"""The readers of tables: one function each for rankings, matches, choices and scores."""

from collections.abc import Mapping
from typing import Any, Literal

from bayesrank.data import Pairs, Rankings
from bayesrank.tables.ballots import Listed
from bayesrank.tables.dispatch import columns_of, read
from bayesrank.tables.look import look
from bayesrank.tables.opening import is_orders, open_orders, open_table
from bayesrank.tables.scores import Ropes
from bayesrank.tables.select import Rename, Texts, Where
from bayesrank.tables.words import spelled

__all__ = ["read_choices", "read_matches", "read_rankings", "read_scores"]

LOOKING = ("missing", "empty", "decimal", "where", "rename", "merge")  # arguments of `look`


def read_rankings(
    source: Any,
    *,
    ranker: str | None = None,
    item: str | None = None,
    rating: str | None = None,
    rank: str | None = None,
    result: str | None = None,
    ranking: Texts = (),
    wide: Literal["ranks", "ratings", "results", "places"] | None = None,
    ballot: str | None = None,
    between: str | None = None,
    listed: Listed = None,
    column: Texts = (),
    count: str | None = None,
    weight: str | None = None,
    category: str | None = None,
    group: str | None = None,
    date: str | None = None,
    day_first: bool | None = None,
    last_block: Texts = (),
    missing: Literal["drop", "last", "refuse"] | None = None,
    empty: Texts = (),
    encoding: str | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: int | None = None,
    where: Where = (),
    rename: Rename = None,
    merge: bool = False,
) -> Rankings:
    """Read rankings, ratings, results or ballots from any table.

    Labels are text as it is written. A direction is never guessed: `rating` is high for good items,
    `rank` and `result` are low. What else can be read in two ways is refused; the message names
    both readings and the arguments for each.

    Parameters
    ----------
    source : path, address, "-", DataFrame, or list of dicts
        A file (text, Excel, JSON or Parquet, also compressed; PrefLib, BLT or Condorcet election
        format), a folder of tables, an address, or standard input ("-"). Or a table of pandas,
        polars or pyarrow.
    ranker : str, optional
        Column that says who ranks: a user, a race or a judge. ``"year+round"`` joins two columns.
    item : str, optional
        Column of the items, if each row is a ranker and an item. With `wide`, each row is an item
        and each column a ranker.
    rating, rank, result : str, optional
        Column of numbers: ratings (high is good), ranks (1 is best), or results where low is good,
        such as times or strokes.
    ranking : str or list of str, optional
        Columns that separate the rankings of one ranker.
    wide : "ranks", "ratings", "results" or "places", optional
        Each row is a ranking, with one column per item or, for places, one column per place.
    ballot : str, optional
        Column with a whole ranking in each cell, such as ``a > b = c``, ``a, b, c`` or a list.
    between : str, optional
        Sign between the items of a ballot; found if it is ``>`` or a comma.
    listed : "ranked" or "ticked", optional
        What a list in a cell means: items best first, or one block of ticked items.
    column : str or list of str
        With `wide`, the columns of items, places or rankers: names, patterns such as ``"film*"``,
        or numbers such as ``"8-13"``. By default all others.
    count : str, optional
        Column with the number of independent rankings that a row stands for, such as ballots cast:
        whole numbers, 0 or more. Without `ranker`, these are rankings by different rankers.
    weight : str, optional
        Column with sampling weights, as of a survey. A weight multiplies the log-likelihood of a
        ranking, and is not a number of rankings.
    category, group, date : str, optional
        Columns that become the groups "category", "cluster" and "date" of the rankings.
    day_first : bool, optional
        Whether the day of a date such as 03.04.2024 comes first; needed if no date tells it.
    last_block : str or list of str
        Codes of items that come last together, such as DNF.
    missing : "drop", "last" or "refuse", optional
        What an entry without a value means, or an item that a ballot omits: it was not presented
        ("drop"), or it comes last.
    empty : str or list of str
        Codes to read as empty cells.
    encoding, separator, decimal, header : optional
        How a text file is written. By default, the encoding, the sign between columns, the decimal
        mark, and the line of the header (0: none) are found.
    where : str, list of str, or mapping
        Rows to use, such as ``"season=2025"``, ``"season!=2025"`` or ``{"season": 2025}``.
    rename : str, list of str, or mapping
        New names of columns, such as ``"old=new"``.
    merge : bool
        Whether labels that differ only in case or accents are one.

    Returns
    -------
    Rankings
        ``notes`` says what was read, and every change.

    Raises
    ------
    TableError
        If the table cannot be read as asked, or in two ways. ``remedies`` lists arguments that
        help.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    look, read_matches, read_choices, Rankings

    Examples
    --------
    >>> import bayesrank as br
    >>> votes = [{"vote": "ale > bock"}, {"vote": "bock > ale = cider"}, {"vote": "bock"}]
    >>> rankings = br.read_rankings(votes, ballot="vote", missing="last")
    >>> list(rankings[:1])
    [['ale', 'bock', 'cider']]
    >>> print(*rankings.notes)
    Items that a ballot does not name are placed last in it, in one block: 3 in all.
    """
    return _read("read_rankings", source, locals())


def read_matches(
    source: Any,
    *,
    first: str | None = None,
    second: str | None = None,
    outcome: str | None = None,
    grade: str | None = None,
    grades: Texts = (),
    probability: str | None = None,
    winner: str | None = None,
    loser: str | None = None,
    score_a: str | None = None,
    score_b: str | None = None,
    margins: bool = False,
    wins_a: str | None = None,
    wins_b: str | None = None,
    ties: str | None = None,
    matrix: bool = False,
    pair: Texts = (),
    first_wins: Texts = (),
    second_wins: Texts = (),
    tie: Texts = (),
    both_bad: Texts = (),
    count: str | None = None,
    weight: str | None = None,
    judge: str | None = None,
    prompt: str | None = None,
    kind: str | None = None,
    machines: Texts = (),
    category: str | None = None,
    feature: Texts | Mapping[str, str | tuple[str, str]] = (),
    group: Texts = (),
    neutral: str | None = None,
    order: bool = True,
    date: str | None = None,
    day_first: bool | None = None,
    missing: Literal["drop", "last", "refuse"] | None = None,
    empty: Texts = (),
    encoding: str | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: int | None = None,
    where: Where = (),
    rename: Rename = None,
    merge: bool = False,
) -> Pairs:
    """Read matches or other comparisons of two items from any table.

    Codes of outcomes are read only if one table of codes has all of them. Some of these tables are
    first, second and tie; 1, 0 and 0.5; 1, -1 and 0; 1, 2 and x. Others are W, L and D; home, away
    and draw; left and right; 1-0, 0-1 and ½-½. Cells may also be the name of the winner, or two
    scores such as 2-1. Say what other codes mean with `first_wins`, `second_wins` and `tie`.

    Parameters
    ----------
    source : path, address, "-", DataFrame, or list of dicts
        As in `read_rankings`.
    first, second : str, optional
        Columns of the two items, such as home and away. ``"type+level"`` joins two columns.
    outcome : str, optional
        Column of the outcome.
    grade : str, optional
        Column of ordered grades instead of `outcome`, such as A>>B, A>B, A=B.
    grades : str or list of str, optional
        All possible grades, from the best for the first item to the best for the second, as a list
        or separated by commas. The middle one of an odd number is a tie. The order of the verdicts
        A>>B, A>B, A=B, B>A and B>>A is known, also in double brackets, as in [[A>>B]].
    probability : str, optional
        Column with the probability that the first item is better, as a judge states it, instead of
        `outcome`. The vote is a win of the first with weight p and a win of the second with weight
        1 - p. Both count as one match.
    winner, loser : str, optional
        Columns of the item that won and the item that lost, instead of `first` and `second`. With
        `first` and `second`, `winner` is a column with the name of one of them.
    score_a, score_b : str, optional
        Columns of the scores of the first and the second item, instead of `outcome`.
    margins : bool
        Whether to read the differences of the scores as grades: +1, +2, and so on. By default only
        the winner counts.
    wins_a, wins_b, ties : str, optional
        Columns that count the wins of the first item, those of the second, and the ties, if a row
        is several matches.
    matrix : bool
        Whether the table is a square matrix: how often the item of the row beat the item of the
        column. The diagonal is empty or zero. A column may name the rows.
    pair : str or list of str
        Columns with the outcomes of one pair each, such as V12 for the items 1 and 2; each row is a
        judge. Names, patterns or numbers of columns.
    first_wins, second_wins, tie : str or list of str
        Codes of outcomes.
    both_bad : str or list of str
        Codes in `outcome` that say that neither item is good enough. They become an outcome of its
        own (`GroundedRaoKupper`). By default, known codes such as "tie (bothbad)" count as ties.
    count : str, optional
        Column with the number of times that the match occurred.
    weight : str, optional
        Column with evidence weights of the matches, 0 or more. A weight multiplies the
        log-likelihood of a match, and is not a number of matches.
    judge : str, optional
        Column of the judges.
    prompt : str, optional
        Column of the prompts, if judges saw the same two items for the same prompt in both orders.
        Such votes get one label of the group "swap", and `leaderboard_model` joins them.
    kind : str, optional
        Column with the kind of each judge, such as human or llm, which becomes the group "kind",
        for the `target` of `leaderboard_model`.
    machines : str or list of str
        Instead of `kind`, the names of the judges that are machines. The group "kind" then has the
        labels "people" and "machines".
    category : str, optional
        Column that becomes the group "category".
    feature : list of str, or mapping
        Columns that differ between the items: ``"length_a,length_b"``, or one column with the
        difference. A mapping names the features.
    group : str or list of str
        Columns of labels whose matches are not independent, such as the prompt.
    neutral : str, optional
        Column that says whether the first item has no advantage; it becomes the group "neutral".
    order : bool
        Whether the first item may have an advantage. If not, the items are sorted by name.
    date : str, optional
        Column that becomes the group "date". Matches without an outcome that are dated after all
        others are left out, because they have not been played.
    missing : "drop" or "refuse", optional
        What to do about a match without an outcome or a label. By default it is refused.
    day_first, empty, encoding, separator, decimal, header, where, rename, merge : optional
        As in `read_rankings`.

    Returns
    -------
    Pairs
        ``notes`` says what was read, and every change.

    Raises
    ------
    TableError
        If the table cannot be read as asked, or in two ways. ``remedies`` lists arguments that
        help.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    look, read_rankings, read_choices, Pairs

    Examples
    --------
    >>> import bayesrank as br
    >>> games = [{"home": "Fulham", "away": "Arsenal", "result": "H"}]
    >>> games += [{"home": "Arsenal", "away": "Everton", "result": "D"}]
    >>> games += [{"home": "Everton", "away": "Fulham", "result": "A"}]
    >>> pairs = br.read_matches(games, first="home", second="away", outcome="result")
    >>> pairs
    Pairs: 3 pairs of 3 items by 1 judge, 3 matches (1 first, 1 second, 1 tie)
    >>> print(*pairs.notes)
    Column 'result' is read with H as the first wins, A as the second wins, D as a tie.
    """
    return _read("read_matches", source, locals())


def read_choices(
    source: Any,
    *,
    respondent: str | None = None,
    task: str | None = None,
    item: Texts = (),
    best: str | None = None,
    worst: str | None = None,
    codes: Texts = (),
    best_code: str | None = None,
    worst_code: str | None = None,
    counts: bool = False,
    positions: bool = False,
    several: bool = False,
    threshold: str | None = None,
    count: str | None = None,
    weight: str | None = None,
    category: str | None = None,
    missing: Literal["drop", "last", "refuse"] | None = None,
    empty: Texts = (),
    encoding: str | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: int | None = None,
    where: Where = (),
    rename: Rename = None,
    merge: bool = False,
) -> Rankings:
    """Read best-worst tasks (MaxDiff), or choices of one item, from any table.

    Parameters
    ----------
    source : path, address, "-", DataFrame, or list of dicts
        As in `read_rankings`.
    respondent : str
        Column that says who answers.
    task : str, optional
        Column of the tasks of a respondent. By default, each respondent has one task, or each row
        of a table with one row per task is one.
    item : str or list of str
        Column of the item shown, if each row is an item of a task. If each row is a task, the
        columns of the items shown: names, patterns such as ``"item_*"``, or numbers such as
        ``"4-8"``.
    best, worst : str, optional
        Columns of flags (1 or 0, x or empty). If each row is a task, columns of the item chosen.
    codes : str or list of str, optional
        One column with codes of each item instead: best, worst or empty, or 1, -1 or 0. Without
        `item`, the columns of a survey that has one row per respondent, such as ``"Q*"``. Each item
        of each task has a column; the last part of its name is the item, the rest the task.
    best_code, worst_code : str, optional
        Codes of the best and the worst item, if they are others, such as 2 and 1 of Qualtrics.
    counts : bool
        Whether each row is a set of items shown, and each column an item. A cell counts how often
        its item was chosen, and is empty if it was not shown.
    positions : bool
        Whether `best` and `worst` are positions 1, 2, ... of the items.
    several : bool
        Whether a task may have several best or worst items.
    threshold : str, optional
        Column with the answer to a further question: do all, some or none of these items matter?
    count, weight, category : str, optional
        As in `read_rankings`.
    missing : "drop" or "refuse", optional
        What to do about a task without an answer. By default it is refused.
    empty, encoding, separator, decimal, header, where, rename, merge : optional
        As in `read_rankings`.

    Returns
    -------
    Rankings
        One ranking per task: best item, middle, worst item. ``notes`` says what was read, and every
        change.

    Raises
    ------
    TableError
        If the table cannot be read as asked, or in two ways. ``remedies`` lists arguments that
        help.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    look, read_rankings, read_matches, Rankings.from_best_worst, Rankings.from_choices

    Examples
    --------
    >>> import bayesrank as br
    >>> tasks = [{"id": 7, "a": "tea", "b": "milk", "c": "cola", "best": "milk", "worst": "cola"}]
    >>> tasks += [{"id": 8, "a": "tea", "b": "cola", "c": "milk", "best": "tea", "worst": "cola"}]
    >>> list(br.read_choices(tasks, respondent="id", item="2-4", best="best", worst="worst"))
    [['milk', 'tea', 'cola'], ['tea', 'milk', 'cola']]
    """
    return _read("read_choices", source, locals())


def read_scores(
    source: Any,
    *,
    item: str | None = None,
    case: str | None = None,
    score: str | None = None,
    column: Texts = (),
    fold: str | None = None,
    rope: Ropes = 0.0,
    lower_is_better: Texts = (),
    higher_is_better: Texts = (),
    weight: str | None = None,
    family: str | None = None,
    missing: Literal["drop", "last", "refuse"] | None = None,
    empty: Texts = (),
    encoding: str | None = None,
    separator: str | None = None,
    decimal: Literal[".", ","] | None = None,
    header: int | None = None,
    where: Where = (),
    rename: Rename = None,
    merge: bool = False,
) -> Rankings:
    """Read scores of items in several cases, such as models on tasks, from any table.

    Each case and fold becomes a ranking. `Rankings.from_scores` states how the rope makes blocks,
    and how folds share the weight of their case. High scores are good, except in the cases of
    `lower_is_better`. The direction is never guessed from numbers. A name such as *error*
    or *time* suggests that low scores are good, so such a case must be in one of the two lists.

    Parameters
    ----------
    source : path, address, "-", DataFrame, or list of dicts
        As in `read_rankings`.
    item, case, score : str, optional
        Columns. Without `score`, the table is wide. With only `item`, each row is an item and each
        other column a case. With only `case`, it is the reverse.
    column : str or list of str
        Columns of the scores of a wide table: names, patterns such as ``"task*"``, or numbers such
        as ``"2-40"``. By default all others.
    fold : str, optional
        Column of the folds, seeds or repetitions of a case.
    rope : float, str, list of str, mapping, or function
        Largest difference of two scores without practical meaning, 0 or more. A text such as
        ``"mnli=0.02"`` is the rope of one case. A mapping has one for each case. A function gets
        the array of all scores of a case.
    lower_is_better, higher_is_better : str or list of str
        Cases by their direction: names, or patterns such as ``"*error"``.
    weight : str, optional
        Column with the sampling weight of the case.
    family : str, optional
        Column of the families of cases, which are not independent, such as variants of one data
        set. It becomes the group "cluster" of the rankings.
    missing : "drop" or "refuse", optional
        What to do about an empty cell. By default the item was not run, so it is not in the
        ranking. With "drop", rows without a label are also left out.
    empty, encoding, separator, decimal, header, where, rename, merge : optional
        As in `read_rankings`.

    Returns
    -------
    Rankings
        One ranking per case and fold; the cases are the rankers. ``notes`` says what was read. It
        counts the equivalent pairs and the missing scores.

    Raises
    ------
    TableError
        If the table cannot be read as asked, or in two ways. ``remedies`` lists arguments that
        help.
    FileNotFoundError
        If there is no such file.

    See Also
    --------
    look, read_rankings, Rankings.from_scores

    Examples
    --------
    >>> import bayesrank as br
    >>> table = [{"model": "a", "qa": 0.71, "error": 3}, {"model": "b", "qa": 0.72, "error": 2}]
    >>> rankings = br.read_scores(table, item="model", rope="qa=0.005", lower_is_better="error")
    >>> list(rankings)
    [['b', 'a'], ['b', 'a']]
    >>> print(rankings.notes[0])
    Low scores are good in 'error'. High scores are good in the others, 1 of 2 cases.
    """
    return _read("read_scores", source, locals())


def _read(function: str, source: Any, given: dict[str, Any]) -> Any:
    """Open a source, and read it; without columns, by the only form that fits."""
    arguments = {name: value for name, value in given.items() if name != "source"}
    opening = {name: arguments.pop(name) for name in ("encoding", "separator", "header")}
    if is_orders(source):
        orders = open_orders(source, listed=arguments.get("listed"))
        return read(function, orders, arguments)
    table = open_table(source, **opening)
    if not columns_of(function, arguments).given:
        selecting = {name: x for name, x in arguments.items() if name in LOOKING}
        fit = look(table, **selecting).only(function)
        data = read(function, table, {**arguments, **fit.arguments})
        first = f"Only one form fits {table.name}: {spelled(**fit.arguments)}."
        return data._with(notes=(first, *data.notes))
    return read(function, table, arguments)
