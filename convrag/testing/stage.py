"""The contract of all stages: what it says of itself, and what its fingerprint must cover."""

import inspect
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Literal, get_args, get_origin
from unittest import SkipTest, mock

from convrag.api.errors import ConvragError
from convrag.api.groups import GROUPS, options_group
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter, read_argument_texts
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.testing.libraries import block_network, find_heavy_imports
from convrag.turn.stage_pool import fingerprint_stage

_ADDRESS = re.compile(r"(^|_)(url|uri|host|hosts|base|endpoint|address|server)(_|$)", re.IGNORECASE)
_INVALID = (ConvragError, ValueError, TypeError, OSError, LookupError)
"""What a class may raise if a changed value is not valid."""
_LARGEST = 20_000_000
"""Bytes: larger files are not copied."""


class StageContract:
    """The tests of all stages. Subclasses set the `group`; a plugin's test class implements `make`."""

    group: str
    network = False
    """Whether the stage needs a server. Its tests may then reach servers on this machine, and no
    others.
    """

    def make(self) -> Any:
        """Make a new stage to test by calling its class."""
        raise NotImplementedError("implement make() in your test class: return a fresh stage")

    def call(self, stage: Any) -> Any:
        """Use the stage once in the ordinary way; return a result that can be compared with ==."""
        return list(stage.check())

    def test_it_is_a_stage_of_its_group(self) -> None:
        assert isinstance(self.make(), GROUPS[self.group])

    def test_it_says_what_it_is(self) -> None:
        """The first line of the docstring is shown by --help."""
        doc = inspect.getdoc(type(self.make())) or ""
        own = doc != "" and doc != inspect.getdoc(GROUPS[self.group])
        assert own, "give the class a docstring of its own"
        rest = doc.partition("\n")[2]
        assert not rest.strip() or rest.startswith("\n"), (
            "leave a blank line after the docstring's first line"
        )

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
        unnamed = {
            inspect.Parameter.POSITIONAL_ONLY,
            inspect.Parameter.VAR_POSITIONAL,
            inspect.Parameter.VAR_KEYWORD,
        }
        assert not kinds & unnamed, (
            "let the constructor take named parameters only: no *args, no **kwargs"
        )

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
        """Results are kept under the fingerprint: all that they depend on must be in it, and be the
        same each time.
        """
        variants = StageVariants(self.make, self.option())
        fingerprint = variants.compute_fingerprint()
        assert variants.compute_fingerprint() == fingerprint, (
            "content_hash() returns something else each time"
        )
        for name, changed in variants.find_changes():
            if not variants.parameters[name].operational:
                assert variants.compute_fingerprint(**changed) != fingerprint, (
                    f"{name} is not in the fingerprint"
                )

    def test_its_fingerprint_follows_its_files(self) -> None:
        """The contents of a file that a parameter names may change, and its name may stay."""
        option = self.option()
        variants = StageVariants(self.make, option)
        for name in option.configurable:
            value = variants.get_value(name)
            if variants.parameters[name].operational or not _list_small_files(value):
                continue
            with TemporaryDirectory() as folder:
                copy = Path(folder, Path(value).name)
                (shutil.copytree if Path(value).is_dir() else shutil.copyfile)(value, copy)
                changed = {name: type(value)(copy)}
                before = variants.compute_fingerprint(**changed)
                after = [
                    variants.compute_fingerprint(**changed)
                    for _ in _try_edits(variants, changed, copy)
                ]
            assert not after or set(after) != {before}, (
                f"the contents of the file that {name} names are not in the fingerprint: let the parameter be a Path, "
                f"or return a hash of the contents in content_hash()"
            )

    def test_its_fingerprint_follows_its_server(self) -> None:
        """An address may come from the environment: another server gives other results."""
        variables = [name for name in type(self.make()).env_vars if _ADDRESS.search(name)]
        variants, fingerprints = StageVariants(self.make, self.option()), []
        for number in (1, 2) if variables else ():
            environment = dict.fromkeys(variables, f"http://127.0.0.{number}:9")
            with mock.patch.dict(os.environ, environment), suppress(*_INVALID):
                fingerprints.append(variants.compute_fingerprint())
        assert len(set(fingerprints)) == len(fingerprints), (
            f"the address in {' or '.join(variables)} is not in the fingerprint: return it in endpoints()"
        )

    def test_its_fingerprint_follows_its_prompts(self) -> None:
        """The templates of prompts are part of the fingerprint if `prompt_templates` names them."""
        stage = self.make()
        named = [(each.task, each.source) for each in stage.prompt_templates]
        held = {
            name: value for name, value in vars(stage).items() if isinstance(value, PromptTemplate)
        }
        unnamed = [name for name, value in held.items() if (value.task, value.source) not in named]
        assert not unnamed, (
            f"name self.{', self.'.join(unnamed)} in self.prompt_templates, in the constructor"
        )

    def option(self) -> Option:
        """Make an option of the stage's class."""
        cls: type[Stage] = type(self.make())
        option = Option(options_group(self.group), "under_test", cls, "plugin", "distribution")
        vars(option)["cls"] = (
            cls  # unchecked: whether the group would refuse it is a test of its own
        )
        return option


