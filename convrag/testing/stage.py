"""The contract of all stages."""

from __future__ import annotations

import inspect
from typing import Any
from unittest import SkipTest

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage
from convrag.registry.description import parse_argument_texts
from convrag.registry.option import Option
from convrag.testing.calls import CallContract
from convrag.testing.imports import find_heavy_imports
from convrag.testing.network import block_network
from convrag.testing.stage_variants import StageVariants


class StageContract(CallContract):
    """The tests of all stages. Subclasses say which method they call; a plugin's test class implements `make`."""

    def test_it_is_a_stage_of_its_group(self) -> None:
        assert isinstance(self.make(), GROUPS[self.group])

    def test_it_says_what_it_is(self) -> None:
        """The first line of the docstring is shown by --help."""
        doc = inspect.getdoc(type(self.make())) or ""
        own = doc != "" and doc != inspect.getdoc(GROUPS[self.group])
        assert own, "give the class a docstring of its own"
        rest = doc.partition("\n")[2]
        assert not rest.strip() or rest.startswith("\n"), "leave a blank line after the docstring's first line"

    def test_it_explains_its_parameters(self) -> None:
        """Each has a line under `Args:`, which task=plugins shows."""
        option = self.option()
        texts = parse_argument_texts(option.cls)
        unexplained = [name for name in option.configurable if not texts.get(name)]
        assert not unexplained, f"explain under Args: in the docstring: {', '.join(unexplained)}"

    def test_it_becomes_an_option(self) -> None:
        """A typed schema can be made of its constructor's signature."""
        option = self.option()
        assert option.schema is not None
        untyped = [name for name, parameter in option.parameters.items() if parameter.type is Any]
        assert not untyped, f"annotate {', '.join(untyped)}"
        kinds = {parameter.kind for parameter in inspect.signature(option.cls).parameters.values()}
        unnamed = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        assert not kinds & unnamed, "let the constructor take named parameters only: no *args, no **kwargs"

    def test_its_module_is_light(self) -> None:
        """Every start of the command may import it, so it must not import heavy libraries."""
        cls = type(self.make())
        if cls.__module__ == type(self).__module__:
            raise SkipTest("the class is defined in the test's module")
        heavy = find_heavy_imports(cls.__module__)
        assert not heavy, f"{cls.__module__} imports {', '.join(heavy)}: do so inside methods"

    def test_nothing_is_missing(self) -> None:
        assert list(self.make().check()) == []

    def test_it_stays_offline(self) -> None:
        """A stage must not depend on a server unless it says so: `network = True`."""
        with block_network(allow_loopback=self.network) as hosts:
            self.call(self.make())
        assert not hosts, f"it tried to reach {', '.join(hosts)}"

    def test_its_fingerprint_follows_its_parameters(self) -> None:
        """Results are kept under the fingerprint: all that they depend on must be in it, and be the same each time."""
        variants = StageVariants(self.make, self.option())
        fingerprint = variants.compute_fingerprint()
        assert variants.compute_fingerprint() == fingerprint, "content_hash() returns something else each time"
        for name, changed in variants.find_changes():
            if not variants.get_parameter(name).operational:
                assert variants.compute_fingerprint(**changed) != fingerprint, f"{name} is not in the fingerprint"

    def test_operational_parameters_change_no_result(self) -> None:
        """They are not in the fingerprint, so results of stages with other values are taken for equal."""
        variants = StageVariants(self.make, self.option())
        changes = list(variants.find_changes())
        operational = [(name, changed) for name, changed in changes if variants.get_parameter(name).operational]
        expected = self.call(self.make()) if operational else None
        for name, changed in operational:
            try:
                result = self.call(variants.build(**changed))
            except ConvragError:
                continue  # the value is not valid
            assert result == expected, f"{name} is marked operational, and changes the result"

    def option(self) -> Option:
        """Make an option of the stage's class."""
        cls: type[Stage] = type(self.make())
        option = Option(options_group(self.group), "under_test", cls, "plugin", "distribution")
        vars(option)["cls"] = cls  # unchecked: whether the group would refuse it is a test of its own
        return option
