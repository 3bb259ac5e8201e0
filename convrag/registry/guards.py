"""Guards around a plugin's hooks: what raises, or returns nonsense, costs one warning, and the run goes on.

pluggy is given a GuardedPlugin in the plugin's place, with the marks of `@hookimpl` on its functions: wrappers,
`tryfirst`, `trylast` and `specname` work as everywhere. A failing wrapper is left out, and the inner result comes
through.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Generator, Mapping
from functools import wraps
from typing import Any

import pluggy

from convrag.api.locations import locate_error, locate_function
from convrag.api.wrong_calls import describe_error
from convrag.registry.hook_results import CHECKED, NonsenseResult, check_result, check_results
from convrag.registry.tracing import argument_names, call_traced, write_trace

REGISTERING = frozenset({"convrag_register", "convrag_config_packages", "convrag_open_database"})
"""Hooks whose failures are the registry's concern: they are traced, and raise."""

Wrapper = Generator[Any, Any, Any]
"""The generator of a hook that wraps others: it goes on when they have been called."""

log = logging.getLogger(__name__)


class GuardedPlugin:
    """The hooks of one plugin behind guards: pluggy finds them as attributes.

    Args:
        plugin: the plugin itself.
        hooks: the name of each function in the plugin -> what is called instead.
    """

    def __init__(self, plugin: object, hooks: Mapping[str, Callable[..., Any]]) -> None:
        vars(self).update(hooks)
        self.guarded_plugin = plugin
        self._names = list(hooks)

    def __dir__(self) -> list[str]:
        return self._names


class Guard:
    """Makes guarded functions for one plugin, and warns of it once.

    Args:
        plugin: its name in messages ("acme-dist:acme").
        package: the top-level name of its modules ("acme").
    """

    def __init__(self, plugin: str, package: str) -> None:
        self.plugin = plugin
        self.package = package
        self._warned = False

    def wrap(self, hook: str, function: Callable[..., Any], marks: Mapping[str, Any]) -> Callable[..., Any]:
        """Guard an implementation of a hook; `marks` are what `@hookimpl` was given."""
        wrapper = marks.get("wrapper") or marks.get("hookwrapper")
        if hook in REGISTERING:
            return function if wrapper else self._traced(hook, function)
        if marks.get("wrapper"):
            return self._guarded_wrapper(hook, function)
        if marks.get("hookwrapper"):
            return self._guarded_old_wrapper(hook, function)
        return self._guarded(hook, function)

    def warn(self, hook: str, error: BaseException, function: Callable[..., Any]) -> None:
        """Log what went wrong, and where in the plugin; only the first warning of a plugin is one."""
        level = logging.DEBUG if self._warned else logging.WARNING
        self._warned = True
        raised = "" if isinstance(error, NonsenseResult) else locate_error(error, {self.package})
        place = f" ({found})" if (found := raised or locate_function(function)) else ""
        if isinstance(error, NonsenseResult):
            log.log(level, "plugin %s: %s returned %s%s", self.plugin, hook, error, place)
        else:
            said = describe_error(error)
            log.log(level, "plugin %s failed in %s: %s%s", self.plugin, hook, said, place, exc_info=error)

    def _traced(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        names = argument_names(function)

        @wraps(function)
        def traced(*args: Any, **kwargs: Any) -> Any:
            return call_traced(hook, self.plugin, function, dict(zip(names, args, strict=False)) | kwargs)

        return traced

    def _guarded(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        call = self._traced(hook, function)

        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            try:
                return check_result(hook, call(*args, **kwargs))
            except Exception as error:
                self.warn(hook, error, function)
                return None

        return guarded

    def _guarded_wrapper(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        names = argument_names(function)

        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Generator[None, Any, Any]:
            start = time.perf_counter()
            wrapper = self._start(hook, function, args, kwargs)
            try:
                result = yield
            except BaseException as error:  # of the run's own observers: a wrapper sees it, and cannot keep it
                if wrapper is not None:
                    self._throw(hook, wrapper, error, function)
                raise
            if wrapper is not None:
                result = self._finish(hook, wrapper, result, function)
                write_trace(hook, self.plugin, names, start)
            return result

        return guarded

    def _guarded_old_wrapper(self, hook: str, function: Callable[..., Any]) -> Callable[..., Any]:
        names = argument_names(function)

        @wraps(function)
        def guarded(*args: Any, **kwargs: Any) -> Generator[None, Any, None]:
            start = time.perf_counter()
            wrapper = self._start(hook, function, args, kwargs)
            outcome = yield
            if wrapper is not None:
                self._finish_old(hook, wrapper, outcome, function)
                write_trace(hook, self.plugin, names, start)

        return guarded

    def _start(self, hook: str, function: Callable[..., Any], args: Any, kwargs: Any) -> Wrapper | None:
        """Run a wrapper up to its `yield`; None where it does not come to it."""
        try:
            wrapper: Wrapper = function(*args, **kwargs)
            next(wrapper)
        except StopIteration:
            self.warn(hook, RuntimeError("a wrapper yields once, and it did not"), function)
            return None
        except Exception as error:
            self.warn(hook, error, function)
            return None
        return wrapper

    def _finish(self, hook: str, wrapper: Wrapper, result: Any, function: Callable[..., Any]) -> Any:
        """Run a wrapper to its end, and give the result that it makes of the inner one."""
        try:
            wrapper.send(result)
        except StopIteration as stop:
            try:
                return check_results(hook, stop.value) if hook in CHECKED else result
            except NonsenseResult as error:
                self.warn(hook, error, function)
                return result
        except Exception as error:
            self.warn(hook, error, function)
            return result
        self._close(hook, wrapper, function)
        return result

    def _throw(self, hook: str, wrapper: Wrapper, error: BaseException, function: Callable[..., Any]) -> None:
        try:
            wrapper.throw(error)
        except StopIteration:
            return
        except Exception as raised:
            if raised is not error:
                self.warn(hook, raised, function)
            return
        except BaseException as raised:
            if raised is not error:
                raise
            return
        self._close(hook, wrapper, function)

    def _finish_old(
        self, hook: str, wrapper: Wrapper, outcome: pluggy.Result[Any], function: Callable[..., Any]
    ) -> None:
        """Run a wrapper of pluggy's old style to its end; it may change the outcome, but not an error into a result."""
        error = outcome.exception
        result = None if error else outcome.get_result()
        try:
            wrapper.send(outcome)
        except StopIteration:
            pass
        except Exception as raised:
            if raised is not error:
                self.warn(hook, raised, function)
        else:
            self._close(hook, wrapper, function)
        if error is not None:
            outcome.force_exception(error)
            return
        try:
            outcome.force_result(check_results(hook, outcome.get_result()) if hook in CHECKED else result)
        except Exception as changed:
            self.warn(hook, changed, function)
            outcome.force_result(result)

    def _close(self, hook: str, wrapper: Wrapper, function: Callable[..., Any]) -> None:
        wrapper.close()
        self.warn(hook, RuntimeError("a wrapper yields once, and it did so twice"), function)
