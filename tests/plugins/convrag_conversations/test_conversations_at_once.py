"""Many threads and processes use one database of conversations."""

import json
import multiprocessing
import subprocess
import sys
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from convrag.turn.conversations import Conversations
from places import ROOT
from processes import run_in_child
from toys import pipeline

WORKER = """
import json, sys
from concurrent.futures import ThreadPoolExecutor
sys.path.insert(0, sys.argv[3])
from convrag.api.errors import ConversationChanged
from convrag.turn.conversations import Conversations
from toys import pipeline

worker = sys.argv[2]
chat = pipeline(conversations=Conversations(sys.argv[1], limit=20))

def ask(number):
    own = chat.turn(f"{worker}-{number % 10}", f"{worker} {number}?")
    assert not own.error
    try:
        chat.turn("shared", f"{worker} {number}?")
        return f"{worker} {number}?"
    except ConversationChanged:
        return None

with ThreadPoolExecutor(4) as pool:
    print(json.dumps([question for question in pool.map(ask, range(50)) if question]))
"""


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.cluster)])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "sqlite":
        return str(tmp_path / "conversations.db")
    address: str = request.getfixturevalue("postgres").make_database()
    return address


@pytest.mark.slow
def test_four_processes_of_four_threads_lose_nothing(database: str) -> None:
    """All start at once, so they make the tables at once too; one conversation is shared by all
    sixteen threads.
    """
    tests = str(ROOT / "tests/support")
    command = [sys.executable, "-c", WORKER, database]
    processes = [
        subprocess.Popen(
            [*command, str(worker), tests],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for worker in range(4)
    ]
    outputs = [process.communicate(timeout=300) for process in processes]
    assert [process.returncode for process in processes] == [0] * 4, outputs
    kept = [question for output, _ in outputs for question in json.loads(output)]
    conversations = Conversations(database)
    shared = conversations.records("shared")
    assert Counter(record.original_query for record in shared) == Counter(kept)
    assert [record.number for record in shared] == list(range(1, len(shared) + 1))
    assert len(kept) >= 50  # in each round, somebody is first
    for worker in range(4):
        for number in range(10):
            records = conversations.records(f"{worker}-{number}")
            asked = {f"{worker} {turn}?" for turn in range(number, 50, 10)}
            assert {record.original_query for record in records} == asked
            assert [record.number for record in records] == [1, 2, 3, 4, 5]
    assert len(conversations.list(limit=100)) == 41


def test_sixteen_threads_of_one_process_add_to_one_conversation(database: str) -> None:
    chat = pipeline(conversations=Conversations(database))
    with ThreadPoolExecutor(16) as pool:
        numbers = list(pool.map(lambda number: chat.turn("c", f"{number}?").number, range(64)))
    assert sorted(numbers) == list(range(1, 65))
    assert [record.number for record in Conversations(database).records("c")] == list(range(1, 65))


def test_readers_do_not_wait_for_a_turn_in_progress(database: str) -> None:
    """A transaction lasts as long as its statements; the turn between two of them may take minutes."""
    from toys import QuotingGenerator

    begun, ended = threading.Event(), threading.Event()

    class Slow(QuotingGenerator):
        def generate(self, question: Any, evidence: Any) -> Any:
            begun.set()
            assert ended.wait(60)
            return super().generate(question, evidence)

    other = pipeline(conversations=Conversations(database))
    other.turn("c", "one?")
    chat = pipeline(conversations=Conversations(database), generator=Slow())
    thread = threading.Thread(target=lambda: chat.turn("c", "two?"))
    thread.start()
    assert begun.wait(60)
    assert len(other.conversations.records("c")) == 1
    assert other.turn("d", "one?").number == 1
    ended.set()
    thread.join()
    assert len(other.conversations.records("c")) == 2


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="forks")
def test_a_forked_child_opens_its_own_connection(database: str) -> None:
    import os

    chat = pipeline(conversations=Conversations(database))
    chat.turn("c", "one?")
    child = run_in_child(lambda: chat.turn("c", "two?"))
    _, status = os.waitpid(child, 0)
    assert status == 0
    assert chat.turn("c", "three?").number == 3
    assert multiprocessing.active_children() == []
