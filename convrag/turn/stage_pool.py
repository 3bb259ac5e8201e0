"""The stages of this process: equal stages are one object, which all runs share.

A stage has a fingerprint, which is part of the keys of its results, and a description, which a
conversation keeps.
"""

import logging
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from weakref import WeakKeyDictionary, WeakSet

from convrag.api.errors import ConfigError, ConvragError, StageFault
from convrag.api.groups import OPTION_KEY
from convrag.api.secrets import MASK, describe_secret, is_secret_name, list_held_secrets
from convrag.api.stage import Stage
from convrag.concurrency.cancellation import hold
from convrag.concurrency.exits import is_failure
from convrag.concurrency.locks import ForkAware
from convrag.registry.option import Option
from convrag.registry.schema import plain_value
from convrag.store.fingerprint import compute_fingerprint, digest, file_hash
from convrag.store.json_text import format_json, parse_json
from convrag.store.remember import find_marked_methods, load_libraries, mark_model_user, remember
from convrag.store.store import Store
from convrag.turn.defects import explain_build_error, explain_error, set_origin
from convrag.turn.stage_guard import guard_stage

log = logging.getLogger(__name__)

LIMIT = 64
"""The number of stages in the pool: enough for a grid to share, few enough for memory."""


class StagePool(ForkAware):
    """The stages of this process.

    Two stages are the same object if their class, configuration and files are equal.
    """

    def __init__(self) -> None:
        self._stages: OrderedDict[str, Stage] = OrderedDict()
        self._prepared: WeakSet[Stage] = WeakSet()
        super().__init__()
        self._reset_in_child()

    def get(
        self,
        option: Option,
        values: dict[str, Any],
        injected: Mapping[str, Stage | None],
        store: Store,
        place: str,
    ) -> Stage:
        """Return the stage of an option with these parameters; build it unless the pool has it.

        Args:
            option: the option to build.
            values: its plain parameters, checked.
            injected: the stages for its other parameters, by name.
            store: keeps the results of the stage.
            place: where it was chosen ("rewriter.embedder"), for messages.

        Raises:
            MissingExtra: a library that it requires is not installed.
            ConfigError: it cannot be built.
            StageFault: its constructor raised what no constructor should raise, such as a KeyError.
        """
        missing = option.missing_extra(place)
        if missing:  # first: a fingerprint may ask one of the libraries
            raise missing
        with self._building:
            stage = _build(option, values, injected, store, place)
            others = [(name, id(other)) for name, other in injected.items()]
            key = digest([stage.fingerprint, values, others, store.path, store.url])
            if key not in self._stages:
                mark_model_user(stage, injected.values())
                guard_stage(stage)
                remember(stage, store)
                self._stages[key] = stage
            self._stages.move_to_end(key)
            while len(self._stages) > LIMIT:
                self._stages.popitem(last=False)
            return self._stages[key]

    def uses_stage(
        self, option: Option, name: str, parameters: Mapping[str, Any], place: str
    ) -> bool:
        """Whether an option with these parameters uses an injected stage. Raises StageFault."""
        with _explained(
            f"{place}={option.name} cannot be built",
            lambda error: explain_build_error(error, option),
        ):
            return option.cls.uses_stage(name, parameters)

    def prepare(self, stage: Stage, *, for_new_questions: bool = False) -> None:
        """Prepare a stage, unless that has been done; an unrelated one does not wait for it.

        Its libraries are imported if it will surely be called: its results are not cached, or new
        questions come.
        """
        with self._guard:
            preparing = self._preparing.setdefault(stage, threading.Lock())
        with (
            hold(preparing),
            _explained("prepare failed", lambda error: explain_error(error, stage)),
        ):
            if for_new_questions or not find_marked_methods(type(stage)):
                load_libraries(stage)
            if stage not in self._prepared:
                stage.prepare()
                self._prepared.add(stage)

    def _reset_in_child(self) -> None:
        self._building = threading.RLock()
        self._preparing: WeakKeyDictionary[Stage, threading.Lock] = WeakKeyDictionary()


def _build(
    option: Option,
    values: dict[str, Any],
    injected: Mapping[str, Stage | None],
    store: Store,
    place: str,
) -> Stage:
    """Build the stage of an option, with its fingerprint and series; arguments as in `get`."""
    stores = {
        parameter.name: store for parameter in option.parameters.values() if parameter.injects_store
    }
    with _explained(
        f"{place}={option.name} cannot be built",
        lambda error: explain_build_error(error, option),
        refusals=_REFUSALS,
    ):
        stage = option.cls(**values, **injected, **stores)
    set_origin(stage, place, option)
    stage.config_place = place
    with _explained(
        f"{place}={option.name} cannot be identified", lambda error: explain_error(error, stage)
    ):
        stage.fingerprint = fingerprint_stage(option, values, injected, stage)
        stage.series = _compute_series(option, values, injected, stage)
    return stage


