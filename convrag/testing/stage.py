"""The contract of all stages."""

import inspect
from typing import Any
from unittest import SkipTest

from convrag.api.groups import GROUPS
from convrag.registry.parameters import read_argument_texts
from convrag.testing.fingerprints import FingerprintContract
from convrag.testing.libraries import find_heavy_imports
from convrag.testing.network import block_network


class StageContract(FingerprintContract):
    """The tests of all stages. Subclasses set the `group`; a plugin's test class implements `make`."""

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
        texts = read_argument_texts(option.cls)
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
