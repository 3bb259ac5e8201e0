"""Messages without the secrets of the environment, which is searched once for as long as it stays as it is."""

import os

import pytest

from convrag.api import secrets
from convrag.api.secrets import redact


def test_the_environment_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ACME_PROXY", "http://ada:opensesame@proxy")
    searched: list[str] = []

    def find_parts(address: str) -> list[str]:
        searched.append(address)
        return ["opensesame"]

    monkeypatch.setattr(secrets, "_find_secret_parts", find_parts)
    assert [redact("said opensesame") for _ in range(10)] == ["said ***"] * 10
    assert searched.count("http://ada:opensesame@proxy") == 1


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
