"""English stems."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from convrag.sdk.stemming import stem_words


def test_inflected_forms_have_one_stem() -> None:
    assert stem_words(["whistle", "whistles", "whistling", "whistled"]) == ["whistl"] * 4
    assert stem_words(["boiling", "kettles", "boils"]) == ["boil", "kettl", "boil"]


def test_words_keep_their_order_and_number() -> None:
    assert stem_words([]) == []
    assert stem_words(("", "2026", "緑茶", "вода", "steel")) == ["", "2026", "緑茶", "вода", "steel"]


def test_many_threads_at_once() -> None:
    words = [f"{word}{ending}" for word in ("boil", "whistl", "connect") for ending in ("ing", "ed", "s")] * 200
    expected = stem_words(words)
    together = threading.Barrier(8)

    def stem(_: int) -> list[str]:
        together.wait(timeout=10)
        return stem_words(words)

    with ThreadPoolExecutor(8) as pool:
        assert all(stems == expected for stems in pool.map(stem, range(8)))


def test_the_stemmer_is_imported_at_its_first_use() -> None:
    code = "import sys, convrag.sdk.stemming; sys.exit('Stemmer' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
