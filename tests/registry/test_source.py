import sys
from pathlib import Path

import pytest

from convrag.registry.source import ClassSource, WrongPath, find_class, find_module, read_summary
from written_modules import make_modules

MODULE = '''
"""Rewriters."""

from pathlib import Path

from convrag import (
    LLM,
    Clusterer,  # groups
    Rewriter,
    use,
)
from src_acme.base import Base as Other

MEASURES = (
    "R@5",
    "nDCG@5",
)


class First(Rewriter):
    """Say it first.

    Args:
        n: how often.
    """

    requires = {
        "torch": "acme[gpu]",
    }

    def __init__(
        self,
        *,
        llm: LLM,
        clusterer: Clusterer = use("kmeans"),
        second: LLM | None = None,
        n: int = 3,
        folder: Path = Path("a/b"),
        measures: tuple[str, ...] = MEASURES,
        text: str,
        choose=lambda each: each,
    ) -> None:
        self.n = n


class Second(Other):
    r"""Say it \\second."""


class Third(First): "Third."


@decorate
class Fourth(Rewriter):
    """Whatever."""

    requires = {"torch": "acme"}


@dataclass(kw_only=True, eq=False)
class Fields(Rewriter):
    requires: ClassVar[Mapping[str, str]] = {"torch": "acme"}
    clusterer: Clusterer = use("kmeans")
    text: str
    n: Annotated[int, Ge(1)] = 3

    def __post_init__(self) -> None:
        self.tone = "calm"


class Inheriting(Fields):
    pass


@dataclass(kw_only=True, eq=False)
class More(Inheriting, Rewriter):
    n: int = 4
    m: int = 5


@dataclass
class Mixed(Other):
    n: int = 3


@dataclass
class Unknown(Fourth):
    n: int = 3


class Bare(Rewriter):
    pass


class Toned(Rewriter):
    def __init__(self, *, tone: Tone, n: int = 3) -> None: ...


class Counted(Rewriter):
    """Is counted."""

    requires = {name: "acme" for name in ("torch",)}


def make():
    class Inner(Rewriter):
        """Inside."""
'''
FILES = {
    "src_acme/__init__.py": "raise AssertionError('imported')",
    "src_acme/rewriters.py": MODULE,
    "src_acme/base.py": (
        "import convrag\nclass Base(convrag.Rewriter):\n    'Base.'\n    requires: dict = {}\n\n"
        "    def __init__(self, *, store: Store, alpha: float = -0.5):\n        pass\n"
    ),
    "src_acme/public.py": "from .rewriters import First\nfrom src_acme.rewriters import Second as Renamed\n",
    "src_acme/made.py": "globals()['Made'] = 3\n",
    "src_acme/broken.py": "class Broken(:\n    '''Broken.'''\n",
}


@pytest.fixture(autouse=True)
def modules(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_modules(tmp_path, monkeypatch, FILES)


def found(name: str, module: str = "rewriters") -> ClassSource:
    source = find_class(f"src_acme.{module}:{name}")
    assert source is not None
    return source


def test_help_and_requirements_are_read_without_importing() -> None:
    assert read_summary("src_acme.rewriters:First") == "Say it first."
    assert found("First").requires == {"torch": "acme[gpu]"}
    assert not [name for name in sys.modules if name.startswith("src_acme")]


def test_the_signature_is_read_as_it_is_written() -> None:
    parameters = found("First").parameters
    assert parameters is not None
    assert list(parameters) == [
        "llm",
        "clusterer",
        "second",
        "n",
        "folder",
        "measures",
        "text",
        "choose",
    ]
    expected = {"llm": "llm", "clusterer": "clusterer", "second": "llm"}
    assert {name: p.group for name, p in parameters.items() if p.group} == expected
    assert parameters["clusterer"].used_option == "kmeans"
    values = {
        name: "???" if p.required else p.default for name, p in parameters.items() if not p.group
    }
    assert values == {
        "n": 3,
        "folder": Path("a/b"),
        "measures": ("R@5", "nDCG@5"),
        "text": "???",
        "choose": "lambda each: each",
    }


@pytest.mark.parametrize("name", ["Fields", "Inheriting"])
def test_the_fields_of_a_dataclass_are_its_parameters(name: str) -> None:
    parameters = found(name).parameters
    assert parameters is not None
    read = {
        name: each.used_option or (each.required, each.type, each.known)
        for name, each in parameters.items()
    }
    assert read == {"clusterer": "kmeans", "text": (True, str, True), "n": (False, int, True)}
    assert found(name).requires == {"torch": "acme"}
    more = found("More").parameters
    assert more is not None
    assert {name: each.default for name, each in more.items() if name in "nm"} == {"n": 4, "m": 5}
    assert list(more) == ["clusterer", "text", "n", "m"]
    assert found("Mixed").parameters is None, "its base has a constructor, which is not called"
    assert found("Unknown").parameters is None, "nobody knows what its base has"


def test_what_is_inherited_is_followed() -> None:
    second = found("Second")
    assert read_summary("src_acme.rewriters:Second") == r"Say it \second."
    assert second.requires == {}
    parameters = second.parameters
    assert parameters is not None
    assert parameters["store"].injects_store
    assert parameters["alpha"].default == -0.5
    assert found("Bare").requires == {}
    assert found("Bare").parameters == {}


def test_exports_are_followed() -> None:
    assert found("First", "public").module == "src_acme.rewriters"
    assert found("Renamed", "public").node.name == "Second"
    assert read_summary("src_acme.public:Renamed") is None  # the class is imported for it


def test_what_the_text_does_not_say_plainly_is_not_guessed() -> None:
    assert read_summary("src_acme.rewriters:Bare") is None
    assert read_summary("src_acme.nowhere:Bare") is None
    assert found("Counted").requires is None
    assert found("Fourth").requires is None
    assert found("Fourth").parameters is None
    toned = found("Toned").parameters
    assert toned is not None
    assert [each.known for each in toned.values()] == [False, True], "Tone may be anything"
    assert find_class("src_acme.made:Made") is None
    assert find_class("src_acme.broken:Broken") is None


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("src_acme.rewriters:Nothing", "src_acme.rewriters has no class Nothing"),
        ("src_acme.nowhere:First", "there is no module src_acme.nowhere"),
        ("src_acme.rewriters.deeper:First", "there is no module src_acme.rewriters.deeper"),
        ("src_nowhere:First", "there is no module src_nowhere"),
        ("src_acme.rewriters", '"package.module:Class"'),
        ("src acme:First", "there is no module src acme"),
        (":First", "there is no module"),
    ],
)
def test_a_wrong_path_says_what_is_not_there(path: str, message: str) -> None:
    with pytest.raises(WrongPath, match=message):
        find_class(path)


def test_a_module_of_a_package_is_found_without_importing_the_package() -> None:
    assert find_module("src_acme.base") is not None
    assert find_module("email.mime.text") is not None
    assert not [name for name in sys.modules if name.startswith("src_acme")]
