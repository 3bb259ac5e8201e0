"""Classes as their source has them: found and read without importing their module.

A plugin registers "acme.rewriter:TopicRewriter"; help, `requires` and parameters are read from the text of that class.
Where the text does not say it plainly, the answer is None, and the caller imports the class.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, cached_property

from convrag.api.groups import GROUPS
from convrag.registry.class_checks import find_malformed
from convrag.registry.module_source import WrongPath, find_module, read_literal, read_module, resolve_relative

_KERNEL = "convrag"
_STAGES = frozenset(["Stage", *(stage.__name__ for stage in GROUPS.values())])
_LONGEST_CHAIN = 8
"""How many re-exports and base classes are followed, one after the other."""

_HEADER = re.compile(
    r"^class[ \t]+(?P<name>\w+)[ \t]*(?:\((?P<bases>[^()]*)\))?[ \t]*:[ \t]*(?:#[^\n]*)?$", re.MULTILINE
)
_IMPORT = re.compile(r"^from[ \t]+([\w.]+)[ \t]+import[ \t]+(?:\(([^)]*)\)|([^\n#]*))", re.MULTILINE)
_STATEMENT = re.compile(r"^(?:class |def |async def |@)", re.MULTILINE)
_DOCSTRING = re.compile(r'\s*[rR]?(?:"""(.*?)"""|"([^"\n]*)"|\'\'\'(.*?)\'\'\')[ \t]*(?:#[^\n]*)?(?:\n|$)', re.DOTALL)


@cache
def find_class(target: str) -> ClassSource | None:
    """The class that "package.module:Class" names; None where its text does not say where the class comes from.

    Raises:
        WrongPath: there is no such module, or the name does not occur in it.
    """
    module, _, name = target.partition(":")
    if not name.isidentifier():
        raise WrongPath('a path is written "package.module:Class"')
    for _ in range(_LONGEST_CHAIN):
        text = read_module(module)
        if text is None:
            return None
        if found := _find_headers(text).get(name):
            return ClassSource(module, name, text, found)
        origin = _imported_from(text, module, name)
        if origin is None:
            if re.search(rf"\b{name}\b|\b__getattr__\b|\bimport \*|\bglobals\(\)", text):
                return None
            raise WrongPath(f"{module} has no class {name}")
        module, name = origin
    return None


@dataclass(frozen=True)
class ClassSource:
    """The text of a class, and where it stands in the text of its module."""

    module: str
    name: str
    text: str
    header: re.Match[str]

    @property
    def file(self) -> str:
        """The file of the module."""
        spec = find_module(self.module)
        return str(spec.origin) if spec and spec.origin else ""

    @cached_property
    def body(self) -> str:
        """The text below the header, up to the next class or function of the module."""
        end = _STATEMENT.search(self.text, self.header.end())
        return self.text[self.header.end() : end.start() if end else len(self.text)]

    @property
    def decorated(self) -> bool:
        """Whether a decorator stands above it, which may change everything (a dataclass has another constructor)."""
        above = self.text[: self.header.start()].removesuffix("\n").rpartition("\n")[2]
        return above.startswith(("@", ")", " "))

    @cached_property
    def summary(self) -> str | None:
        """The first line of the docstring."""
        found = _DOCSTRING.match(self.body)
        if not found:
            return None
        text = next(group for group in found.groups() if group is not None)
        if "\\" in text:
            text = ast.literal_eval(found[0].strip())
        return inspect.cleandoc(text).partition("\n")[0]

    @cached_property
    def requires(self) -> Mapping[str, str] | None:
        """What the class says in `requires`, or inherits, where that is a literal."""
        if self.decorated:
            return None
        if found := self.search(r"requires\b[^=\n]*=[ \t]*"):
            value = read_literal(self.body[found.end() :])
            return value if isinstance(value, dict) and find_malformed(value) is None else None
        if self.plain:
            return {}
        return self.bases[0].requires if self.bases else None

    def search(self, pattern: str) -> re.Match[str] | None:
        """Find what stands at the beginning of a line of the class's own level."""
        indent = re.search(r"^[ \t]+(?=\S)", self.body, re.MULTILINE)
        return re.search(f"^{indent[0]}{pattern}", self.body, re.MULTILINE) if indent else None

    @cached_property
    def base_names(self) -> list[str]:
        """The base classes as they are written, without keywords."""
        return [each.strip() for each in (self.header["bases"] or "").split(",") if each.strip() and "=" not in each]

    @cached_property
    def plain(self) -> bool:
        """Whether it derives from a stage of ours alone, which requires nothing and has no constructor."""
        return len(self.base_names) == 1 and self._is_stage(self.base_names[0])

    @cached_property
    def bases(self) -> tuple[ClassSource, ...]:
        """The one base class that is no stage of ours; nothing where there are more of them, or it is not found."""
        if len(self.base_names) != 1 or self.plain or not self.base_names[0].isidentifier():
            return ()
        name = self.base_names[0]
        module, name = _imported_from(self.text, self.module, name) or (self.module, name)
        try:
            found = find_class(f"{module}:{name}")
        except WrongPath:
            return ()
        return () if found is None or found.header is self.header else (found,)

    def _is_stage(self, base: str) -> bool:
        if base.startswith(f"{_KERNEL}."):
            return base.removeprefix(f"{_KERNEL}.") in _STAGES
        module, name = _imported_from(self.text, self.module, base) or ("", "")
        return name in _STAGES and module.partition(".")[0] == _KERNEL


@cache
@cache
def _find_headers(text: str) -> Mapping[str, re.Match[str]]:
    """Class -> its header, for all classes of a module."""
    headers: dict[str, re.Match[str]] = {}
    for found in _HEADER.finditer(text):
        headers.setdefault(found["name"], found)
    return headers


def _imported_from(text: str, module: str, name: str) -> tuple[str, str] | None:
    """The module and the name that `from module import ...` takes a name from."""
    if not re.search(rf"\b{name}\b", text):
        return None
    for found in _IMPORT.finditer(text):
        for item in re.sub(r"#[^\n]*", "", found[2] or found[3] or "").split(","):
            words = item.split()
            if words and words[-1] == name and len(words) in (1, 3):
                return resolve_relative(found[1], module), words[0]
    return None
