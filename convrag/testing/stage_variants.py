"""A stage with one parameter changed, and its fingerprint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, Literal, get_args, get_origin
from unittest import mock

from convrag.api.errors import ConvragError
from convrag.api.stage import Stage
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter
from convrag.turn.stage_pool import fingerprint_stage


class StageVariants:
    """Makes variants of a stage: it calls the stage's class as `make` does, but with some arguments changed.

    Args:
        make: makes the stage by calling its class.
        option: the option of the stage's class.
    """

    def __init__(self, make: Callable[[], Any], option: Option) -> None:
        self._make = make
        self._option = option

    def get_parameter(self, name: str) -> Parameter:
        """Return a parameter of the option."""
        return self._option.parameters[name]

    def get_value(self, name: str) -> Any:
        """Return the value that a parameter has in `make`."""
        return self._arguments.get(name, self.get_parameter(name).default)

    def build(self, **changed: Any) -> Any:
        """Build the stage with changed arguments."""
        return self._option.cls(**{**self._arguments, **changed})

    def compute_fingerprint(self, **changed: Any) -> str:
        """Compute the fingerprint of the stage with changed arguments, as a run would."""
        plain: dict[str, Any] = {}
        injected: dict[str, Any] = {}
        for name in self._option.configurable:
            parameter = self.get_parameter(name)
            value = changed.get(name, self.get_value(name))
            (injected if parameter.group else plain)[name] = _identify(value)
        return fingerprint_stage(self._option, plain, injected, self.build(**changed))

    def find_changes(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Yield (name, {name: another value}) for each plain parameter for which the class accepts another value."""
        for name in self._option.configurable:
            parameter = self.get_parameter(name)
            current = self.get_value(name)
            for value in () if parameter.group else _propose_values(parameter, current):
                try:
                    self.build(**{name: value})
                except (ConvragError, ValueError, TypeError, OSError):
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
                calls.append(dict(inspect.signature(constructor).bind(stage, *arguments, **named).arguments))
            constructor(stage, *arguments, **named)

        with mock.patch.object(cls, "__init__", record_call):
            self._make()
        assert calls, (
            f"make() must call {cls.__name__}(...) each time, and must not return a stage that it made earlier"
        )
        return {name: calls[-1].get(name, each.default) for name, each in self._option.parameters.items()}


def _identify(value: Any) -> Any:
    """Give a stage that was built by hand a fingerprint, as a run would have done; other values are returned as are.

    A parameter may hold several stages, by their names.
    """
    if isinstance(value, Mapping):
        return {name: _identify(each) for name, each in value.items()}
    if isinstance(value, Stage) and not value.fingerprint:
        value.fingerprint = type(value).__qualname__
    return value


def _propose_values(parameter: Parameter, current: Any) -> Iterator[Any]:
    """Yield values of a parameter's type that differ from the current one, the most likely to be valid first."""
    members = get_args(parameter.type) if type(None) in get_args(parameter.type) else (parameter.type,)
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
            numbers = (current * 0.9, current * 1.1, current + 0.5) if isinstance(current, (int, float)) else (0.5, 1.0)
            yield from (number for number in numbers if number != current)
        elif member is str:
            yield f"{current or ''}x"
