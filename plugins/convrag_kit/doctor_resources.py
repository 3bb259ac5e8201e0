"""What a configuration needs of its machine: versions of libraries, API keys, models and servers."""

import os
import platform
import re
import socket
from collections import defaultdict
from collections.abc import Iterator
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from urllib.parse import urlsplit

from convrag import ConvragError, __version__
from convrag.sdk.groups import GROUPS
from convrag.sdk.libraries import is_installed
from convrag.sdk.tasks.options import plugins, variants_of
from convrag_kit.doctor_stages import ConfiguredStages, Finding

_CONNECT_TIMEOUT = 2.0  # seconds
_NEURAL_LIBRARIES = {"torch", "transformers", "sentence_transformers"}
_MODEL_FILES = ("config.json", "tokenizer_config.json", "modules.json")  # a model in the cache has one of these


def check_versions() -> Iterator[Finding]:
    """Python, convrag, the libraries that it depends on, and the extras that are not installed."""
    from packaging.requirements import Requirement

    installed, absent = (
        [f"python {platform.python_version()}", f"convrag {__version__}"],
        defaultdict[str, list[str]](list),
    )
    for requirement in map(Requirement, metadata.requires(plugins.FIRST_PARTY) or ()):
        extra = _get_extra(requirement)
        if requirement.name == plugins.FIRST_PARTY or extra == "test":
            continue
        found = _find_version(requirement.name)
        if not found and extra:
            absent[extra].append(requirement.name)
        elif not found:
            yield Finding("fail", requirement.name, f"is not installed: pip install '{requirement.name}'")
        elif not requirement.specifier.contains(found, prereleases=True):
            wanted = f"{requirement.name}{requirement.specifier}"
            yield Finding(
                "warn" if extra else "fail",
                f"{requirement.name} {found}",
                f"is none of the versions that convrag works with: pip install '{wanted}'",
            )
        else:
            installed.append(f"{requirement.name} {found}")
    yield Finding("ok", ", ".join(dict.fromkeys(installed)))
    for extra, names in absent.items():
        yield Finding("-", f"extra {extra}", f"without {', '.join(names)}: pip install 'convrag[{extra}]' brings it")


def check_keys(stages: ConfiguredStages) -> Iterator[Finding]:
    """The environment variables that options and variants read, by name; no value is shown."""
    readers: dict[str, list[str]] = defaultdict(list)
    for place, name, value in stages.text_parameters():
        if name.endswith("_env"):
            readers[value].append(stages.wiring.describe_choice(place))
    for variant in (variant for group in GROUPS for variant in variants_of(group)):
        for name, value in variant.values.items():
            if name.endswith("_env") and isinstance(value, str):
                readers[value].append(f"{variant.group}={variant.name}")
    for option in (option for group in GROUPS for option in plugins.load().registry.options(group).values()):
        with suppress(ConvragError):  # of a class that cannot be imported: versions and plugins say so
            for variable in option.cls.env_vars:
                readers[variable].append(f"{option.group}={option.name}")
    for variable in sorted(name for name in readers if os.environ.get(name)):
        yield Finding("ok", f"set: {variable} ({', '.join(dict.fromkeys(readers[variable]))})")
    if unset := sorted(name for name in readers if not os.environ.get(name)):
        yield Finding("-", f"not set: {', '.join(unset)}")


def check_models(stages: ConfiguredStages) -> Iterator[Finding]:
    """Whether the models of the chosen stages are on this disk, or have to be downloaded."""
    if not is_installed("huggingface_hub"):
        return
    from huggingface_hub import try_to_load_from_cache

    for place, name, model in stages.text_parameters():
        if name not in ("model", "tokenizer") or not _NEURAL_LIBRARIES & set(stages.wiring.stages[place].requires):
            continue
        subject = f"{place}.{name}={model}"
        if Path(model).expanduser().is_dir():
            yield Finding("ok", subject, "is a folder")
        elif any(isinstance(try_to_load_from_cache(model, file), str) for file in _MODEL_FILES):
            yield Finding("ok", subject, "is in the cache of the Hugging Face hub")
        elif not stages.problems[place]:
            yield Finding(
                "warn", subject, "is not on this disk: it is downloaded at first use, where there is a network"
            )


def check_servers(stages: ConfiguredStages) -> Iterator[Finding]:
    """Whether a server accepts connections at each address in the configuration, or in a variable that it names."""
    for place, name, value in stages.text_parameters():
        in_variable = name.endswith("_env")
        parts = urlsplit(os.environ.get(value, "") if in_variable else value)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            continue
        shown = f"{parts.scheme}://{parts.hostname}" + (f":{parts.port}" if parts.port else "")  # without a password
        subject = f"{place}.{name}={value if in_variable else shown}"
        try:
            port = parts.port or (443 if parts.scheme == "https" else 80)
            socket.create_connection((parts.hostname, port), _CONNECT_TIMEOUT).close()
        except OSError as error:
            reason = error.strerror or str(error)
            if not stages.problems[place]:
                message = f"nothing answers ({reason}): start the server, or choose another address"
                yield Finding("warn", subject, message)
        else:
            yield Finding("ok", subject, "answers")


def _get_extra(requirement: object) -> str:
    """The extra that a requirement belongs to; empty for what is always needed."""
    found = re.search(r'extra == "([^"]+)"', str(getattr(requirement, "marker", None)))
    return found[1] if found else ""


def _find_version(name: str) -> str:
    """The version of a distribution; empty where it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""
