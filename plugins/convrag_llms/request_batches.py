"""Texts in batches: of so many texts and tokens, split where a server refuses one as too large."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from convrag import LLMError
from convrag.sdk.parallel import map_parallel
from convrag_llms.errors import (
    ReplyTooLong,
    exceeds_context_window,
    read_message,
    read_status,
)
from convrag_llms.tokens import estimate_tokens

if TYPE_CHECKING:
    from numpy.typing import NDArray

log = logging.getLogger(__name__)

_TOO_LARGE = re.compile(
    r"too (?:large|long|big|many)|batch.?size|exceed|must have (?:less|fewer|at most)"
    r"|max(?:imum)? (?:allowed|length|number|of|batch|input)|at most \d|limit of \d",
    re.IGNORECASE,
)
"""Words by which servers refuse a request for its size."""

_OF_BATCHES = re.compile(r"batch|too many|array|inputs|texts|documents|items", re.IGNORECASE)
"""Words of a refusal for the number of texts."""

_NUMBER = re.compile(r"\d[\d,]*")
_MAX_READ = 20_000
"""Characters of an error's message that are searched."""

_SHORTEST = 16
"""A text with fewer characters is not cut."""

_MARGIN = 0.95
"""The share of a limit that a cut text takes: tokens are not spread evenly over a text."""


@dataclass(frozen=True)
class TooLarge:
    """A server's refusal of a request for its size.

    Args:
        numbers: those in its message.
        counts_texts: whether it speaks of the number of texts.
        may_cut: whether shorter texts may help.
    """

    numbers: tuple[int, ...]
    counts_texts: bool
    may_cut: bool = True


class TooLargeError(LLMError):
    """A server refuses a request for its size."""

    def __init__(self, failure: LLMError, refusal: TooLarge) -> None:
        self.refusal = refusal
        super().__init__(
            str(failure), provider=failure.provider, model=failure.model, status=failure.status
        )


def find_refused_size(error: Exception) -> TooLarge | None:
    """Read a server's refusal of a request for its size; None for any other error."""
    if isinstance(error, ReplyTooLong):
        return TooLarge((), counts_texts=True, may_cut=False)
    message = read_message(error)[:_MAX_READ]
    status = read_status(error)
    says_so = status in (400, 413, 422) and bool(_TOO_LARGE.search(message))
    exceeds = exceeds_context_window(error)
    if not (status == 413 or says_so or exceeds):
        return None
    numbers = tuple(int(number.replace(",", "")) for number in _NUMBER.findall(message))
    counts_texts = bool(_OF_BATCHES.search(message)) and "token" not in message
    return TooLarge(numbers, counts_texts and not exceeds)