class StageVariants:
    """Makes variants of a stage: it calls the stage's class as `make` does, but with some arguments
    changed.

    Args:
        make: makes the stage by calling its class.
        option: the option of the stage's class.
    """

    def __init__(self, make: Callable[[], Any], option: Option) -> None:
        self._make = make
        self._option = option
        self.parameters = option.parameters

    def get_value(self, name: str) -> Any:
        """Return the value that a parameter has in `make`."""
        return self._arguments[name]

    def build(self, **changed: Any) -> Any:
        """Build the stage with changed arguments."""
        return self._option.cls(**{**self._arguments, **changed})

    def compute_fingerprint(self, **changed: Any) -> str:
        """Compute the fingerprint of the stage with changed arguments, as a run would."""
        plain: dict[str, Any] = {}
        injected: dict[str, Any] = {}
        for name in self._option.configurable:
            parameter = self.parameters[name]
            value = changed.get(name, self.get_value(name))
            (injected if parameter.group else plain)[name] = _identify(value)
        return fingerprint_stage(self._option, plain, injected, self.build(**changed))

    def find_changes(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (name, {name: another value}) for each plain parameter for which the class accepts
        another value.
        """
        for name in self._option.configurable:
            parameter = self.parameters[name]
            current = self.get_value(name)
            for value in () if parameter.group else _propose_values(parameter, current):
                try:
                    self.build(**{name: value})
                except _INVALID:
                    continue
                yield name, {name: value}
                break

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The arguments with which `make` calls the class; the default where it gives none."""
        cls = self._option.cls
        constructor = cls.__init__
        calls: list[dict[str, Any]] = []

        def record_call(stage: Any, /, *arguments: Any, **named: Any) -> None:
            if type(stage) is cls:
                calls.append(
                    dict(inspect.signature(constructor).bind(stage, *arguments, **named).arguments)
                )
            constructor(stage, *arguments, **named)

        with mock.patch.object(cls, "__init__", record_call):
            self._make()
        assert calls, (
            f"make() must call {cls.__name__}(...) each time, and must not return a stage that it made earlier"
        )
        return {
            name: calls[-1].get(name, each.default)
            for name, each in self._option.parameters.items()
        }


def _list_small_files(value: Any) -> list[Path]:
    """List the files that a value names; none for large ones, and for a word without a dot or
    slash: no path.
    """
    if not isinstance(value, Path) and not (isinstance(value, str) and re.search(r"[./\\]", value)):
        return []
    path = Path(value)
    with suppress(OSError, ValueError):  # no name of a file
        files = [each for each in (path, *path.rglob("*")) if each.is_file()]
        return files if sum(each.stat().st_size for each in files) <= _LARGEST else []
    return []


def _try_edits(variants: StageVariants, changed: dict[str, Any], path: Path) -> Iterator[None]:
    """Change the contents of files in ways that leave most formats valid; go on after each that the
    class accepts.
    """
    last_letter = re.compile(rb"[a-z](?=[^a-z]*\Z)")
    for file in _list_small_files(path):
        contents = file.read_bytes()
        last_line = (contents.splitlines(keepends=True) or [b""])[-1]
        other_letter = last_letter.sub(lambda found: b"b" if found[0] == b"a" else b"a", contents)
        for edited in (contents + b"\n", contents + last_line, other_letter):
            file.write_bytes(edited)
            with suppress(*_INVALID):
                variants.compute_fingerprint(**changed)
                yield


def _identify(value: Any) -> Any:
    """Give a stage that was built by hand a fingerprint, as a run would have done; other values are
    returned as are.
    """
    if isinstance(value, Stage) and not value.fingerprint:
        value.fingerprint = type(value).__qualname__
    return value


def _propose_values(parameter: Parameter, current: Any) -> Iterator[Any]:
    """Yield values of a parameter's type that differ from the current one, the most likely to be
    valid first.
    """
    members = (
        get_args(parameter.type) if type(None) in get_args(parameter.type) else (parameter.type,)
    )
    for member in members:
        if get_origin(member) is Literal:
            yield from (choice for choice in get_args(member) if choice != current)
        elif inspect.isclass(member) and issubclass(member, Enum):
            yield from (choice for choice in member if choice is not current)
        elif member is bool:
            yield not current
        elif member is int:
            yield from (current + 1, current - 1) if isinstance(current, int) else (1, 2, 8)
        elif member is float:
            numbers = (
                (current * 0.9, current * 1.1, current + 0.5)
                if isinstance(current, (int, float))
                else (0.5, 1.0)
            )
            yield from (number for number in numbers if number != current)
        elif member is str:
            yield f"{current or ''}x"