pool = StagePool()


_REFUSALS = (ImportError, TypeError, ValueError)
"""The errors by which a constructor says that a value or a library will not do."""


@contextmanager
def _explained(
    what: str,
    explain: Callable[[BaseException], str],
    *,
    refusals: tuple[type[Exception], ...] = (),
) -> Iterator[None]:
    """Turn an error of a plugin's into one that says where it was raised.

    The log has the traceback.

    Raises:
        ConfigError: the error is one of the refusals.
        StageFault: it is any other.
    """
    try:
        yield
    except ConvragError:
        raise
    except BaseException as error:
        if not is_failure(error):
            raise
        message = f"{what}: {explain(error)}"
        log.info("%s", message, exc_info=error)
        raise (ConfigError if isinstance(error, refusals) else StageFault)(message) from error


def fingerprint_stage(
    option: Option, values: Mapping[str, Any], injected: Mapping[str, Any], stage: Stage
) -> str:
    """Compute the fingerprint of a stage that was built from an option.

    Args:
        option: the option.
        values: the plain parameters.
        injected: the stages that were given for the other parameters, by name.
        stage: the stage.
    """
    parameters = {**_select_result_parameters(option, values, stage), **injected}
    return compute_fingerprint(stage, option.name, parameters)


def _compute_series(
    option: Option, values: Mapping[str, Any], injected: Mapping[str, Any], stage: Stage
) -> str:
    """Compute `Stage.series`: a path counts by its name, an injected stage by its own series."""
    others = {
        name: other.series if isinstance(other, Stage) else other
        for name, other in injected.items()
    }
    if "" in others.values():
        return ""  # a stage that was built by hand
    named = replace_paths(_drop_operational(option, values), Path.absolute)
    return compute_fingerprint(stage, option.name, {**named, **others}, with_files=False)


def _select_result_parameters(
    option: Option, values: Mapping[str, Any], stage: Stage
) -> dict[str, Any]:
    """Select the parameters that bear on results.

    A file counts with the hash of its contents, not with its path.
    """
    selected = _drop_operational(option, values)
    if stage.content_hash():
        return {name: value for name, value in selected.items() if not _holds_paths(value)}
    return {name: replace_paths(value, _hash_contents) for name, value in selected.items()}


def _drop_operational(option: Option, values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters without those that do not bear on results."""
    parameters = option.parameters
    return {name: value for name, value in values.items() if not parameters[name].operational}


def _holds_paths(value: Any) -> bool:
    """Whether a parameter is a path, or a list of paths."""
    items = value if isinstance(value, list | tuple) else [value]
    return bool(items) and all(isinstance(item, Path) for item in items)


def _hash_contents(path: Path) -> Any:
    """Return the hash of a file, or the list of a folder's files; a missing path stays as it is."""
    if path.is_dir():
        return _list_folder(path)
    return file_hash(path) or path


def _list_folder(folder: Path) -> list[list[Any]]:
    """List the files below a folder with their sizes and the times of their last changes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns]
        for path in files
    ]


def describe_stage(option: Option, values: Mapping[str, Any], written: Any) -> dict[str, Any]:
    """Describe a stage by its option and the parameters that bear on results.

    The description is plain data without secrets. Paths are absolute. A reference such as
    ${oc.env:KEY} stays a reference, since nobody can tell whether it is secret.

    Args:
        option: the option.
        values: its plain parameters, checked.
        written: its node of the configuration, unresolved; None where it has no node.
    """
    nodes = written if isinstance(written, Mapping) else {}
    secrets = list_held_secrets()
    parameters = {
        name: _describe_value(name, value, nodes.get(name), secrets)
        for name, value in _drop_operational(option, values).items()
    }
    described: dict[str, Any] = parse_json(format_json({OPTION_KEY: option.name, **parameters}))
    return described


def _describe_value(name: str, value: Any, written: Any, secrets: Mapping[str, str]) -> Any:
    """Return a parameter as plain data, masked if it is secret."""
    if "${" in str(written) and not isinstance(value, Path):
        plain = written
    else:
        plain = plain_value(replace_paths(value, lambda path: str(path.expanduser().absolute())))
    if not plain:
        return plain
    is_named_secret = is_secret_name(name) and isinstance(plain, str) and "${" not in plain
    if is_named_secret or describe_secret(str(plain), secrets):
        return MASK
    return plain


def replace_paths(value: Any, replace: Callable[[Path], Any]) -> Any:
    """Replace the paths in a value, also in lists and dictionaries."""
    if isinstance(value, Path):
        return replace(value)
    if isinstance(value, Mapping):
        return {key: replace_paths(item, replace) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [replace_paths(item, replace) for item in value]
    return value
