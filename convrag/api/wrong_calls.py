"""A call whose arguments do not fit, in words: "embed(texts, True): query is keyword-only".

Python says how many arguments a function takes, and not which of them are wrong; the line of the call has the rest.
"""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from convrag.api.stage import Stage

_BINDING = ("inspect", "convrag.store.remember")
"""Modules that bind arguments on behalf of a caller: of a remembered method."""

_LONGEST = 80


@dataclass(frozen=True)
class WrongCall:
    """A call with arguments that do not fit.

    Args:
        caller: the object whose method makes the call; None where that is no method.
        called: the function, method or class.
        name: its last name where it is called: "embed".
        text: the call as it is written, from that name on: "embed(texts, True)".
        positional: how many arguments are given by position.
        keywords: the names of the others.
    """

    caller: Any
    called: Callable[..., Any]
    name: str
    text: str
    positional: int
    keywords: tuple[str, ...]

    @property
    def mistake(self) -> str:
        """What is wrong with the arguments: "query is keyword-only"; empty where they fit."""
        return self.compare(inspect.signature(self.called))

    def compare(self, signature: inspect.Signature) -> str:
        """Say what would be wrong with the arguments if this were the signature; empty where they would fit."""
        return find_mistake(signature, self.positional, self.keywords)

    @property
    def written(self) -> str:
        """What is called, as it is written: "embed(texts, *, query=False)"."""
        return f"{self.name}{_strip_annotations(inspect.signature(self.called))}"

    @property
    def owner(self) -> Stage | None:
        """The stage whose method is called; None where it is no stage's."""
        owner = getattr(inspect.unwrap(self.called), "__self__", None)
        return owner if isinstance(owner, Stage) else None

    @property
    def promised(self) -> str:
        """How the stages of its kind are called, where the call fits that: then the stage is wrong, not its caller."""
        for cls in type(self.owner).__mro__:
            if cls.__module__.startswith("convrag.api.") and self.name in vars(cls):
                signature = inspect.signature(vars(cls)[self.name])
                bare = signature.replace(parameters=list(signature.parameters.values())[1:])
                return "" if self.compare(bare) else f"{self.name}{_strip_annotations(bare)}"
        return ""

    def __str__(self) -> str:
        return f"{self.text}: {self.mistake}; it is {self.written}"


def find_wrong_call(error: BaseException) -> WrongCall | None:
    """Return the call that a TypeError is about; None where its arguments are not what is wrong, or nobody can tell."""
    if not isinstance(error, TypeError):
        return None
    frames = _walk(error)
    while len(frames) > 1 and frames[-1][0].f_globals.get("__name__") in _BINDING:
        frames.pop()
    if not frames:
        return None
    frame, instruction = frames[-1]
    try:
        text = _read_source(frame.f_code, instruction)
        call = ast.parse(text.strip(), mode="eval").body if text else None
        if not isinstance(call, ast.Call):
            return None
        keywords = tuple(keyword.arg for keyword in call.keywords if keyword.arg)
        if len(keywords) < len(call.keywords) or any(isinstance(each, ast.Starred) for each in call.args):
            return None  # what `*` and `**` stand for is not known any more
        name = ast.unparse(call.func).rpartition(".")[2]
        called = _resolve(call.func, frame)
        caller = frame.f_locals.get("self")
        wrong = WrongCall(caller, called, name, _name_call(name, call), len(call.args), keywords)
        return wrong if wrong.mistake else None
    except (AttributeError, LookupError, SyntaxError, TypeError, ValueError):
        return None


def describe_error(error: BaseException) -> str:
    """Describe an error by its type and its message; one about the arguments of a call by that call."""
    wrong = find_wrong_call(error)
    return f"{type(error).__name__}: {f'it called {wrong}' if wrong else error}"


def find_mistake(signature: inspect.Signature, positional: int, keywords: Sequence[str]) -> str:
    """Say what is wrong with a call of so many positional arguments and these keywords; empty where it fits."""
    parameters = signature.parameters.values()
    kinds = {parameter.kind for parameter in parameters}
    placed = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in parameters if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
    if positional > len(placed) and inspect.Parameter.VAR_POSITIONAL not in kinds:
        only = [p.name for p in parameters if p.kind is p.KEYWORD_ONLY and p.name not in keywords]
        if only:
            return f"{only[0]} is keyword-only"
        return f"{positional} arguments are given, and it takes {len(placed) or 'none'}"
    if twice := [name for name in placed[:positional] if name in keywords]:
        return f"{twice[0]} is given twice"
    unknown = [keyword for keyword in keywords if keyword not in named]
    if unknown and inspect.Parameter.VAR_KEYWORD not in kinds:
        only_placed = unknown[0] in placed
        return f"{unknown[0]} is positional-only" if only_placed else f"it has no parameter {unknown[0]}"
    given = {*placed[:positional], *keywords}
    missing = [p.name for p in parameters if p.name in (*placed, *named) and p.default is p.empty]
    return next((f"{name} is missing" for name in missing if name not in given), "")


def _strip_annotations(signature: inspect.Signature) -> inspect.Signature:
    """A signature without annotations."""
    bare = [parameter.replace(annotation=inspect.Parameter.empty) for parameter in signature.parameters.values()]
    return signature.replace(parameters=bare, return_annotation=inspect.Signature.empty)


def _walk(error: BaseException) -> list[tuple[FrameType, int]]:
    """The frames of an error, the innermost last, each with the instruction that it was at."""
    trace, found = error.__traceback__, []
    while trace is not None:
        found.append((trace.tb_frame, trace.tb_lasti))
        trace = trace.tb_next
    return found


def _read_source(code: CodeType, instruction: int) -> str:
    """The text of an instruction's expression; empty where Python does not know its place."""
    place = next(islice(code.co_positions(), instruction // 2, None), None)
    if place is None or None in place:
        return ""
    first, last, start, end = (int(number or 0) for number in place)
    lines = [linecache.getline(code.co_filename, number).encode() for number in range(first, last + 1)]
    if not all(lines):
        return ""
    lines[-1] = lines[-1][:end]
    lines[0] = lines[0][start:]
    return b"".join(lines).decode()


def _resolve(function: ast.expr, frame: FrameType) -> Callable[..., Any]:
    """What a name, or a name with attributes, stands for where the call was made."""
    if isinstance(function, ast.Attribute):
        resolved: Callable[..., Any] = getattr(_resolve(function.value, frame), function.attr)
        return resolved
    if not isinstance(function, ast.Name):
        raise LookupError("what is called is no name")
    for names in (frame.f_locals, frame.f_globals, vars(builtins)):
        if function.id in names:
            found: Callable[..., Any] = names[function.id]
            return found
    raise LookupError(function.id)


def _name_call(name: str, call: ast.Call) -> str:
    given = [ast.unparse(argument) for argument in call.args]
    given += [f"{keyword.arg}={ast.unparse(keyword.value)}" for keyword in call.keywords]
    text = ", ".join(given)
    return f"{name}({text if len(text) <= _LONGEST else text[:_LONGEST] + ' ...'})"
