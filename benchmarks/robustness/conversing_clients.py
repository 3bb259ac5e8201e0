"""Clients of task=serve that hold conversations, and know which turns the server acknowledged.

A turn is acknowledged where its client has read the event `record`. `eight_clients.py` runs them.
"""

import json
import random
import threading
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import httpx

Habit = Literal["stays", "breaks off", "reloads"]

HABITS: tuple[Habit, ...] = (
    *("stays", "stays", "stays", "stays"),
    *("breaks off", "breaks off", "reloads", "reloads"),
)
"""What each of the eight clients does.

The first four hold one conversation until the end. The others begin a new one after every
`TURNS` turns; "breaks off" closes its connection during every third turn, and "reloads" opens
its conversation anew after each turn, and during every third one.
"""

TURNS = 25
"""The turns of a conversation, of clients that begin new ones."""

PAUSE = (0.3, 1.2)
"""The least and the most seconds between two turns of a client."""


@dataclass
class Conversation:
    """A conversation as its client knows it.

    Args:
        id: its id.
        asked: all questions, in their order.
        acknowledged: the questions whose record the client has read, with the id of the turn.
    """

    id: str
    asked: list[str] = field(default_factory=list)
    acknowledged: dict[str, str] = field(default_factory=dict)


@dataclass
class Measurements:
    """What the clients measured; all of them write here."""

    latencies: list[tuple[float, float]] = field(default_factory=list)
    """The start of each acknowledged turn, in seconds since the beginning, and its seconds."""
    reloads: list[tuple[float, float]] = field(default_factory=list)
    """The same of each reading of a whole conversation."""
    failures: Counter[str] = field(default_factory=Counter)
    """What went wrong, and how often."""


class ConversingClient(threading.Thread):
    """A client that asks until it is told to end.

    Args:
        number: of the client, from 0.
        address: of the server.
        measurements: where it writes what it measures.
    """

    def __init__(self, number: int, address: str, measurements: Measurements) -> None:
        super().__init__(name=f"client {number}")
        self.habit = HABITS[number]
        self.conversations: list[Conversation] = []
        self.error: Exception | None = None
        self._number = number
        self._measurements = measurements
        self._random = random.Random(number)
        self._http = httpx.Client(base_url=address, timeout=120)
        self._ending = threading.Event()
        self._began = time.monotonic()

    def end(self) -> None:
        """Tell it to end after its turn."""
        self._ending.set()

    def run(self) -> None:
        """Ask until told to end."""
        try:
            while not self._ending.is_set():
                self._hold_conversation()
        except Exception as error:
            self.error = error
        finally:
            self._http.close()

    def _hold_conversation(self) -> None:
        """Ask some questions, or without end if the client stays."""
        begun = self._http.post("/api/conversations", json={}).raise_for_status()
        conversation = Conversation(begun.json()["id"])
        self.conversations.append(conversation)
        while not self._ending.is_set():
            self._ask(conversation)
            self._ending.wait(self._random.uniform(*PAUSE))
            if self.habit != "stays" and len(conversation.asked) == TURNS:
                return

    def _ask(self, conversation: Conversation) -> None:
        """Ask a question, each in its client's way."""
        number = len(conversation.asked) + 1
        question = f"What is crater {number} of client {self._number} on the Moon?"
        conversation.asked.append(question)
        leaves = self.habit != "stays" and number % 3 == 0
        try:
            self._ask_in_own_way(conversation, question, leaves=leaves)
        except httpx.TransportError as error:
            self._measurements.failures[f"no reply in time ({type(error).__name__})"] += 1

    def _ask_in_own_way(self, conversation: Conversation, question: str, *, leaves: bool) -> None:
        """Ask, and then do what this client does after a turn.

        Args:
            conversation: to ask in.
            question: what to ask.
            leaves: whether it closes its connection during the turn.
        """
        if leaves:
            self._leave_turn(conversation, question)
        else:
            self._read_turn(conversation, question)
        if self.habit == "reloads":
            self._reload(conversation)
        elif leaves:
            self._wait_for_end(conversation)

    def _read_turn(self, conversation: Conversation, question: str) -> None:
        """Ask, and read all events."""
        start = time.monotonic()
        record = self._read_record(conversation, "POST", {"question": question})
        if record is not None:
            conversation.acknowledged[question] = record["turn_id"]
            self._measurements.latencies.append((start - self._began, time.monotonic() - start))

    def _read_record(
        self, conversation: Conversation, method: str, body: Mapping[str, str] | None = None
    ) -> dict[str, Any] | None:
        """Read the events of a turn up to its record; None if it ended otherwise."""
        path = f"/api/conversations/{conversation.id}/turns"
        with self._http.stream(method, path, json=body) as reply:
            if reply.status_code != 200:
                if method == "POST":
                    self._measurements.failures[f"status {reply.status_code}"] += 1
                return None
            event = ""
            for line in reply.iter_lines():
                if line.startswith("event: "):
                    event = line.removeprefix("event: ")
                elif line.startswith("data: ") and event == "record":
                    record: dict[str, Any] = json.loads(line.removeprefix("data: "))
                    return record
        self._measurements.failures[f"a turn without a record, last event {event!r}"] += 1
        return None

    def _leave_turn(self, conversation: Conversation, question: str) -> None:
        """Ask, and close the connection at the first piece of the answer."""
        path = f"/api/conversations/{conversation.id}/turns"
        with self._http.stream("POST", path, json={"question": question}) as reply:
            reply.raise_for_status()
            for line in reply.iter_lines():
                if line == "event: piece":
                    return

    def _reload(self, conversation: Conversation) -> None:
        """Open the conversation as a page does, and follow its turn in progress."""
        start = time.monotonic()
        shown = self._http.get(f"/api/conversations/{conversation.id}").raise_for_status().json()
        self._measurements.reloads.append((start - self._began, time.monotonic() - start))
        if shown["in_progress"] is not None:
            record = self._read_record(conversation, "GET")
            if record is not None:
                conversation.acknowledged[conversation.asked[-1]] = record["turn_id"]

    def _wait_for_end(self, conversation: Conversation) -> None:
        """Wait until the turn that was left has ended."""
        path = f"/api/conversations/{conversation.id}"
        deadline = time.monotonic() + 60
        while self._http.get(path).raise_for_status().json()["in_progress"] is not None:
            if time.monotonic() > deadline:
                self._measurements.failures["a turn that was left did not end"] += 1
                return
            time.sleep(0.2)


def compare_with_server(
    http: httpx.Client, conversations: list[Conversation]
) -> tuple[Counter[str], list[str]]:
    """Compare what the clients know with what the server shows.

    Returns:
        How many turns were asked, acknowledged and stored, and the faults: acknowledged turns that
        are missing or have another id, and conversations whose turns are not in the order asked.
    """
    counts = Counter[str]()
    faults = []
    for conversation in conversations:
        reply = http.get(f"/api/conversations/{conversation.id}").raise_for_status()
        records = reply.json()["records"]
        stored = {row["original_query"]: row["turn_id"] for row in records}
        counts["asked"] += len(conversation.asked)
        counts["acknowledged"] += len(conversation.acknowledged)
        counts["stored"] += len(records)
        for question, turn_id in conversation.acknowledged.items():
            if stored.get(question) != turn_id:
                faults.append(f"lost: {question!r} of {conversation.id}")
        in_order = [question for question in conversation.asked if question in stored]
        if [row["original_query"] for row in records] != in_order:
            faults.append(f"{conversation.id}: its turns are not in the order asked")
    return counts, faults
