"""Findings, and the stages of a configuration, built as a run would build them, with what each of them lacks."""

from collections.abc import Iterator, Mapping
from typing import Any, Literal, NamedTuple

from convrag import ConvragError
from convrag.sdk.groups import SEVERAL
from convrag.sdk.tasks.turns import Stages, Wiring

_GROUPS = ("dataset", *Stages._fields, "tracker")


Level = Literal["ok", "-", "warn", "fail"]


class Finding(NamedTuple):
    """One line of the report.

    Args:
        level: "ok", "-" (not installed or not set, and not needed), "warn" (unusual, but a run may work), or "fail" (a
            run would fail).
        subject: what was examined.
        message: what was found, and what to do about it.
    """

    level: Level
    subject: str
    message: str = ""


class TextParameter(NamedTuple):
    """A parameter of a stage whose value is a text; `place` is where the stage stands in the configuration."""

    place: str
    name: str
    value: str


class ConfiguredStages:
    """The stages of a configuration, as far as they can be built.

    Args:
        wiring: of the configuration; its store is for these checks alone.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        group_of: dict[str, str] = {}
        for group in (*_GROUPS, *SEVERAL):
            try:
                (wiring.get_all if group in SEVERAL else wiring.get)(group)
            except ConvragError as error:
                group_of.setdefault(str(error), group)  # stages that need a broken one raise its error again
        self.build_errors = {group: message for message, group in group_of.items()}
        self.problems = {place: self._find_problems(place) for place in wiring.stages}

    def findings(self) -> Iterator[Finding]:
        """A line for each stage, also for one that only another stage needs."""
        yield from (Finding("fail", group, message) for group, message in self.build_errors.items())
        for place, problems in self.problems.items():
            yield from (Finding("fail", self.wiring.describe_choice(place), problem) for problem in problems)
            if not problems:
                yield Finding("ok", self.wiring.describe_choice(place))

    def text_parameters(self) -> Iterator[TextParameter]:
        """The parameters of these stages whose values are texts."""
        for place in self.wiring.stages:
            node: Any = self.wiring.config
            for step in place.split("."):
                node = node.get(step) if isinstance(node, Mapping) else None
            for name, value in node.items() if isinstance(node, Mapping) else ():
                if isinstance(value, str):
                    yield TextParameter(place, str(name), value)

    def _find_problems(self, place: str) -> list[str]:
        try:
            return self.wiring.find_problems(place)
        except ConvragError as error:
            return [str(error)]
