"""Variants of a stage with one parameter changed, and their fingerprints."""

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args, get_origin
from unittest import mock

from convrag.api.errors import ConvragError
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter
from convrag.turn.stage_pool import fingerprint_stage

INVALID = (ConvragError, ValueError, TypeError, OSError, LookupError)
"""The exceptions that a class may raise if a changed value is not valid."""

_LARGEST = 20_000_000
"""The size in bytes above which files are not copied."""


class StageVariants:
    """Variants of a stage: its class is called as `make` calls it, with some arguments changed.

    Args:
        make: a function that makes the stage by calling its class.
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
            is_stage = value is None or isinstance(value, Stage)
            arguments = injected if parameter.group and is_stage else plain
            arguments[name] = _identify(value)
        return fingerprint_stage(self._option, plain, injected, self.build(**changed))

    def find_changes(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (name, {name: another value}) for plain parameters, if the class accepts one."""
        for name in self._option.configurable:
            parameter = self.parameters[name]
            current = self.get_value(name)
            for value in () if parameter.group else _propose_values(parameter, current):
                try:
                    self.build(**{name: value})
                except INVALID:
                    continue
                yield name, {name: value}
                break

    @cached_property
    def _arguments(self) -> dict[str, Any]:
        """The arguments of the class in `make`, with defaults for those that it does not give."""
        cls = self._option.cls
        constructor = cls.__init__
        calls: list[dict[str, Any]] = []

        def record_call(stage: Any, /, *arguments: Any, **named: Any) -> None:
            if type(stage) is cls:
                bound = inspect.signature(constructor).bind(stage, *arguments, **named)
                calls.append(dict(bound.arguments))
            constructor(stage, *arguments, **named)

        with mock.patch.object(cls, "__init__", record_call):
            self._make()
        assert calls, (
            f"make() must call {cls.__name__}(...) each time, and must not return a stage that it "
            "made earlier"
        )
        return {
            name: calls[-1].get(name, each.default)
            for name, each in self._option.parameters.items()
        }


def list_small_files(value: Any) -> list[Path]:
    """List the files that a value names, unless they are large.

    A word without a dot or slash is not a path.
    """
    is_path = isinstance(value, Path)
    if isinstance(value, str):
        is_path = re.search(r"[./\\]", value) is not None
    if not is_path:
        return []
    path = Path(value)
    with suppress(OSError, ValueError):  # not the name of a file
        files = [each for each in (path, *path.rglob("*")) if each.is_file()]
        return files if sum(each.stat().st_size for each in files) <= _LARGEST else []
    return []


def try_edits(variants: StageVariants, changed: dict[str, Any], path: Path) -> Iterator[None]:
    """Change the contents of files in ways that leave most formats valid.

    It yields after each change that the class accepts.
    """
    last_letter = re.compile(rb"[a-z](?=[^a-z]*\Z)")
    for file in list_small_files(path):
        contents = file.read_bytes()
        last_line = (contents.splitlines(keepends=True) or [b""])[-1]
        other_letter = last_letter.sub(lambda found: b"b" if found[0] == b"a" else b"a", contents)
        for edited in (contents + b"\n", contents + last_line, other_letter):
            file.write_bytes(edited)
            with suppress(*INVALID):
                variants.compute_fingerprint(**changed)
                yield


def _identify(value: Any) -> Any:
    """Give a stage that was built by hand a fingerprint, as a run would have done.

    Other values are returned as they are.
    """
    if isinstance(value, Stage) and not value.fingerprint:
        value.fingerprint = type(value).__qualname__
    return value


def _propose_values(parameter: Parameter, current: Any) -> Iterator[Any]:
    """Yield values of a parameter's type that differ from the current one.

    The values that are most likely to be valid come first.
    """
    types = [parameter.type]
    if type(None) in get_args(parameter.type):
        types = list(get_args(parameter.type))
    for type_ in types:
        for value in _list_values(type_, current):
            if value != current:
                yield value


def _list_values(type_: Any, current: Any) -> list[Any]:
    """List values of a type near the current one, which may be among them."""
    if get_origin(type_) is Literal:
        return list(get_args(type_))
    if inspect.isclass(type_) and issubclass(type_, Enum):
        return list(type_)
    if type_ is bool:
        return [not current]
    if type_ is int:
        return [current + 1, current - 1] if isinstance(current, int) else [1, 2, 8]
    if type_ is float:
        if isinstance(current, int | float):
            return [current * 0.9, current * 1.1, current + 0.5]
        return [0.5, 1.0]
    if type_ is str:
        return [f"{current or ''}x"]
    return []
