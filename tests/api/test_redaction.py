"""Messages without the secrets of the environment."""

import os

import pytest

from convrag.api.secrets import redact


def test_a_changed_environment_is_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_API_KEY", "first-secret")
    assert redact("first-secret second-secret") == "*** second-secret"
    monkeypatch.setenv("ACME_API_KEY", "second-secret")
    assert redact("first-secret second-secret") == "first-secret ***"
    monkeypatch.delenv("ACME_API_KEY")
    assert redact("first-secret second-secret") == "first-secret second-secret"


def test_an_environment_of_ones_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """A program may put a plain dictionary in the place of os.environ."""
    monkeypatch.setattr(os, "environ", {"ACME_API_KEY": "first-secret"})
    assert redact("first-secret") == "***"
