"""Pytest fixtures for plugin authors, available wherever convrag is installed.

pytest imports this module in every test run of everybody who has installed convrag, so it imports
nothing but pytest.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from convrag import Conversation, Passage, Store
    from convrag.testing import RecordedLLM, TinyDataset


@pytest.hookimpl(wrapper=True)
def pytest_runtest_teardown(item: pytest.Item) -> Generator[None, None, None]:
    """Let go of the stages that a contract's fixtures have made.

    pytest keeps the object of each test until the last one has ended.
    """
    try:
        return (yield)
    finally:
        instance = getattr(item, "instance", None)
        if any(cls.__module__.startswith("convrag.testing.") for cls in type(instance).__mro__):
            vars(instance).clear()


@pytest.fixture
def convrag_corpus() -> list[Passage]:
    """Four short passages about tea and kettles, one of them not in English."""
    from convrag.testing import passages

    return passages()


@pytest.fixture
def convrag_conversation() -> Conversation:
    """Three turns about those passages, with answers."""
    from convrag.testing import conversation

    return conversation()


@pytest.fixture
def convrag_dataset() -> TinyDataset:
    """A data set of that conversation and those passages, with judgements."""
    from convrag.testing import TinyDataset

    return TinyDataset()


@pytest.fixture
def convrag_llm() -> RecordedLLM:
    """A language model with recorded replies.

    `convrag_llm.replies["part of a prompt"] = ...` adds one. To any other prompt it replies "Is
    copper better for kettles?".
    """
    from convrag.testing import RecordedLLM

    return RecordedLLM(replies={"": "Is copper better for kettles?"})


@pytest.fixture
def convrag_store(tmp_path: Path) -> Store:
    """An empty store."""
    from convrag import Store

    return Store(tmp_path / "store")
