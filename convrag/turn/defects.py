"""Defects of plugins' stages in words: the stage, its plugin, the file and the line.

What stages return is checked where it arrives, as it would fail later, in somebody else's code. A
number that is NaN is such a defect: it is neither less nor greater than another one, so whatever
sorts by it has an arbitrary order. `check_result` checks what a turn is given; `stage_guard` checks
scores and vectors whoever calls the stage, a turn or another stage.
"""

from collections.abc import Iterable, Mapping, Set
from math import isfinite, isnan
from typing import Any
from weakref import WeakKeyDictionary

from convrag.api.answers import Answer, PassageSpan, Support
from convrag.api.conversations import MemoryView, Turn
from convrag.api.errors import ConvragError, StageFault, find_package, locate_error, locate_function
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Candidates, Hit, Passage, Ranking, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.stage import Stage
from convrag.registry.option import Option

_origins: WeakKeyDictionary[Stage, tuple[str, Option]] = WeakKeyDictionary()
"""Stage -> the place where it was first chosen ("rewriter.embedder"), and its option."""


def set_origin(stage: Stage, place: str, option: Option) -> None:
    """Keep the option that a stage was built from, for messages."""
    _origins.setdefault(stage, (place, option))


def explain_error(error: BaseException, stage: Stage) -> str:
    """Describe an error of a stage's own: the error, the stage with its plugin, and the place.

    A ConvragError explains itself.
    """
    if isinstance(error, ConvragError):
        return str(error)
    place = locate_error(error, {find_package(type(stage)), *list_stage_packages()})
    return f"{type(error).__name__}: {error} ({_join(describe_stage(stage), place)})"


def explain_build_error(error: BaseException, option: Option) -> str:
    """Describe an error of an option's constructor, which leaves no stage."""
    place = locate_error(error, {find_package(option.cls)})
    kind = "" if isinstance(error, (TypeError, ValueError)) else f"{type(error).__name__}: "
    plugin = f"plugin {option.plugin!r} of {option.distribution}"
    return f"{kind}{error} ({_join(plugin, place)})"


def describe_stage(stage: Stage) -> str:
    """Name a stage with its plugin: "rewriter=mine, plugin 'acme' of acme-dist".

    A stage that was built by hand is named by its class.
    """
    if stage not in _origins:
        return f"{type(stage).__module__}.{type(stage).__qualname__}"
    place, option = _origins[stage]
    return f"{place}={option.name}, plugin {option.plugin!r} of {option.distribution}"


def make_error(stage: Stage, problem: str, method: str) -> StageFault:
    """Make the error for a defect of a stage, with the place of one of its methods."""
    place = locate_function(getattr(type(stage), method))
    return StageFault(f"{problem} ({_join(describe_stage(stage), place)})")


def _join(what: str, place: str) -> str:
    return f"{what}: {place}" if place else what


def check_type(stage: Stage, method: str, result: Any, wanted: type) -> Any:
    """Return what a method returned. Raises StageFault where it is of another type."""
    if isinstance(result, wanted):
        return result
    raise _make_type_error(stage, method, result, wanted.__name__)


def _make_type_error(stage: Stage, method: str, result: Any, wanted: str) -> StageFault:
    """Make the error for a result of another type; it is the same in each turn."""
    returned = "None" if result is None else _add_article(type(result).__name__)
    problem = f"{method} returned {returned}, which is not {_add_article(wanted)}"
    return make_error(stage, problem, method)


def _add_article(name: str) -> str:
    return f"an {name}" if name[0] in "aeiouAEIOU" else f"a {name}"


_NO_LISTS = (str, bytes, Set, Mapping)
"""Types that can be iterated over, and are not a list: they have no order of their own."""

_NOTES = {"fallback": str, "trace": Mapping}

