"""A stage made again with one parameter changed, and its fingerprint, as the kernel would compute it."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cached_property
from typing import Any, Literal, get_args, get_origin
from unittest import mock

from convrag.api.errors import ConvragError
from convrag.registry.option import Option
from convrag.registry.parameters import Parameter
from convrag.turn.stage_pool import fingerprint_stage


class Making:
    """Knows how `make` calls the class of an option, and calls it with other values.

    Args:
        make: gives a fresh stage.
        option: of the stage's class.
    """

    def __init__(self, make: Callable[[], Any], option: Option) -> None:
        self._make = make
        self._option = option

    def parameter(self, name: str) -> Parameter:
        """A parameter of the option."""
        return self._option.parameters[name]

    def stage(self, **changed: Any) -> Any:
        """The stage that `make` makes, but for what is changed."""
        return self._option.cls(**{**self._given, **changed})

    def fingerprint(self, **changed: Any) -> str:
        """Of that stage, as the kernel has it."""
        plain: dict[str, Any] = {}
        injected: dict[str, Any] = {}
        for name in self._option.configurable:
            parameter = self.parameter(name)
            value = changed.get(name, self._given.get(name, parameter.default))
            (injected if parameter.group else plain)[name] = value
        return fingerprint_stage(self._option, plain, injected, self.stage(**changed))

    def changes(self) -> Iterator[tuple[str, Mapping[str, Any]]]:
        """Name -> another value that the class accepts, for each plain parameter for which one is found."""
        for name in self._option.configurable:
            parameter = self.parameter(name)
            current = self._given.get(name, parameter.default)
            for value in () if parameter.group else _others(parameter, current):
                try:
                    self.stage(**{name: value})
                except (ConvragError, ValueError, TypeError, OSError):
                    continue
                yield name, {name: value}
                break

    @cached_property
    def _given(self) -> dict[str, Any]:
        """What `make` gives to the constructor; what it leaves out stands with its default."""
        cls = self._option.cls
        constructor = cls.__init__
        calls: list[dict[str, Any]] = []

        def recording(stage: Any, /, *arguments: Any, **named: Any) -> None:
            if type(stage) is cls:
                calls.append(dict(inspect.signature(constructor).bind(stage, *arguments, **named).arguments))
            constructor(stage, *arguments, **named)

        with mock.patch.object(cls, "__init__", recording):
            self._make()
        assert calls, f"make() must call {cls.__name__}(...) each time: it returned a stage that was there before"
        return {name: calls[-1].get(name, each.default) for name, each in self._option.parameters.items()}


def _others(parameter: Parameter, current: Any) -> Iterator[Any]:
    """Values of a parameter's type that differ from the current one, likely ones first."""
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
