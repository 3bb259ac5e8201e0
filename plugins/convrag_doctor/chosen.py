"""The stages that the chosen configuration needs: built as a run would build them, and asked what is missing."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from convrag import ConvragError
from convrag.api.stages import SEVERAL
from convrag.turn.turn import Stages
from convrag.turn.wiring import Wiring
from convrag_doctor.finding import Finding

_GROUPS = ("dataset", *Stages._fields, "tracker")


class Chosen:
    """The stages of a configuration, as far as they can be built.

    Args:
        wiring: of the configuration; its store is for checks alone.
    """

    def __init__(self, wiring: Wiring) -> None:
        self.wiring = wiring
        unbuilt: dict[str, str] = {}
        for group in (*_GROUPS, *SEVERAL):
            try:
                (wiring.get_all if group in SEVERAL else wiring.get)(group)
            except ConvragError as error:
                unbuilt.setdefault(str(error), group)  # others that need this one say the same
        self.unbuilt = {group: why for why, group in unbuilt.items()}
        self.problems = {place: self._problems(place) for place in wiring.stages}

    def findings(self) -> Iterator[Finding]:
        """A line for each stage, what another one needs included."""
        yield from (Finding("fail", group, why) for group, why in self.unbuilt.items())
        for place, problems in self.problems.items():
            yield from (Finding("fail", self.wiring.chosen(place), problem) for problem in problems)
            if not problems:
                yield Finding("ok", self.wiring.chosen(place))

    def values(self) -> Iterator[tuple[str, str, str]]:
        """Place, parameter and value of all texts that are configured for these stages."""
        for place in self.wiring.stages:
            node: Any = self.wiring.config
            for step in place.split("."):
                node = node.get(step) if isinstance(node, Mapping) else None
            for name, value in node.items() if isinstance(node, Mapping) else ():
                if isinstance(value, str):
                    yield place, str(name), value

    def _problems(self, place: str) -> list[str]:
        try:
            return self.wiring.problems(place)
        except ConvragError as error:
            return [str(error)]
        except Exception as error:  # of a plugin that does not check carefully
            return [f"its check() fails: {type(error).__name__}: {error}"]
