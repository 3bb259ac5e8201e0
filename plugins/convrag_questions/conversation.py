"""Writes a conversation: its turns one after another, each about a passage that answers it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from convrag import Passage, Query, Retriever
from convrag_questions.plan import Outline, Plan, draw, is_prose, name_document
from convrag_questions.question import STYLES, Counts, Kind, QuestionWriter, WrittenTurn
from convrag_questions.wording import has_quote

LEAST_TURNS = 2
"""A conversation that ends earlier tests nothing that a single question would not."""

_PASSAGES = 3  # that are tried for a turn
_PER_PASSAGE = 2  # turns in a row that one passage answers
_RELATED = 20  # passages that are looked at for a topic shift


@dataclass
class WrittenConversation:
    """A conversation with the passages that answer it.

    `relevant` are, for each turn, the passages that hold the sentence that its answer rests on. `turns` is empty where
    nothing came of the plan.
    """

    id: str
    domain: str
    turns: list[WrittenTurn] = field(default_factory=list)
    relevant: list[list[Passage]] = field(default_factory=list)
    counts: Counts = field(default_factory=Counts)


class ConversationWriter:
    """Writes conversations. May be used by several threads.

    Args:
        writer: writes and checks the questions.
        retriever: finds what a conversation may change its topic to.
        outlines: domain -> its documents.
        turns: how many a conversation has.
    """

    def __init__(
        self, writer: QuestionWriter, retriever: Retriever, outlines: Mapping[str, Outline], turns: int
    ) -> None:
        self.writer = writer
        self.retriever = retriever
        self.outlines = outlines
        self.kinds = plan_kinds(turns)

    def write(self, plan: Plan) -> WrittenConversation:
        """Write a conversation; it is shorter where its documents give no more questions. Raises RunStopped."""
        made = WrittenConversation(plan.id, plan.domain)
        ahead = plan.passages
        for kind in self.kinds:
            turn = self._shift_topic(made) if kind == "topic_shift" else None
            turn = turn or self._write_turn("follow_up" if made.turns else "opening", ahead, made)
            if turn is None and made.turns and kind != "topic_shift":  # the document gives no more
                turn = None if made.counts.failed else self._shift_topic(made)
            if turn is None:
                break
            made.turns.append(turn)
            if turn.kind == "topic_shift":
                ahead = self.outlines[plan.domain].read_from(turn.passage)
            ahead = _skip_used(ahead, made.turns)
        if len(made.turns) < min(LEAST_TURNS, len(self.kinds)):
            made.turns.clear()
        made.relevant = [self._find_relevant(plan.domain, turn) for turn in made.turns]
        return made

    def _write_turn(self, kind: Kind, passages: Sequence[Passage], made: WrittenConversation) -> WrittenTurn | None:
        history = [{"user": turn.question, "assistant": turn.answer} for turn in made.turns]
        style = STYLES[draw(made.id, str(len(history))) % len(STYLES)]
        for passage in passages[:_PASSAGES]:
            turn = self.writer.write(kind, style, passage, history, made.counts)
            if turn or made.counts.failed:  # a model that does not answer is not asked about the next passage
                return turn
        return None

    def _shift_topic(self, made: WrittenConversation) -> WrittenTurn | None:
        return self._write_turn("topic_shift", self._find_related(made), made)

    def _find_related(self, made: WrittenConversation) -> list[Passage]:
        """Passages of other documents that the retriever finds for the last one, beginning with any of them.

        The first would be the same for all conversations about a passage.
        """
        last, seen = made.turns[-1], {name_document(turn.passage) for turn in made.turns}
        query = Query(f"{last.passage.title} {last.quote}".strip(), turn_id=made.id, domain=made.domain)
        documents = self.outlines[made.domain].documents
        hits = self.retriever.retrieve([query], _RELATED)
        found = [hit.passage for hit in hits if (name := name_document(hit.passage)) in documents and name not in seen]
        passages = [passage for passage in found if is_prose(passage.text)]
        start = draw(made.id, "shift") % len(passages) if passages else 0
        return [*passages[start:], *passages[:start]]

    def _find_relevant(self, domain: str, turn: WrittenTurn) -> list[Passage]:
        """The passage of a turn, and its neighbours that hold the same sentence, since passages may overlap."""
        outline = self.outlines[domain]
        document = name_document(turn.passage)
        positions = outline.documents.get(document, [])
        others = outline.corpus.get_by_position(positions) if len(positions) <= _NEIGHBOURS else []
        same = [each for each in others if each.id != turn.passage.id and has_quote(each.text, turn.quote)]
        return [turn.passage, *same]


_NEIGHBOURS = 500  # passages of a document that are searched for the same sentence


def plan_kinds(turns: int) -> list[Kind]:
    """The kinds of a conversation's questions: with four or more, it changes its topic in the middle."""
    follow_ups: list[Kind] = ["follow_up"] * (turns - 1)
    kinds: list[Kind] = ["opening", *follow_ups]
    if turns >= 4:
        kinds[turns // 2] = "topic_shift"
    return kinds


def _skip_used(ahead: Sequence[Passage], turns: Sequence[WrittenTurn]) -> tuple[Passage, ...]:
    """The passages to go on with: the last one first, unless it has answered enough questions."""
    last = turns[-1].passage
    ids = [passage.id for passage in ahead]
    rest = tuple(ahead[ids.index(last.id) :]) if last.id in ids else (last, *ahead)
    answered = sum(turn.passage.id == last.id for turn in turns)
    return rest[1:] if answered >= _PER_PASSAGE else rest