_FIELDS: dict[type, dict[str, Any]] = {
    MemoryView: {"history": [Turn], **_NOTES},
    Turn: dict.fromkeys(("id", "question", "answer"), str),
    Rewrite: {"queries": [Query], **_NOTES},
    Query: {"text": str, "weight": float},
    SearchStep: {"queries": [Query], **_NOTES},
    Hit: {"passage": Passage, "score": float},
    Passage: dict.fromkeys(("id", "text", "title", "url"), str),
    Candidates: {"trace": Mapping},
    Ranking: _NOTES,
    Selection: {"hits": [Hit], **_NOTES},
    Evidence: {"items": [EvidenceItem], "trace": Mapping},
    EvidenceItem: {"passage": Passage, "text": str},
    Answer: {"text": str, "citations": [str], "trace": Mapping, "support": [Support]},
    Support: {"start": int, "end": int, "spans": [PassageSpan]},
    PassageSpan: {"passage_id": str, "start": int, "end": int},
}
"""Class -> the fields whose types are checked; a list holds the type of its items."""


def check_result(stage: Stage, method: str, result: Any, wanted: Any) -> Any:
    """Return what a method returned, checked with all that it holds.

    Args:
        stage: the stage whose method was called.
        method: its name.
        result: what it returned.
        wanted: the type that it should have; float for a number, which is returned as one; [type]
            for a collection, whose items are returned as a tuple.

    Raises:
        StageFault: something in it is of another type, or a number is not finite.
    """
    if isinstance(wanted, list):
        if isinstance(result, _NO_LISTS) or not isinstance(result, Iterable):
            raise _make_type_error(stage, method, result, f"list of {wanted[0].__name__}")
        return tuple(check_result(stage, method, item, wanted[0]) for item in result)
    if wanted is float:
        return _check_number(stage, method, result)
    check_type(stage, method, result, wanted)
    for name, kind in _FIELDS.get(wanted, {}).items():
        check_result(stage, method, getattr(result, name), kind)
    return result


def _check_number(stage: Stage, method: str, result: Any) -> float:
    if isinstance(result, str | bytes):
        raise _make_type_error(stage, method, result, "number")
    try:
        number = float(result)
    except (TypeError, ValueError, OverflowError) as error:
        raise _make_type_error(stage, method, result, "number") from error
    if not isfinite(number):
        raise make_number_error(stage, method, number)
    return number


def make_number_error(stage: Stage, method: str, number: float) -> StageFault:
    """Make the error for a number that is NaN or infinite."""
    shown = "NaN" if isnan(number) else str(number)
    return make_error(stage, f"{method} returned {shown}, which is not a number to sort by", method)


def check_hits(stage: Stage, method: str, result: Any) -> tuple[Hit, ...]:
    """Return the hits that a method returned, checked as `check_result` does. Raises StageFault."""
    if isinstance(result, list | tuple) and all(map(_is_sound_hit, result)):  # as almost always
        return tuple(result)
    hits: tuple[Hit, ...] = check_result(stage, method, result, [Hit])
    return hits


def _is_sound_hit(hit: Any) -> bool:
    """Whether a hit and its passage surely have the right types; it costs little."""
    if type(hit) is not Hit or type(hit.passage) is not Passage:
        return False
    passage = hit.passage
    texts = (passage.id, passage.text, passage.title, passage.url)
    return type(hit.score) is float and isfinite(hit.score) and set(map(type, texts)) == {str}


def check_scores(stage: Stage, result: Any, count: int, method: str = "score") -> list[float]:
    """Return a ranker's scores of so many texts as numbers. Raises StageFault."""
    scores = result.tolist() if hasattr(result, "tolist") else result
    checked = list(check_result(stage, method, scores, [float]))
    if len(checked) != count:
        problem = f"{method} returned {len(checked)} scores for {count} texts"
        raise make_error(stage, problem, method)
    return checked


def list_stage_packages() -> set[str]:
    """List the packages of all stages that were built, since an injected one may have failed."""
    return {find_package(type(stage)) for stage in list(_origins)}
