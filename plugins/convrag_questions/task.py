"""`task=questions`: writes an evaluation set from the passages of the data set."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from annotated_types import Interval
from omegaconf import DictConfig

from convrag import ConfigError, PromptTemplate, Task
from convrag.sdk.errors import RunStopped
from convrag.sdk.llm.sampling import Temperature
from convrag.sdk.output.printable import count
from convrag.sdk.tasks.configuration import read_place, read_settings
from convrag.sdk.types import Usage

if TYPE_CHECKING:
    from convrag.sdk.tasks.turns import Wiring
    from convrag_questions.conversation import ConversationWriter, Outline, WrittenConversation
    from convrag_questions.question import Counts, Kind, Writer

_PLANS = (
    5  # plans per conversation that is wanted, at most: not every document gives a conversation
)


@dataclass(kw_only=True, eq=False)
class QuestionsTask(Task):
    """Write an evaluation set from your documents; without a language model, known-item questions.

    `task=questions dataset=documents dataset.path=~/handbook llm=claude` writes the folder
    questions/, and says which command compares rewriters on it. The language model plays a user who
    opens a conversation, asks follow-ups with pronouns and ellipses, and changes the topic. Each
    question is checked: its answer rests on a sentence of the passage, a second call finds the same
    answer in the passage, a follow-up cannot be understood without the conversation, and no
    question copies the passage's wording.

    Without a language model (llm=extractive) the questions are known-item questions: the heading of
    a passage and three rare words of one of its sentences, a follow-up without the heading. They
    are easier than people's. Documents take turns, so that all kinds of them are asked about.
    Replies are cached, so the same command goes on after an interruption at no further cost.
    docs/data.md shows how to use the files.

    Args:
        path: the folder to write.
        conversations: how many to write.
        turns: of each conversation; one whose documents give no more is shorter.
        seed: of the choice of documents and passages.
        temperature: of the prompts; None leaves it to the llm.
        question_prompt: a Jinja file to use instead of this package's question.jinja.
        solve_prompt: the same for solve.jinja, which answers a question from its passage.
        compare_prompt: the same for compare.jinja, which compares that answer with the first.
        alone_prompt: the same for alone.jinja, which says whether a question is clear without its
            conversation.

    Raises:
        DataError: a prompt's file is missing or is no template.
    """

    libraries = ("pydantic",)

    path: Path = Path("questions")
    conversations: Annotated[int, Interval(ge=1, le=100_000)] = 10
    turns: Annotated[int, Interval(ge=1, le=50)] = 4
    seed: int = 0
    temperature: Temperature | None = None
    question_prompt: Path | None = None
    solve_prompt: Path | None = None
    compare_prompt: Path | None = None
    alone_prompt: Path | None = None

    def __post_init__(self) -> None:
        names = ("question", "solve", "compare", "alone")
        files = {name: getattr(self, f"{name}_prompt") for name in names}
        self.templates = [
            PromptTemplate(name, package=__package__, path=file) for name, file in files.items()
        ]
        self.prompt_templates = self.templates

    def execute(self, config: DictConfig, folder: Path) -> int:
        """Write the files and say what is in them.

        Returns 0, 3 where there are fewer conversations than wanted, or 1 without any.
        """
        from convrag.sdk.output.console import make_console
        from convrag.sdk.output.progress import show_step
        from convrag.sdk.storage import UsageMeter
        from convrag.sdk.tasks.turns import Wiring
        from convrag_questions.conversation import ConversationWriter, check_folder, write_files
        from convrag_questions.question import Counts

        console = make_console()

        def say(line: str, style: str | None = None) -> None:
            console.print(line, soft_wrap=True, style=style, markup=False, highlight=False)

        check_folder(self.path)
        wiring = Wiring(config)
        for group in ("dataset", "llm", "retriever"):
            wiring.get(group)
        wiring.check()
        wiring.prepare(show_step)
        outlines = self._read_outlines(wiring)
        writer = ConversationWriter(
            self._make_writer(wiring), wiring.get("retriever"), outlines, self.turns
        )
        made: list[WrittenConversation] = []
        meter = UsageMeter()
        counts = Counts()
        stopped = ""
        try:
            with meter.measure_stage("questions"):
                for each in self._write_conversations(
                    writer, outlines, read_settings(config).workers
                ):
                    counts.add(each.counts)
                    if each.turns:
                        made.append(each)
        except RunStopped as error:
            stopped = str(error)
        if made:
            write_files(
                self.path,
                made,
                {domain: each.corpus.fingerprint for domain, each in outlines.items()},
            )
            for line in list_example(made[0]):
                say(line)
        for line in list_results(made, counts, meter.usage.get("questions", Usage())):
            say(line)
        if wiring.get("llm").tasks is not None:
            say(KNOWN_ITEM)
        if made:
            say(f"Written: {self.path}. To compare rewriters on these questions:")
            dataset = wiring.describe_choice("dataset").partition("=")[2]
            say(f"  {format_command(wiring.command.overrides, self.path, dataset)}")
        return self._tell_shortfall(len(made), counts, stopped, say)

    def _make_writer(self, wiring: Wiring) -> Writer:
        """Choose who writes the questions: the language model, or known-item questions without."""
        from convrag.sdk.search.frequencies import count_document_frequencies
        from convrag_questions.known_item import KnownItemWriter
        from convrag_questions.question import Prompts, QuestionWriter

        llm = wiring.get("llm")
        if llm.tasks is None:
            return QuestionWriter(llm, Prompts(*self.templates), {"temperature": self.temperature})
        return KnownItemWriter(count_document_frequencies(wiring.get("dataset"), wiring.store))

    def _read_outlines(self, wiring: Wiring) -> dict[str, Outline]:
        """Read the documents of each domain. Raises ConfigError where there are none."""
        from convrag.sdk.search.corpus import Corpus
        from convrag_questions.conversation import MIN_WORDS, Outline

        dataset = wiring.get("dataset")
        outlines = {
            domain: Outline(Corpus(dataset, domain, wiring.store)) for domain in dataset.domains()
        }
        if not any(outline.documents for outline in outlines.values()):
            raise ConfigError(
                f"there is nothing to ask about: no passage of this data set has {MIN_WORDS} words"
            )
        return outlines

    def _write_conversations(
        self, writer: ConversationWriter, outlines: dict[str, Outline], workers: int
    ) -> Iterator[WrittenConversation]:
        """Yield conversations until there are as many as wanted, or no more plans.

        Conversations without turns are among them.

        It ends early where the language model brings nothing that can be used. Plans are taken in
        their order, whatever is reused, so that the same command writes the same conversations.
        """
        from convrag.sdk.parallel import map_parallel
        from convrag_questions.conversation import plan_conversations

        plans = islice(plan_conversations(outlines, self.seed), _PLANS * self.conversations)
        missing = self.conversations
        useful = True
        while missing and useful:
            batch = list(islice(plans, missing))
            useful = False
            for each in map_parallel(
                writer.write, batch, "conversations", total=len(batch), workers=workers
            ):
                if each.turns:
                    missing -= 1
                if each.counts.accepted or each.counts.refused:
                    useful = True
                yield each

    def _tell_shortfall(
        self, written: int, counts: Counts, stopped: str, say: Callable[[str, str | None], None]
    ) -> int:
        """Say what is missing and why; the exit status."""
        if written == self.conversations:
            return 0
        again = "the same command asks only for what is missing"
        if stopped:
            reason = f"{stopped} When that is mended, {again}"
        elif counts.failed or counts.unreadable:
            reason = f"some calls brought no reply that could be used; {again}"
        else:
            reason = "the passages gave no more questions; give more documents, or other ones"
        wanted = count(self.conversations, "conversation")
        say(f"{written} of {wanted} written: {reason}.", "yellow" if written else "red")
        return 3 if written else 1


_KINDS: dict[Kind, str] = {
    "opening": "opening question",
    "follow_up": "follow-up",
    "topic_shift": "topic shift",
}

KNOWN_ITEM = (
    "These are known-item questions, written without a language model: headings and rare words of "
    "the passages, so that searching by words finds them easily. A language model writes harder "
    "ones: llm=litellm llm.model=..."
)
"""The note that is printed with questions that no language model wrote."""


def list_results(
    conversations: Sequence[WrittenConversation], counts: Counts, usage: Usage
) -> Iterator[str]:
    """Say what was written, what was refused and why, and what it cost."""
    from convrag_questions.conversation import name_document

    turns = [turn for each in conversations for turn in each.turns]
    if turns:
        kinds = Counter(turn.kind for turn in turns)
        named = ", ".join(count(kinds[kind], noun) for kind, noun in _KINDS.items() if kinds[kind])
        documents = len(
            {
                (each.domain, name_document(turn.passage))
                for each in conversations
                for turn in each.turns
            }
        )
        passages = len(
            {(each.domain, turn.passage.id) for each in conversations for turn in each.turns}
        )
        yield (
            f"{count(len(conversations), 'conversation')}, {count(len(turns), 'turn')}: {named}; "
            f"about {count(passages, 'passage')} of {count(documents, 'document')}."
        )
    if refused := sum(counts.refused.values()):
        reasons = ", ".join(f"{reason} {number}" for reason, number in counts.refused.most_common())
        yield f"{count(refused, 'proposal')} refused: {reasons}."
    if counts.unreadable:
        yield f"{count(counts.unreadable, 'time')} the model's replies could not be read."
    if counts.failed:
        yield f"{count(counts.failed, 'call')} failed; the first: {counts.first_failure}"
    spent = f"; ${usage.spent_usd:.4f} spent" if usage.spent_usd else ""
    yield (
        f"Calls: {usage.calls} made, {usage.reused} reused; {usage.prompt_tokens:,} prompt and "
        f"{usage.completion_tokens:,} completion tokens{spent}."
    )


def list_example(conversation: WrittenConversation) -> Iterator[str]:
    """Show a conversation, with the passage that answers each question."""
    yield f"For example {conversation.id}:"
    for turn in conversation.turns:
        yield f"  User: {turn.question}"
        yield f"  Answer: {turn.answer} [{turn.passage.id}]"


def format_command(overrides: Sequence[str], path: Path, dataset: str) -> str:
    """Format the command that compares rewriters on the questions.

    Args:
        overrides: of this command, from which the data set and how it is cut are taken.
        path: the folder of the questions.
        dataset: the option of the data set, for a command that chooses it by a preset or not at
            all.
    """
    chosen = [
        each.lstrip("+")
        for each in overrides
        if read_place(each).partition(".")[0] in ("dataset", "chunker")
    ]
    data = [
        f"dataset.corpus{each.removeprefix('dataset')}" if each.startswith("dataset") else each
        for each in chosen
    ]
    if not any(each.startswith("dataset.corpus=") for each in data):
        data.insert(0, f"dataset.corpus={dataset}")
    words = [
        "rewriter=none,last_n,mmr",
        "dataset=questions",
        f"dataset.path={path}",
        *data,
        "generator=none",
    ]
    return f"python -m convrag -m {' '.join(map(shlex.quote, words))}"
