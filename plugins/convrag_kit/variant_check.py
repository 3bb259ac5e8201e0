"""What is wrong with a YAML variant, before anybody chooses it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from convrag import ConfigError, UnknownName
from convrag.sdk.groups import OPTION_KEY
from convrag.sdk.tasks.options import Option, Variant, check_value


def explain_mistake(variant: Variant, option: Option | None) -> str:
    """What is wrong with a variant's file, with its name and the line; empty where nothing is.

    Args:
        variant: the file.
        option: what it extends in the end; None where that does not exist.

    Raises:
        ConvragError: the option cannot be used itself.
    """
    try:
        text = Path(variant.file).read_text(encoding="utf-8-sig")
        read: Any = OmegaConf.to_container(OmegaConf.create(text))
    except (OSError, UnicodeDecodeError) as error:
        return f"{variant.file} cannot be read: {error}"
    except Exception as error:  # of PyYAML, and OmegaConf's own
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        return f"{variant.file}{place}: it is no YAML ({getattr(error, 'problem', None) or error})"
    if not isinstance(read, Mapping):
        return f"{variant.file}: it is no list of settings, such as defaults: [OPTION, _self_]"
    if not variant.extends:
        return f"{variant.file}: it extends no option of {variant.group}. Its first line is defaults: [OPTION, _self_]"
    if option is None:
        return f"{variant.file}{_find_line(text, 'defaults')}: it extends {variant.extends}, which does not exist"
    return next((f"{variant.file}{_find_line(text, key)}: {mistake}" for key, mistake in _check(read, option)), "")


def _check(read: Mapping[Any, Any], option: Option) -> Iterator[tuple[str, str]]:
    """The keys that the option does not have, and the values that it cannot have, each with a message."""
    for key, value in read.items():
        if key in ("defaults", OPTION_KEY):
            continue
        if key not in option.configurable:
            yield key, str(UnknownName(f"{option.group}={option.name}: parameter", str(key), option.configurable))
        elif not option.parameters[key].group and not _is_interpolated(value):
            try:
                check_value(value, option.parameters[key].type, key)
            except ConfigError as error:
                yield key, str(error)


def _is_interpolated(value: object) -> bool:
    """Whether a value is known only when it is used: `${oc.env:HOME}`, or `???`."""
    return isinstance(value, str) and ("${" in value or value == "???")


def _find_line(text: str, key: str) -> str:
    """The line that begins with a key."""
    numbers = [number for number, line in enumerate(text.splitlines(), start=1) if line.startswith((key, f'"{key}'))]
    return f", line {numbers[0]}" if numbers else ""
