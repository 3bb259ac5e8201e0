"""PostgreSQL without a server."""

import pytest

from convrag import ConfigError
from convrag.config.compose import compose, read_settings

pytest.importorskip("psycopg")
pytestmark = pytest.mark.integration


def test_an_address_with_a_password_is_refused() -> None:
    with pytest.raises(ConfigError, match="holds a password") as caught:
        read_settings(compose("store.url='postgresql://me:hunter2@h/db'"))
    assert "hunter2" not in str(caught.value)
