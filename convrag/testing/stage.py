"""What every stage promises."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from convrag.options import Option
from convrag.stages import GROUPS, Stage, options_group


class StageContract:
    """Subclasses name the `group` and the call that is tried; a plugin's test class implements `make`."""

    group: str

    def make(self) -> Any:
        """A fresh stage to test."""
        raise NotImplementedError("implement make() in your test class: return a fresh stage")

    def call(self, stage: Any) -> Any:
        """One ordinary use of the stage, giving something that can be compared with ==."""
        return list(stage.check())

    def test_it_is_a_stage_of_its_group(self) -> None:
        assert isinstance(self.make(), GROUPS[self.group])

    def test_it_says_what_it_is(self) -> None:
        """The first line of the docstring stands in --help."""
        doc = inspect.getdoc(type(self.make())) or ""
        own = doc != "" and doc != inspect.getdoc(GROUPS[self.group])
        assert own, "give the class a docstring of its own"

    def test_it_becomes_an_option(self) -> None:
        """Its constructor's signature must translate into a typed schema, each parameter with a default or required."""
        cls: type[Stage] = type(self.make())
        option = Option(options_group(self.group), "under_test", cls, "plugin", "distribution")
        assert option.schema is not None
        untyped = [name for name, parameter in option.parameters.items() if parameter.type is Any]
        assert not untyped, f"annotate {', '.join(untyped)}"

    def test_nothing_is_missing(self) -> None:
        assert list(self.make().check()) == []

    def test_it_is_deterministic(self) -> None:
        assert self.call(self.make()) == self.call(self.make())

    def test_threads_may_share_it(self) -> None:
        stage = self.make()
        expected = self.call(stage)
        with ThreadPoolExecutor(8) as pool:
            assert all(result == expected for result in pool.map(lambda _: self.call(stage), range(32)))
