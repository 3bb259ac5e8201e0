"""Plugins that are single Python files, named by a command (`plugins=[my_plugin.py]`)."""

import sys
from hashlib import blake2b
from pathlib import Path
from types import ModuleType

from convrag.api.errors import ConfigError, locate_error
from convrag.concurrency.exits import is_failure
from convrag.registry.importing import redirect_prints


def name_module(path: Path) -> str:
    """Return the name of a file's module, which changes with its contents.

    Raises ConfigError where there is no such Python file.
    """
    if path.suffix != ".py":
        raise ConfigError(
            f"plugins: {path} is no Python file (*.py). An installed plugin need not be named."
        )
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"plugins: {path} cannot be read ({error.strerror})") from error
    return f"{path.stem}_{blake2b(contents, digest_size=4).hexdigest()}"


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file under this name. Raises ConfigError, naming the line, where it fails."""
    module = ModuleType(name)
    module.__file__ = str(path)
    sys.modules[name] = module
    try:
        with redirect_prints():
            exec(compile(path.read_bytes(), path, "exec"), vars(module))
    except BaseException as error:
        del sys.modules[name]
        if not is_failure(error):
            raise
        place = locate_error(error, {name})
        raise ConfigError(f"plugins: {place} fails: {type(error).__name__}: {error}") from error
    return module
