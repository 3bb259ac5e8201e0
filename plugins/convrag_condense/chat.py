"""`generator=chat`: the conversation is sent to the LLM as a chat."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

from annotated_types import Ge

from convrag import (
    LLM,
    Answer,
    Completion,
    ConfigError,
    DataError,
    Evidence,
    Message,
    Prompt,
    PromptTemplate,
    Question,
)
from convrag.sdk.llm.history import continue_reading
from convrag.sdk.llm.rewriter import format_exchanges
from convrag.sdk.llm.sampling import MaxTokens, RepeatPenalty, Temperature, TopK, TopP
from convrag.sdk.llm.streaming import HeldPieces, current_listener, listen_with
from convrag.sdk.text.analysis import count_words
from convrag.sdk.text.answerability import DecidingGenerator
from convrag.sdk.text.citations import CheckedCitations, check_citations
from convrag.sdk.text.quotations import find_quotations
from convrag.sdk.text.sentences import split_roughly
from convrag.sdk.types import Support
from convrag_condense.chat_history import (
    ChatHistory,
    EvidenceShown,
    HistoryLimits,
    NewestQuestion,
    RenderedExchange,
)
from convrag_condense.labels import Labels, NumberedPieces, read_document_labels

log = logging.getLogger(__name__)


_SAMPLING = ("temperature", "max_tokens", "top_p", "top_k", "repeat_penalty")


@dataclass(kw_only=True, eq=False)
class ChatGenerator(DecidingGenerator):
    """Answer as a chat: the system prompt once, then plain questions, each followed by evidence.

    Citations are numbered for the whole conversation, so that an answer may cite a passage of an
    earlier turn; a number that no passage has is removed and counted (`citations_removed`). A reply
    that only says that the model is ready is asked for once more, and counted (`meta_responses`: 2
    where the second was not better, and is the answer). The messages depend on the history alone:
    the system prompt, the first exchange with its evidence (`keep_first`), the newest exchanges
    that fit, whole and without a gap, and the newest question. Where a memory shows a part of the
    history, the exchanges are those of that part, a summary among them; citation numbers stay those
    of the whole conversation.

    Args:
        llm: the language model that answers; it also counts tokens.
        evidence: every_turn sends each question with the passages that it was asked with; newest
            sends those of the newest question only; first_turn those of the first question only
            (the original's first versions, whose users complained), which is then sent whatever
            the memory shows.
        labels: numbers labels passages as [1]; documents by their ids as [Doc_5]:, as RAGBoost
            does, and hints of context=dedup then point at these. Answers cite by numbers all the
            same.
        window: tokens that the prompt and the answer may have together. The seed reckons with 8,000
            and snippets of 200 tokens; half the context of Mixtral leaves room for passages of 500.
        evidence_tokens: of the window, kept free for the newest question's evidence: 8 passages of
            512 tokens.
        exchanges: the most earlier exchanges that are sent (10: the seed's 20 messages).
        characters: the most characters of the earlier exchanges that are sent, questions with their
            evidence and answers together (8,000: the seed's); None limits their tokens only.
        keep_first: always send the first exchange. If false, the newest exchanges alone are sent
            (the seed's). The newest one is then sent in any case: if it is too long, without its
            last passages, and if that is not enough, with the beginning of its answer.
        temperature: .35, the seed's, between sticking to the facts and putting them together; None
            leaves it to the llm.
        max_tokens: the longest answer, in tokens (2000: the seed's); None leaves it to the llm.
        top_p: share of the likeliest tokens to draw from (.9: the seed's); None leaves it to the
            llm.
        top_k: number of the likeliest tokens to draw from (the seed's is 50); None sends none.
        repeat_penalty: above 1 holds repetition back (the seed's is 1.15); None sends none.
            It is sent under the name that the provider or server knows.
        wording: plain is this package's answer.jinja; academic has the words that the seed's
            description quotes, for a library of papers (answer_academic.jinja); ragboost has
            RAGBoost's frame, "With the chat history and the following context, answer the
            question" (answer_ragboost.jinja).
        prompt: a Jinja file to use instead of these: a <|system|> message, and a <|user|> one that
            is given `question`, `first`, and `evidence`: a list of `label`, `number`, `title`,
            `year`, `authors`, `text`, `content` (title and text) and `hint`, which says whether the
            text is a hint at an earlier message.

    Raises:
        ConfigError: the window leaves no room, or the only evidence may be left out.
        DataError: the prompt's file is missing, is not a template, or has other messages.
    """

    streams = True

    llm: LLM
    evidence: EvidenceShown = "every_turn"
    labels: Labels = "numbers"
    window: int = 16_000
    evidence_tokens: Annotated[int, Ge(0)] = 4096
    exchanges: Annotated[int, Ge(1)] = 10
    characters: Annotated[int, Ge(1)] | None = None
    keep_first: bool = True
    temperature: Temperature | None = 0.35
    max_tokens: MaxTokens | None = 2000
    top_p: TopP | None = 0.9
    top_k: TopK | None = None
    repeat_penalty: RepeatPenalty | None = None
    wording: Literal["plain", "academic", "ragboost"] = "plain"
    prompt: Path | None = None

    def __post_init__(self) -> None:
        max_tokens = self.window - self.evidence_tokens - (self.max_tokens or 0)
        if max_tokens <= 0:
            raise ConfigError(
                f"generator.window={self.window} must be above "
                f"evidence_tokens={self.evidence_tokens} and max_tokens={self.max_tokens} together"
            )
        if self.evidence == "first_turn" and not self.keep_first:
            raise ConfigError(
                "generator.keep_first=false leaves out the only question with evidence of "
                "generator.evidence=first_turn: choose another value for one of them"
            )
        self.limits = HistoryLimits(
            max_tokens, self.exchanges, self.characters, keep_first=self.keep_first
        )
        given = {name: getattr(self, name) for name in _SAMPLING}
        self.sampling = {name: value for name, value in given.items() if value is not None}
        name = "answer" if self.wording == "plain" else f"answer_{self.wording}"
        self.template = PromptTemplate(
            "answer", package="convrag_condense", path=self.prompt, name=name
        )
        self.prompt_templates = (self.template,)
        if [message.role for message in self.template.messages] != ["system", "user"]:
            raise DataError(
                "this prompt must have one <|system|> and one <|user|> message",
                path=self.template.path,
            )

    def messages(self, question: Question) -> Sequence[Message]:
        """Return the system prompt and the earlier exchanges that fit next to full evidence."""
        history = self._read_history(question)
        return _list_messages(history, history.select_exchanges(question))

    def generate(self, question: Question, evidence: Evidence) -> Answer:
        """Call the LLM once, or twice after a meta-response. Raises LLMError."""
        history = self._read_history(question)
        sent = history.select_exchanges(question)
        newest = history.render_newest(question.text, evidence.items)
        self._log_turn(question, history, newest)
        messages = (*_list_messages(history, sent), newest.message)
        inputs = self._make_inputs(question, sent, newest)
        prompt = Prompt("answer", messages, inputs, self.sampling)
        completion, meta_responses = self._complete(prompt, newest.numbers)
        text = completion.text
        if self.labels == "documents":
            text = read_document_labels(text, newest.numbers)
        checked = check_citations(text, newest.passages)
        shown = [item.passage.id for item in evidence.items]
        numbers = {}
        for passage in (*shown, *checked.citations):
            if passage in newest.numbers:
                numbers[passage] = newest.numbers[passage]
        trace: dict[str, Any] = {
            "prompt": self.template.hash,
            "model": completion.model,
            "citations_removed": checked.removed,
            "meta_responses": meta_responses,
            "exchanges": len(sent),
            "exchanges_left_out": len(history.list_exchanges(question)) - len(sent),
            "numbers": numbers,
            "snippets": len(newest.evidence),
            "new_snippets": newest.new,
        }
        return Answer(checked.text, checked.citations, trace, self._find_quoted(checked, evidence))

    def _find_quoted(self, checked: CheckedCitations, evidence: Evidence) -> tuple[Support, ...]:
        """Find the quoted sentences of an answer without a language model; none of a model's."""
        if self.llm.tasks is None:
            return ()
        cited = [item.passage for item in evidence.items if item.passage.id in checked.citations]
        return find_quotations(checked.text, cited)

    def _make_inputs(
        self, question: Question, sent: Sequence[RenderedExchange], newest: NewestQuestion
    ) -> dict[str, Any]:
        """Make the inputs of the prompt, for an llm that reads these instead of messages."""
        evidence = newest.evidence
        if self.evidence == "first_turn" and sent:
            evidence = sent[0].evidence
        inputs: dict[str, Any] = {
            "question": question.text,
            "standalone": question.standalone,
            "history": format_exchanges(exchange.turn for exchange in sent),
            "evidence": evidence,
            "earlier_evidence": [item for exchange in sent for item in exchange.evidence],
        }
        if question.profile:
            inputs["profile"] = list(question.profile)
        return inputs

    def _read_history(self, question: Question) -> ChatHistory:
        """Read the conversation's history for this profile of the user."""
        make = partial(
            ChatHistory,
            self.template,
            self.llm.count_tokens,
            evidence=self.evidence,
            labels=self.labels,
            limits=self.limits,
            profile=question.profile,
        )
        state = question.state(self).setdefault(repr(question.profile), {})
        return continue_reading(state, question.whole_history, make)

    def _log_turn(self, question: Question, history: ChatHistory, newest: NewestQuestion) -> None:
        turn = question.turn_id
        snippets = len(newest.evidence)
        if not history.exchanges:
            log.info("turn %s: first turn: question with %d snippets", turn, snippets)
            return
        log.info("turn %s: follow-up turn (#%d): plain question only", turn, question.number)
        if snippets:
            message = "turn %s: added %d snippets as evidence note, %d of them new"
            log.info(message, turn, snippets, newest.new)

    def _complete(self, prompt: Prompt, numbers: Mapping[str, int]) -> tuple[Completion, int]:
        """Return the reply, and the number of meta-responses among at most two replies.

        A first reply that is a meta-response is not streamed.
        """
        listener = current_listener()
        numbered = NumberedPieces(listener or str, numbers)
        shown = numbered if self.labels == "documents" else listener
        meta_responses = 0
        for attempt in range(2):
            pieces = HeldPieces(shown or str, may_be_meta_response)
            with listen_with(pieces if listener else None):
                completion = self.llm.complete(replace(prompt, attempt=attempt))
            if not is_meta_response(completion.text):
                break
            meta_responses += 1
        pieces.release()
        numbered.release()
        return completion, meta_responses


def _list_messages(history: ChatHistory, sent: Sequence[RenderedExchange]) -> tuple[Message, ...]:
    pairs = (message for exchange in sent for message in (exchange.question, exchange.answer))
    return (history.system_message, *pairs)


MAX_WORDS = 60
"""The longest meta-response; a longer reply says something."""

_OPENING = (
    r"(?:(?:ok(?:ay)?|sure|certainly|of course|great|all ?right|alright|absolutely|yes|thanks"
    r"|thank you|hello|hi)[,!. ]*)"
)
_READY = (
    r"(?:i['’]?m|i am)\s+(?:now\s+|all\s+)?(?:ready|prepared|set|here|standing by)\b"
    r"(?:\s+(?:to|for|when|whenever|and|now)\b.*)?"
)
_UNDERSTOOD = (
    r"(?:(?:understood|got it|noted)(?:\b.*)?"
    r"|i(?:['’]ve| have)?\s+(?:understand|understood|noted|read|received|reviewed)"
    r"(?:\s+(?:the|your|my|these|all|everything|what)\b.*)?)"
)
_INVITATION = (
    r"(?:so\s+)?(?:please\s+)?"
    r"(?:i(?:['’]ll| will)\s+(?:follow|answer|use|cite|base|provide|do|be)\b"
    r"|go ahead\b|(?:feel free to\s+)?(?:provide|share|send|ask|give|tell)\b|let me know\b"
    r"|let['’]?s (?:begin|start)\b|what (?:would|do) you (?:like|want)\b"
    r"|what(?:['’]s| is) your\b|how (?:can|may) i (?:help|assist)\b).*"
)
_OBJECTION = re.compile(r"\b(?:but|however|not|no|cannot|unfortunately)\b|n['’]t\b", re.IGNORECASE)
_ANNOUNCEMENT = re.compile(rf"{_OPENING}*(?:{_READY}|{_UNDERSTOOD})[.!]*", re.IGNORECASE)
_FILLING = re.compile(rf"{_OPENING}+|{_OPENING}*{_INVITATION}", re.IGNORECASE)
_CITATION = re.compile(r"\[\d+")


def is_meta_response(reply: str) -> bool:
    """Tell whether a reply only announces that the model has understood or is ready.

    A mere question back does not.
    """
    sentences = split_roughly(reply.strip())
    return _may_be_meta_response(reply, sentences) and any(
        _ANNOUNCEMENT.fullmatch(sentence) for sentence in sentences
    )


def may_be_meta_response(beginning: str) -> bool:
    """Tell whether a reply with this beginning can still be a meta-response."""
    *whole, _ = split_roughly(beginning.lstrip())
    return _may_be_meta_response(beginning, whole)


def _may_be_meta_response(reply: str, sentences: list[str]) -> bool:
    if count_words(reply) > MAX_WORDS or _CITATION.search(reply):
        return False
    return all(_is_filler(sentence) for sentence in sentences if sentence)


def _is_filler(sentence: str) -> bool:
    if _OBJECTION.search(sentence):
        return False
    return bool(_ANNOUNCEMENT.fullmatch(sentence) or _FILLING.fullmatch(sentence))
