"""What every stage promises."""

from __future__ import annotations

import inspect
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from unittest import SkipTest

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage
from convrag.registry.description import parse_argument_texts
from convrag.registry.option import Option
from convrag.testing.imports import heavy_imports
from convrag.testing.making import Making
from convrag.testing.offline import without_network


class StageContract:
    """Subclasses name the `group` and the call that is tried; a plugin's test class implements `make`."""

    group: str
    network = False
    """Whether it is the stage's business to ask a server; in its tests that is one on this machine."""

    def make(self) -> Any:
        """A fresh stage to test, made by calling its class."""
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
        rest = doc.partition("\n")[2]
        assert not rest.strip() or rest.startswith("\n"), "leave a blank line after the docstring's first line"

    def test_it_explains_its_parameters(self) -> None:
        """Each has a line under `Args:`, which task=plugins shows."""
        option = self.option()
        told = parse_argument_texts(option.cls)
        untold = [name for name in option.configurable if not told.get(name)]
        assert not untold, f"explain under Args: in the docstring: {', '.join(untold)}"

    def test_it_becomes_an_option(self) -> None:
        """Its constructor's signature must translate into a typed schema, each parameter with a default or required."""
        option = self.option()
        assert option.schema is not None
        untyped = [name for name, parameter in option.parameters.items() if parameter.type is Any]
        assert not untyped, f"annotate {', '.join(untyped)}"
        kinds = {parameter.kind for parameter in inspect.signature(option.cls).parameters.values()}
        unnamed = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        assert not kinds & unnamed, "the constructor takes parameters by name, and each has a name"

    def test_its_module_is_light(self) -> None:
        """Importing it, as every start of the command does, must not import large libraries."""
        cls = type(self.make())
        if cls.__module__ == type(self).__module__:
            raise SkipTest("the class is defined beside its test")
        heavy = heavy_imports(cls.__module__)
        assert not heavy, f"{cls.__module__} imports {', '.join(heavy)}: do so inside methods"

    def test_nothing_is_missing(self) -> None:
        assert list(self.make().check()) == []

    def test_it_is_deterministic(self) -> None:
        stage = self.make()
        first = self.call(stage)
        assert self.call(stage) == first, "the same call gives something else the second time"
        assert self.call(self.make()) == first, "another stage with the same parameters gives something else"

    def test_threads_may_share_it(self) -> None:
        stage = self.make()
        expected = self.call(stage)
        if self.call(stage) != expected:
            raise SkipTest("it is not deterministic in one thread either")
        with ThreadPoolExecutor(8) as pool:
            for result in pool.map(lambda _: self.call(stage), range(32)):
                assert result == expected, "threads disturb each other: keep what belongs to a call in local names"

    def test_it_stays_offline(self) -> None:
        """What works today without a server must not depend on one tomorrow."""
        with without_network(this_machine=self.network) as asked:
            self.call(self.make())
        assert not asked, f"it asked {', '.join(asked)}"

    def test_its_fingerprint_follows_its_parameters(self) -> None:
        """Results are remembered under it: what bears on them must be in it, and be the same each time."""
        making = Making(self.make, self.option())
        assert making.fingerprint() == making.fingerprint(), "contents() gives something else each time"
        for name, changed in making.changes():
            if not making.parameter(name).operational:
                assert making.fingerprint(**changed) != making.fingerprint(), f"{name} is not in the fingerprint"

    def test_operational_parameters_change_no_result(self) -> None:
        """They are not in the fingerprint, so results with another value would be taken for the same."""
        making = Making(self.make, self.option())
        operational = [(name, changed) for name, changed in making.changes() if making.parameter(name).operational]
        expected = self.call(self.make()) if operational else None
        for name, changed in operational:
            try:
                result = self.call(making.stage(**changed))
            except ConvragError:
                continue  # a value that cannot be
            assert result == expected, f"{name} is marked operational, and changes the result"

    def option(self) -> Option:
        """The option that the kernel would make of the stage's class."""
        cls: type[Stage] = type(self.make())
        return Option(options_group(self.group), "under_test", cls, "plugin", "distribution")
