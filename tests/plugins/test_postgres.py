"""PostgreSQL without a server: what is tried again, and how often."""

import time

import pytest

from convrag import ConfigError
from convrag.config.compose import compose, settings_of

pytest.importorskip("psycopg")
pytestmark = pytest.mark.integration


@pytest.mark.parametrize("state", ["40P01", "40001"])
def test_transactions_that_waited_for_each_other_are_done_again_after_pauses_a_few_times(
    state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    import psycopg

    from convrag_postgres import server

    pauses: list[float] = []
    monkeypatch.setattr(server, "sleep", pauses.append)
    own = server.Server(server.Address("postgresql://127.0.0.1:1/none", "store.url"))
    own._was_reached = True
    attempts = 0
    end = time.monotonic() + 2

    def attempt() -> None:
        nonlocal attempts
        attempts += 1
        if time.monotonic() > end:
            raise AssertionError("it is done again for ever")
        raise psycopg.errors.lookup(state)("deadlock detected")

    with pytest.raises(ConfigError, match="deadlock detected"):
        own.retry(attempt)
    assert attempts == server.CONFLICTS + 1 == len(pauses) + 1
    assert all(pause > 0 for pause in pauses)
    assert len(set(pauses)) == len(pauses), "those that waited for each other would meet again"


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(ConfigError, match="holds a password") as caught:
        settings_of(compose("store.url='postgresql://me:hunter2@h/db'"))
    assert "hunter2" not in str(caught.value)
