import sys

import pytest

from convrag.api.errors import is_installed, missing_extra


@pytest.mark.parametrize("module", ["json", "json.decoder", "convrag.api.errors"])
def test_what_is_there(module: str) -> None:
    assert is_installed(module)


@pytest.mark.parametrize(
    "module", ["nowhere", "nowhere.below", "json.nowhere", "sys.nowhere", "json.decoder.deep.er"]
)
def test_what_is_not(module: str) -> None:
    assert not is_installed(module)


def test_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "this", raising=False)
    assert is_installed("this")
    assert "this" not in sys.modules


def test_what_to_install_is_said_once() -> None:
    assert missing_extra({"json": "acme[a]"}, "llm=x") is None
    both = missing_extra({"nowhere": "acme[a]", "json": "acme[c]", "elsewhere": "acme[a]"}, "llm=x")
    assert (
        str(both)
        == "llm=x needs nowhere and elsewhere, which are not installed: pip install 'acme[a]'"
    )