@dataclass
class RequestBatches:
    """Sends texts in batches, several at a time.

    A batch that is refused as too large is split into its shorter and its longer texts; a text that
    is refused alone is cut. How far it is cut depends on it alone, so that its result does, too.

    Args:
        most_texts: the most texts of a request.
        most_tokens: the most tokens of a request, as far as they can be estimated.
        workers: requests at a time.
        name: of the model, for the log.
    """

    most_texts: int
    most_tokens: int
    workers: int
    name: str
    cut_texts: int = 0
    """The number of texts that were cut."""
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def send(
        self,
        texts: Sequence[str],
        ask: Callable[[list[str]], NDArray[Any]],
        keep: Callable[[list[int], NDArray[Any]], None],
    ) -> None:
        """Send texts, and give the results of each batch to `keep` as soon as they are there.

        After an error no further batch is begun; those in flight, which are paid for, are kept.

        Args:
            texts: n texts.
            ask: sends m texts in one request, and returns their (m, ...) results.
            keep: takes the places of m texts and their results; from several threads.

        Raises:
            LLMError: what `ask` raised first.
        """
        batches = list(self._plan(texts))
        if len(batches) == 1:  # as for a question: no thread is started
            self._send_batch(texts, batches[0], ask, keep)
            return
        failures: list[Exception] = []

        def send_batch(places: list[int]) -> None:
            try:
                self._send_batch(texts, places, ask, keep)
            except Exception as error:
                failures.append(error)

        def iterate() -> Iterator[list[int]]:
            for places in batches:
                if failures:
                    return
                yield places

        for _ in map_parallel(send_batch, iterate(), workers=self.workers):
            pass
        if failures:
            raise failures[0]

    def describe(self) -> Iterator[str]:
        """Say how many texts were cut; nothing without any."""
        if self.cut_texts:
            yield f"{self.cut_texts:,} texts were longer than {self.name} takes, and were cut."

    def _plan(self, texts: Sequence[str]) -> Iterator[list[int]]:
        """Yield the places of the texts of each batch, in their order."""
        batch: list[int] = []
        tokens = 0
        for place, text in enumerate(texts):
            more = estimate_tokens(text)
            is_full = len(batch) >= self.most_texts or tokens + more > self.most_tokens
            if batch and is_full:
                yield batch
                batch = []
                tokens = 0
            batch.append(place)
            tokens += more
        if batch:
            yield batch

    def _send_batch(
        self,
        texts: Sequence[str],
        places: list[int],
        ask: Callable[[list[str]], NDArray[Any]],
        keep: Callable[[list[int], NDArray[Any]], None],
    ) -> None:
        """Send one batch, in parts if it is refused as too large; arguments as of `send`."""
        if len(places) > self.most_texts:  # learnt after it was planned
            most = self.most_texts
            for start in range(0, len(places), most):
                self._send_batch(texts, places[start : start + most], ask, keep)
            return
        try:
            rows = ask([texts[place] for place in places])
        except TooLargeError as error:
            if len(places) > 1:
                for part in self._split(texts, places, error.refusal):
                    self._send_batch(texts, part, ask, keep)
                return
            rows = self._send_cut(texts[places[0]], ask, error)
        keep(places, rows)

    def _split(self, texts: Sequence[str], places: list[int], refusal: TooLarge) -> list[list[int]]:
        """Split a batch that was refused.

        Where the server refuses the number of texts, fewer are sent from now on. Otherwise the
        shorter texts are sent without the longer ones.
        """
        if refusal.counts_texts:
            self._learn(refusal, len(places))
            return [places]
        by_length = sorted(places, key=lambda place: len(texts[place]))
        middle = len(places) // 2
        return [sorted(by_length[:middle]), sorted(by_length[middle:])]

    def _learn(self, refusal: TooLarge, count: int) -> None:
        """Send fewer texts than `count` at a time from now on."""
        limits = [number for number in refusal.numbers if 1 <= number < count]
        with self._lock:
            self.most_texts = min(self.most_texts, max(limits, default=count // 2))

    def _send_cut(
        self, text: str, ask: Callable[[list[str]], NDArray[Any]], error: TooLargeError
    ) -> NDArray[Any]:
        """Send a text that is too long, cut until it is taken. Raises TooLargeError."""
        whole = text
        while error.refusal.may_cut and len(text) > _SHORTEST:
            text = text[: int(len(text) * _find_share(error.refusal, estimate_tokens(text)))]
            try:
                rows = ask([text])
            except TooLargeError as another:
                error = another
            else:
                self._note_cut(whole, text)
                return rows
        raise error

    def _note_cut(self, whole: str, text: str) -> None:
        with self._lock:
            self.cut_texts += 1
            is_first = self.cut_texts == 1
        if is_first:
            log.warning(
                "A text of %d characters is longer than %s takes: its first %d were sent. Others "
                "like it are counted in the summary",
                len(whole),
                self.name,
                len(text),
            )


def _find_share(refusal: TooLarge, estimated: int) -> float:
    """Find the share of a text that a server may take: its limit, by the tokens that it counted.

    Half of it, where its message has no such numbers.
    """
    sizes = [number for number in refusal.numbers if number >= _SHORTEST]
    limit = min(sizes, default=0)
    counted = max(sizes, default=0) if len(set(sizes)) > 1 else estimated
    if 0 < limit < counted:
        return min(limit / counted * _MARGIN, _MARGIN)
    return 0.5
