"""Defects of plugins' stages in words: the stage, its plugin, the file and the line.

What the stages of a turn return is checked where it arrives: else it would fail later, in somebody
else's code.
"""

from collections.abc import Iterable, Mapping
from typing import Any
from weakref import WeakKeyDictionary

from convrag.api.answers import Answer, PassageSpan, Support
from convrag.api.conversations import MemoryView, Turn
from convrag.api.errors import ConvragError, StageFault, find_package, locate_error, locate_function
from convrag.api.evidence import Evidence, EvidenceItem
from convrag.api.passages import Hit, Passage, Selection
from convrag.api.queries import Query, Rewrite, SearchStep
from convrag.api.stage import Stage
from convrag.registry.option import Option

_origins: WeakKeyDictionary[Stage, tuple[str, Option]] = WeakKeyDictionary()
"""A stage that was built from an option -> where it was first chosen ("rewriter.embedder"), and the
option.
"""


def note_origin(stage: Stage, place: str, option: Option) -> None:
    """Remember the option that a stage was built from, for messages."""
    _origins.setdefault(stage, (place, option))


def explain_error(error: BaseException, stage: Stage) -> str:
    """Describe an error of a stage's own: what it is, the stage with its plugin, and where it was
    raised.

    A ConvragError explains itself.
    """
    if isinstance(error, ConvragError):
        return str(error)
    place = locate_error(error, {find_package(type(stage)), *list_stage_packages()})
    return (
        f"{type(error).__name__}: {error} ({describe_stage(stage)}{f': {place}' if place else ''})"
    )


def explain_build_error(error: BaseException, option: Option) -> str:
    """Describe an error of an option's constructor, which leaves no stage."""
    place = locate_error(error, {find_package(option.cls)})
    kind = "" if isinstance(error, (TypeError, ValueError)) else f"{type(error).__name__}: "
    return f"{kind}{error} (plugin {option.plugin!r} of {option.distribution}{f': {place}' if place else ''})"


def describe_stage(stage: Stage) -> str:
    """Name a stage with its plugin: "rewriter=mine, plugin 'acme' of acme-dist"; one built by hand
    by its class.
    """
    if stage not in _origins:
        return f"{type(stage).__module__}.{type(stage).__qualname__}"
    place, option = _origins[stage]
    return f"{place}={option.name}, plugin {option.plugin!r} of {option.distribution}"


def make_error(stage: Stage, problem: str, method: str) -> StageFault:
    """Make the error for a defect of a stage, with the place of one of its methods."""
    place = locate_function(getattr(type(stage), method))
    return StageFault(f"{problem} ({describe_stage(stage)}{f': {place}' if place else ''})")


def check_type(stage: Stage, method: str, result: Any, wanted: type) -> Any:
    """Return what a method returned. Raises StageFault where it is of another type."""
    if isinstance(result, wanted):
        return result
    raise _make_type_error(stage, method, result, wanted.__name__)


def _make_type_error(stage: Stage, method: str, result: Any, wanted: str) -> StageFault:
    """Make the error for a result of another type, which is named the same in each turn: "a str"."""
    name = type(result).__name__
    said = "None" if result is None else f"{'an' if name[0] in 'aeiouAEIOU' else 'a'} {name}"
    return make_error(stage, f"{method} returned {said}, which is no {wanted}", method)


_NOTES = {"fallback": str, "trace": Mapping}

_FIELDS: dict[type, dict[str, Any]] = {
    MemoryView: {"history": [Turn], **_NOTES},
    Turn: dict.fromkeys(("id", "question", "answer"), str),
    Rewrite: {"queries": [Query], **_NOTES},
    Query: {"text": str},
    SearchStep: {"queries": [Query], **_NOTES},
    Hit: {"passage": Passage, "score": float},
    Passage: dict.fromkeys(("id", "text", "title", "url"), str),
    Selection: {"hits": [Hit], **_NOTES},
    Evidence: {"items": [EvidenceItem], "trace": Mapping},
    EvidenceItem: {"passage": Passage, "text": str},
    Answer: {"text": str, "citations": [str], "trace": Mapping, "support": [Support]},
    Support: {"start": int, "end": int, "spans": [PassageSpan]},
    PassageSpan: {"passage_id": str, "start": int, "end": int},
}
"""The fields of what stages return whose types are checked; a list holds the type of its items."""


def check_result(stage: Stage, method: str, result: Any, wanted: Any) -> Any:
    """Return what a method returned, checked with all that it holds.

    Args:
        stage: whose method it is.
        method: its name.
        result: what it returned.
        wanted: the type that it should have; float for a score, which is returned as one; [type]
            for a collection: its items are returned as a tuple.

    Raises:
        StageFault: something in it is of another type.
    """
    if isinstance(wanted, list):
        if isinstance(result, str | bytes) or not isinstance(result, Iterable):
            raise _make_type_error(stage, method, result, f"list of {wanted[0].__name__}")
        return tuple(check_result(stage, method, item, wanted[0]) for item in result)
    if wanted is float:
        try:
            return float(result)
        except (TypeError, ValueError) as error:
            raise _make_type_error(stage, method, result, "number") from error
    check_type(stage, method, result, wanted)
    for name, kind in _FIELDS.get(wanted, {}).items():
        check_result(stage, method, getattr(result, name), kind)
    return result


def check_scores(stage: Stage, result: Any) -> list[float]:
    """Return a ranker's scores as numbers. Raises StageFault."""
    return list(
        check_result(
            stage, "score", result.tolist() if hasattr(result, "tolist") else result, [float]
        )
    )


def list_stage_packages() -> set[str]:
    """List the packages of all stages that were built: one that was injected may have raised an
    error.
    """
    return {find_package(type(stage)) for stage in list(_origins)}
