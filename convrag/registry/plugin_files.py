"""A Python file becomes a module, under a name that says what is in it."""

from __future__ import annotations

import sys
from hashlib import blake2b
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import CodeType, ModuleType

from convrag.api.errors import ConfigError
from convrag.api.locations import locate_error


def module_of(path: Path) -> str:
    """The name of a file's module: another one when the contents are others. Raises ConfigError for a missing file."""
    if path.suffix != ".py":
        raise ConfigError(f"plugins: {path} is no Python file (*.py). An installed plugin need not be named.")
    try:
        contents = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"plugins: {path} cannot be read ({error.strerror})") from error
    return f"{path.stem}_{blake2b(contents, digest_size=4).hexdigest()}"


def import_file(path: Path, name: str) -> ModuleType:
    """Import a file under this name. Raises ConfigError, naming the line, where it fails."""
    loader = _UncachedLoader(name, str(path))
    spec = spec_from_loader(name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        place = locate_error(error, {name})
        raise ConfigError(f"plugins: {place} fails: {type(error).__name__}: {error}") from error
    return module


class _UncachedLoader(SourceFileLoader):
    """Compiles the source each time: a bytecode file stands for every edit of the same second and the same length."""

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.get_data(self.path), self.path)
