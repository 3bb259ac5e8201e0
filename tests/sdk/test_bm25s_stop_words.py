from __future__ import annotations

import subprocess
import sys

import pytest

from convrag.api.errors import ConvragError
from convrag.sdk import bm25s_stop_words as module
from convrag.sdk.bm25s_stop_words import bm25s_stop_words


def test_they_are_the_list_of_the_package() -> None:
    from bm25s.stopwords import STOPWORDS_EN_PLUS

    assert bm25s_stop_words() == frozenset(STOPWORDS_EN_PLUS)
    assert {"the", "whom"} < bm25s_stop_words()
    assert "question" not in bm25s_stop_words()


def test_the_package_is_not_imported_for_them() -> None:
    code = (
        "import sys; from convrag.sdk.bm25s_stop_words import *; bm25s_stop_words(); sys.exit('numba' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_the_package_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_spec", lambda name: None)
    with pytest.raises(ConvragError, match="pip install bm25s"):
        bm25s_stop_words.__wrapped__()
