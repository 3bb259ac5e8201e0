"""Guards around the methods of a stage, whoever calls them: a turn, a task or another stage.

* An exit that a stage raises, such as `sys.exit` or a library's CancelledError, becomes an error
  with the stage, its plugin, the file and the line. It costs the turn, the cell or the request.
* Scores, hits, vectors and labels are checked: their types, their number, and that each number is
  finite. Otherwise the stage that sorts by them would be blamed, or nobody.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, wraps
from typing import Any

from convrag.api import stage as base_stages, stages as kinds
from convrag.api.errors import StageFault
from convrag.api.passages import Candidates, Hit, Ranking
from convrag.api.stage import Stage
from convrag.concurrency.exits import is_failure
from convrag.turn.defects import (
    check_hits,
    check_result,
    check_scores,
    explain_error,
    make_error,
    make_number_error,
)

_INTERFACE = (base_stages.__name__, kinds.__name__)
"""The modules whose classes say which methods a stage has."""


def guard_stage(stage: Stage) -> None:
    """Put guards around the methods of a stage object that its kind of stage declares."""
    for name in _list_methods(type(stage)):
        method = _guard_exits(stage, name, _bind_late(stage, name))
        if name in _CHECKS:
            method = _guard_result(stage, name, method)
        setattr(stage, name, method)


@cache
def _list_methods(cls: type[Stage]) -> tuple[str, ...]:
    """List the public methods that the kinds of a stage declare, without class methods."""
    names: dict[str, None] = {}
    for kind in cls.__mro__:
        if kind.__module__ in _INTERFACE:
            names |= {
                name: None for name, member in vars(kind).items() if inspect.isfunction(member)
            }
    return tuple(name for name in names if not name.startswith("_"))


def _bind_late(stage: Stage, name: str) -> Callable[..., Any]:
    """Return a method that is looked up at each call: a test may replace it in the class."""
    method: Callable[..., Any] = getattr(stage, name)
    is_of_class = name not in vars(stage)
    if not is_of_class or not inspect.isfunction(inspect.getattr_static(type(stage), name)):
        return method

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        return getattr(type(stage), name)(stage, *args, **kwargs)

    return call


def _guard_exits(stage: Stage, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method raise StageFault instead of what would end the thread or the process."""

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            result = method(*args, **kwargs)
        except Exception:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            raise _make_exit_error(stage, name, error) from error
        return _iterate(stage, name, result) if inspect.isgenerator(result) else result

    return call


def _iterate(stage: Stage, name: str, items: Iterator[Any]) -> Iterator[Any]:
    """Yield the items of a method that is a generator; its exits are as those of other methods."""
    try:
        yield from items
    except (Exception, GeneratorExit):  # the latter: nobody wants more
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        raise _make_exit_error(stage, name, error) from error


def _make_exit_error(stage: Stage, method: str, error: BaseException) -> StageFault:
    return StageFault(f"{method} failed: {explain_error(error, stage)}")


Check = Callable[[Stage, str, Any, Any], Any]
"""Takes a stage, the name of a method, its result and an argument; returns the result."""


def _guard_result(stage: Stage, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """Let a method raise StageFault for a result that will not do."""
    check, position = _CHECKS[name]
    signature = inspect.signature(method)

    @wraps(method)
    def call(*args: Any, **kwargs: Any) -> Any:
        result = method(*args, **kwargs)
        in_order = signature.bind(*args, **kwargs).args  # a plugin may rename its parameters
        return check(stage, name, result, in_order[position])

    return call


def _check_scores(stage: Stage, method: str, result: Any, texts: Sequence[str]) -> Any:
    """Return the scores of a ranker. Raises StageFault unless there is a number for each text."""
    checked = check_scores(stage, result, len(texts), method)
    return checked if isinstance(result, Iterator) else result


def _check_hits(stage: Stage, method: str, result: Any, k: int) -> Any:
    """Return the hits of a retriever.

    Raises StageFault unless they are at most k different passages with scores.
    """
    hits = check_hits(stage, method, result)
    if len(hits) > k:
        problem = f"{method} returned {len(hits)} passages where at most {k} are wanted"
        raise make_error(stage, problem, method)
    _check_different(stage, method, hits)
    return list(hits) if isinstance(result, Iterator) else result


def _check_different(stage: Stage, method: str, hits: Sequence[Hit]) -> None:
    """Raise StageFault if a passage is there twice."""
    seen: set[str] = set()
    for hit in hits:
        if hit.passage.id in seen:
            problem = f"{method} returned the passage {hit.passage.id!r} twice"
            raise make_error(stage, problem, method)
        seen.add(hit.passage.id)


def _check_candidates(stage: Stage, method: str, result: Any, k: int) -> Any:
    """Return the candidates of a retriever.

    Raises StageFault unless they are different passages with scores, at most k of them hits.
    """
    check_result(stage, method, result, Candidates)
    hits = check_hits(stage, method, _check_hits(stage, method, result.hits, k))
    contenders = check_hits(stage, method, result.contenders)
    _check_different(stage, method, (*hits, *contenders))
    return Candidates(hits, contenders, result.trace)


def _check_ranking(stage: Stage, method: str, result: Any, hits: Sequence[Hit]) -> Any:
    """Return the ranking of a reranker. Raises StageFault unless there is a number for each hit."""
    check_result(stage, method, result, Ranking)
    scores = check_scores(stage, result.scores, len(hits), method)
    return Ranking(scores, result.trace, result.fallback)


def _check_vectors(stage: Stage, method: str, result: Any, texts: Sequence[str]) -> Any:
    """Return the vectors of an embedder. Raises StageFault unless there is one for each text."""
    return _check_rows(stage, method, result, len(texts), "vectors")


def _check_labels(stage: Stage, method: str, result: Any, texts: Sequence[str]) -> Any:
    """Return the labels of a clusterer. Raises StageFault unless there is one for each text."""
    return _check_rows(stage, method, result, len(texts), "labels")


def _check_rows(stage: Stage, method: str, result: Any, count: int, rows: str) -> Any:
    """Return an array, or what can be one, with a row of finite numbers for each text."""
    import numpy as np

    try:
        numbers = np.asarray(result)
    except (TypeError, ValueError):
        return result  # the store says what it cannot keep
    if numbers.dtype.kind == "f" and not np.isfinite(numbers).all():
        first = float(numbers[~np.isfinite(numbers)].flat[0])
        raise make_number_error(stage, method, first)
    if numbers.ndim and len(numbers) != count:
        raise make_error(
            stage, f"{method} returned {len(numbers)} {rows} for {count} texts", method
        )
    return result


_CHECKS: Mapping[str, tuple[Check, int]] = {
    "score": (_check_scores, 1),
    "score_for": (_check_scores, 1),
    "rank_hits": (_check_ranking, 1),
    "retrieve": (_check_hits, 1),
    "retrieve_for": (_check_hits, 2),
    "find_candidates": (_check_candidates, 2),
    "embed": (_check_vectors, 0),
    "cluster": (_check_labels, 0),
}
"""Method -> the check of its results, and the position of the texts, hits or k in its arguments."""
