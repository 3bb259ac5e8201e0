"""Finds the libraries that the code of a stage imports: wherever in a module, and those of them that take long."""

import ast
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path

from convrag.api.stage import Stage
from convrag.store.fingerprint import collect_libraries
from convrag.store.source import read_source

_HEAVY = re.compile(
    "bertopic|elasticsearch|faiss|hdbscan|ir_measures|jax|jinja2|litellm|matplotlib|mlflow|nltk|numpy|openai|pandas|"
    "pydantic|rich|rouge_score|sacrebleu|scipy|sentence_transformers|sklearn|spacy|tensorflow|torch|transformers|umap"
)
"""Libraries that take long to import. Modules of plugins import them inside functions, not at the top."""


def find_unnamed_libraries(cls: type[Stage], without_results: Iterable[str] = ()) -> dict[str, str]:
    """Find the libraries that a stage's code imports and that the class names neither in `requires` nor in `libraries`.

    Its code is the module of the class (without other classes in it), those of its base classes outside convrag, and
    the modules of the same packages that these import, directly or not.

    Args:
        cls: the stage's class.
        without_results: libraries, as pip names them, whose versions bear on no result.

    Returns:
        The library, as pip names it -> the module that imports it.
    """
    declared = collect_libraries(cls)
    known = (*declared, *read_source(cls, declared).libraries, *without_results, "annotated-types")  # limits alone
    named = {_normalize(name) for name in known}
    unnamed: dict[str, str] = {}
    for library, module in sorted(find_libraries(cls).items()):
        distributions = _read_distributions().get(library, [library])
        if not named & {_normalize(name) for name in (library, *distributions)}:
            unnamed[distributions[0]] = module
    return unnamed


def find_libraries(cls: type) -> dict[str, str]:
    """Find the libraries that a stage's code imports: top package -> a module that imports it."""
    classes: dict[str, set[str]] = {}
    for base in cls.__mro__:
        if (top := _get_top(base.__module__)) != "convrag" and top not in sys.stdlib_module_names:
            classes.setdefault(base.__module__, set()).add(base.__qualname__.partition(".")[0])
    own = {_get_top(module) for module in classes}
    found: dict[str, str] = {}
    waiting, seen = list(classes), set(classes)
    while waiting:
        module = waiting.pop()
        for name in _read_imports(module, classes.get(module)):
            top = _get_top(name)
            if top in own:
                inner = name if _find_file(name) else name.rpartition(".")[0]
                if inner and inner not in seen:
                    seen.add(inner)
                    waiting.append(inner)
            elif top != "convrag" and top not in sys.stdlib_module_names:
                found.setdefault(top, module)
    return found


@cache
def find_heavy_imports(module: str) -> tuple[str, ...]:
    """Find the libraries that are imported with a module and take long. Raises ImportError if the import fails."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    code = f"import sys; import {module}; print(*sorted({{name.partition('.')[0] for name in sys.modules}}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise ImportError(f"{module} cannot be imported by itself:\n{done.stderr}")
    return tuple(name for name in done.stdout.splitlines()[-1].split() if _HEAVY.fullmatch(name))


def _read_imports(module: str, classes: set[str] | None) -> Iterator[str]:
    """Yield the dotted names that a module imports, not only for type checkers; of its classes, only these count."""
    file = _find_file(module)
    if file is None:
        return
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    waiting: list[ast.AST] = [ast.parse(file.read_text(encoding="utf-8"))]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            name = importlib.util.resolve_name("." * node.level + (node.module or ""), package or None)
            yield from (f"{name}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting += node.orelse
        elif not (isinstance(node, ast.ClassDef) and classes is not None and node.name not in classes):
            waiting += ast.iter_child_nodes(node)


def _find_file(module: str) -> Path | None:
    """Find the file of a module; None if it is no module, or has no source."""
    try:
        loaded = sys.modules.get(module)
        spec = loaded.__spec__ if loaded and loaded.__spec__ else importlib.util.find_spec(module)
    except (ImportError, ValueError, AttributeError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


@cache
def _read_distributions() -> dict[str, list[str]]:
    """Read which distributions bring a top package: package -> their names, sorted."""
    return {package: sorted(set(names)) for package, names in packages_distributions().items()}


def _get_top(module: str) -> str:
    return module.partition(".")[0]


def _normalize(name: str) -> str:
    return name.replace("-", "_").lower()
