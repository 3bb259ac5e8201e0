from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, strategies as st

from convrag.store.files import encode_name

NAMES = st.text() | st.text("aAbB./\\%=+~:", max_size=8) | st.text(min_size=100, max_size=400)


@pytest.mark.parametrize("name", ["clapnq", "default", "my_domain-2", "v1.2", "0a1b2c"])
def test_an_ordinary_name_stays_as_it_is(name: str) -> None:
    assert encode_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *(
            "",
            ".",
            "..",
            "../../../ESC",
            "sales/eu",
            "C:\\x",
            "nul",
            "CON.txt",
            "com1",
            ".hidden",
            "end.",
            "a b",
        ),
        *("a~1", "~", "x" * 300, "茶" * 100, "X" * 200, "\ud800", "\x00", "a\nb"),
    ],
)
def test_any_name_is_one_plain_file_name(name: str) -> None:
    encoded = encode_name(name)
    assert encoded.isascii()
    assert 0 < len(encoded) <= 120
    assert not set(encoded) & set('/\\:*?"<>|~ \n\x00')
    assert encoded[0] != "."
    assert encoded[-1] != "."
    assert encoded.split(".")[0].casefold() not in {"con", "nul", "com1"}


@given(NAMES, NAMES)
@example("Sales", "sales")
@example("a/b", "a%2Fb")
@example("", "%=0")
@example("Sales", "Sales%=1")
@example("x" * 300, "x" * 299 + "y")
@example("X" * 100, "x" * 100)
@example("ſ", "s")
def test_two_names_are_two_files_also_where_case_is_ignored(one: str, other: str) -> None:
    assert (encode_name(one).casefold() == encode_name(other).casefold()) == (one == other)


@given(st.lists(NAMES, unique=True, min_size=1, max_size=5))
def test_names_are_written_inside_the_folder(names: list[str]) -> None:
    with TemporaryDirectory() as folder:
        for name in names:
            (Path(folder) / f"{encode_name(name)}.jsonl").write_text(str(len(name)))
        written = list(Path(folder).glob("*.jsonl"))
        assert len(written) == len(names)
        assert {path.name for path in written} == {path.name for path in Path(folder).iterdir()}
