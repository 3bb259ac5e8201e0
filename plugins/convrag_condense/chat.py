"""`generator=chat`: one growing conversation with the model."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from convrag import (
    LLM,
    Answer,
    Completion,
    ConfigError,
    DataError,
    Evidence,
    Generator,
    Message,
    Prompt,
    PromptTemplate,
    Question,
)
from convrag.sdk.citations import check_citations
from convrag.sdk.llm_rewriter import format_exchanges
from convrag.store.streaming import current_listener, listening
from convrag_condense.meta import HeldBack, is_meta
from convrag_condense.talk import PER_MESSAGE, Exchange, Talk, fitting

log = logging.getLogger(__name__)


class ChatGenerator(Generator):
    """Answer as a chat: the system prompt once, plain questions, each with its evidence as a note behind it.

    Citations are numbered for the whole conversation, so that an answer may cite a passage of an earlier turn; a number
    that no passage has is removed and counted (`citations_removed`). A reply that only says that the model is ready is
    asked for once more, and counted (`meta_responses`: 2 where the second was no better, and is the answer). What the
    model is sent is rebuilt from the history. The system prompt, the first exchange with its evidence, and the newest
    question always are; between them go the newest exchanges that fit, whole and without a gap.

    Args:
        llm: the language model that answers; it also counts tokens.
        evidence: every_turn gives the passages that were found for a follow-up to the model; first_turn leaves it with
            those of the first question (the original's first versions, whose users complained).
        window: tokens that the prompt and the answer may have together. The seed reckons with 8,000 and snippets of 200
            tokens; half the context of Mixtral leaves room for passages of 500.
        evidence_tokens: of the window, kept free for the newest question's evidence: 8 passages of 512 tokens.
        exchanges: the most earlier exchanges that are sent, the first among them (10: the seed's 20 messages).
        temperature: .35, the seed's, between sticking to the facts and putting them together; None leaves it to the
            llm.
        max_tokens: the longest answer, in tokens (2000: the seed's); None leaves it to the llm.
        top_p: share of the likeliest tokens to draw from (.9: the seed's); None leaves it to the llm.
        top_k: number of the likeliest tokens to draw from (the seed's is 50); None sends none.
        repeat_penalty: above 1 holds repetition back (the seed's is 1.15); None sends none. llm=litellm says what a
            provider does not know, and leaves it out.
        prompt: a Jinja file to use instead of this package's answer.jinja: a <|system|> message, and a <|user|> one
            that is given `question`, `evidence` (a list of `number`, `title`, `authors` and `text`) and `first`.

    Raises:
        ConfigError: a number lies outside of its range, or the window leaves no room.
        DataError: the prompt's file is missing, is no template, or has other messages.
    """

    streams = True

    def __init__(
        self,
        *,
        llm: LLM,
        evidence: Literal["every_turn", "first_turn"] = "every_turn",
        window: int = 16_000,
        evidence_tokens: int = 4096,
        exchanges: int = 10,
        temperature: float | None = 0.35,
        max_tokens: int | None = 2000,
        top_p: float | None = 0.9,
        top_k: int | None = None,
        repeat_penalty: float | None = None,
        prompt: Path | None = None,
    ) -> None:
        if exchanges < 1:
            raise ConfigError(f"generator.exchanges={exchanges}: at least 1, for the first exchange is always sent")
        self.room = window - evidence_tokens - (max_tokens or 0)
        if evidence_tokens < 0 or self.room <= 0:
            raise ConfigError(
                f"generator.window={window} must be above evidence_tokens={evidence_tokens} and "
                f"max_tokens={max_tokens} together"
            )
        self.llm = llm
        self.every_turn = evidence == "every_turn"
        self.most = exchanges
        sampling = {"temperature": temperature, "max_tokens": max_tokens, "top_p": top_p}
        sampling |= {"top_k": top_k, "repeat_penalty": repeat_penalty}
        self.sampling = {name: value for name, value in sampling.items() if value is not None}
        self.template = PromptTemplate("answer", package="convrag_condense", path=prompt)
        if [role for role, _ in self.template.messages] != ["system", "user"]:
            raise DataError("this prompt must have one <|system|> and one <|user|> message", path=self.template.path)

    def content_hash(self) -> str:
        """The wording of the prompt."""
        return self.template.hash

    def messages(self, question: Question) -> Sequence[Message]:
        """The system prompt and the earlier exchanges that fit, when the newest evidence takes all of its room."""
        talk = self._talk(question)
        return _flat(talk, self._sent(talk, question))

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """One call of the LLM, or two. Raises LLMError."""
        talk = self._talk(question)
        before = set(talk.numbers)
        sent = self._sent(talk, question)
        shown = talk.evidence((item.passage, item.text) for item in evidence.items)
        newest = talk.ask(question.text, shown)
        new = [item.passage.id for item in evidence.items if item.passage.id not in before]
        self._report(question, talk, len(shown), len(new))
        inputs = {
            "question": question.text,
            "history": format_exchanges(exchange.turn for exchange in sent),
            "evidence": shown if shown or not sent or self.every_turn else sent[0].evidence,
        }
        prompt = Prompt("answer", (*_flat(talk, sent), newest), inputs, self.sampling)
        completion, metas = self._ask(prompt)
        checked = check_citations(completion.text, {number: passage for passage, number in talk.numbers.items()})
        named = dict.fromkeys([*(item.passage.id for item in evidence.items), *checked.citations])
        trace: dict[str, Any] = {
            "prompt": self.template.hash,
            "model": completion.model,
            "citations_removed": checked.removed,
            "meta_responses": metas,
            "exchanges": len(sent),
            "exchanges_left_out": len(talk.exchanges) - len(sent),
            "numbers": {passage: talk.numbers[passage] for passage in named if passage in talk.numbers},
        }
        return Answer(checked.text, checked.citations, trace)

    def _talk(self, question: Question) -> Talk:
        return Talk(self.template, question.history, every_turn=self.every_turn)

    def _sent(self, talk: Talk, question: Question) -> list[Exchange]:
        count = self.llm.count_tokens
        room = self.room - count(talk.system.content) - count(question.text) - 2 * PER_MESSAGE
        return talk.whole(fitting(talk.exchanges, room, self.most, count))

    def _report(self, question: Question, talk: Talk, shown: int, new: int) -> None:
        if not talk.exchanges:
            log.info("turn %s: first turn: question with %d snippets", question.turn_id, shown)
            return
        log.info("turn %s: follow-up turn (#%d): plain question only", question.turn_id, question.number)
        if shown:
            log.info("turn %s: added %d snippets as evidence note, %d of them new", question.turn_id, shown, new)

    def _ask(self, prompt: Prompt) -> tuple[Completion, int]:
        """The reply, asked for once more where it is a meta-response, and how many were. Nobody hears the first."""
        metas = 0
        for attempt in range(2):
            held = HeldBack(current_listener() or _deaf)
            with listening(held if current_listener() else None):
                completion = self.llm.complete(replace(prompt, attempt=attempt))
            meta = is_meta(completion.text)
            metas += meta
            if not meta or attempt:
                break
        held.release()
        return completion, metas


def _flat(talk: Talk, sent: Sequence[Exchange]) -> tuple[Message, ...]:
    pairs = (message for exchange in sent for message in (exchange.question, exchange.answer))
    return (talk.system, *pairs)


def _deaf(piece: str) -> None:
    """Hears nothing."""
