"""Predictions of other systems, rankings in TREC runs and answers in JSONL, as the records of a
data set's turns.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, NamedTuple, TypeVar

from pydantic import AliasChoices, Field

from convrag import (
    Answer,
    ConfigError,
    DataError,
    Dataset,
    Evidence,
    EvidenceItem,
    Hit,
    Passage,
    Query,
    Turn,
    TurnRecord,
    UnknownName,
)
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.sdk.data.jsonl import Line, read_lines_in
from convrag.sdk.data.trec import read_rank
from convrag.sdk.data.utterances import get_last_utterance
from convrag.sdk.tasks.runs import round_to_single_precision
from convrag_tasks.run_records import DatasetTurn

_FORMS = (
    'an answer (MTRAG\'s {"task_id", "predictions": [{"text"}], "contexts"}, {"turn_id", "answer"}, or a run\'s '
    '{"_id", "text", "agent_response"})'
)

RANKING, ANSWER, EVIDENCE = "ranking", "answer", "evidence"

T = TypeVar("T")


class PredictedAnswer(NamedTuple):
    """An answer, its rewritten query (empty if unknown), and the passages it was generated from (None if unknown)."""

    text: str
    query: str
    passages: list[Hit] | None


@dataclass
class Predictions:
    """What the files hold, by the data set's turn ids.

    Args:
        rankings: of a TREC run; None without one.
        answers: of a file of answers; None without one.
        unknown: for each file, how many of its turns the data set does not have.
        lines: turn id -> where its answer stands.
    """

    rankings: Mapping[str, Sequence[Hit]] | None = None
    answers: Mapping[str, PredictedAnswer] | None = None
    unknown: dict[Path, int] = field(default_factory=dict)
    lines: Mapping[str, Line] = field(default_factory=dict)

    def parts_of(self, turn_id: str) -> list[str]:
        """What the files hold of a turn: its ranking (contexts are one), its answer, and the
        answer's evidence.
        """
        answer = (self.answers or {}).get(turn_id)
        contexts = answer is not None and answer.passages is not None
        ranking = contexts if self.rankings is None else turn_id in self.rankings
        evidence = answer is not None and (contexts or self.rankings is not None)
        parts = {RANKING: ranking, ANSWER: answer is not None, EVIDENCE: evidence}
        return [part for part, present in parts.items() if present]

    @property
    def parts(self) -> list[str]:
        """What the files hold of at least one turn."""
        turn_ids = {**(self.rankings or {}), **(self.answers or {})}
        present = {part for turn_id in turn_ids for part in self.parts_of(turn_id)}
        return [part for part in (RANKING, ANSWER, EVIDENCE) if part in present]


def read_predictions(
    run: Path | None,
    answers: Path | None,
    turns: Mapping[str, DatasetTurn],
    *,
    skip: bool,
    known: Container[str] = (),
    model: str | None = None,
) -> Predictions:
    """Read the files.

    Args:
        run: a TREC run, or a folder of them.
        answers: a JSONL file of answers, a folder of them, or a JSON file of InspectorRAGet.
        turns: of the data set.
        skip: leave out turns that the data set does not have.
        known: ids of passages that a run has as they stand (see `convrag.sdk.data.trec`).
        model: whose answers to read, of a file that has several.

    Raises:
        ConfigError: a file has answers of several models, and none of this one.
        DataError: a file is broken, has turns that the data set does not have, or none that it has.
    """
    predictions = Predictions()
    if run is not None:
        rankings, lines = read_trec_run(run, known)
        predictions.rankings, predictions.unknown[run] = _match_turns(
            rankings, lines, turns, skip=skip
        )
    if answers is not None:
        texts, lines = read_answers(answers, model)
        predictions.answers, predictions.unknown[answers] = _match_turns(
            texts, lines, turns, skip=skip
        )
        predictions.lines = lines
    for path, rows in ((run, predictions.rankings), (answers, predictions.answers)):
        if path is not None and not rows:
            raise DataError("the data set has none of the turns of this file", path=path)
    return predictions


def read_trec_run(
    path: Path, known: Container[str] = ()
) -> tuple[dict[str, list[Hit]], dict[str, Line]]:
    """Read a TREC run; the *.trec files of a folder are read together. The column of ranks is
    ignored, as by trec_eval.

    Args:
        path: of the file or folder.
        known: ids of passages that it has as they stand (see `convrag.sdk.data.trec`).

    Returns:
        Turn id -> ranking, and turn id -> the line where the turn first occurs.

    Raises:
        DataError: a line is broken, a passage is ranked twice for a turn, or there is no ranking.
    """
    scores: dict[str, dict[str, float]] = {}
    where: dict[str, Line] = {}
    for line in read_lines_in(path, ".trec"):
        turn_id, passage_id, _, score = read_rank(line, known)
        ranking = scores.setdefault(turn_id, {})
        where.setdefault(turn_id, line)
        if passage_id in ranking:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        ranking[passage_id] = score
    if not scores:
        raise DataError("it holds no ranking", path=path)
    rankings = {
        turn_id: [Hit(Passage(passage_id, ""), score) for passage_id, score in ranking.items()]
        for turn_id, ranking in scores.items()
    }
    return {turn_id: _sort_hits(hits) for turn_id, hits in rankings.items()}, where


def _sort_hits(hits: list[Hit]) -> list[Hit]:
    """Hits in trec_eval's order: by score in single precision, and the greater id first where
    scores are equal.
    """
    return sorted(
        sorted(hits, key=lambda hit: hit.passage.id, reverse=True),
        key=lambda hit: -round_to_single_precision(hit.score),
    )


def read_answers(
    path: Path, model: str | None = None
) -> tuple[dict[str, PredictedAnswer], dict[str, Line]]:
    """Read answers; the *.jsonl files of a folder are read together.

    Args:
        path: of the file or folder.
        model: whose answers to read, of a file of InspectorRAGet (.json) that has several.

    Returns:
        Turn id -> answer, and turn id -> the line where the answer stands.

    Raises:
        DataError: a line is in none of the known forms, a turn occurs twice, or there is no answer.
    """
    answers: dict[str, PredictedAnswer] = {}
    where: dict[str, Line] = {}
    for line, turn_id, answer in (
        _read_marked(path, model) if path.suffix == ".json" else _read_jsonl(path)
    ):
        if first := where.get(turn_id):
            raise line.error(
                f"turn {turn_id!r} has an answer already, in {first.path}, line {first.number}"
            )
        where[turn_id] = line._replace(text="")
        answers[turn_id] = answer
    if not answers:
        raise DataError("it holds no answer", path=path)
    return answers, where


def _read_jsonl(path: Path) -> Iterator[tuple[Line, str, PredictedAnswer]]:
    for line in read_lines_in(path, ".jsonl"):
        yield line, *_parse_answer(line)


def _read_marked(path: Path, model: str | None) -> Iterator[tuple[Line, str, PredictedAnswer]]:
    found = list(read_marked_answers(path))
    models = list(dict.fromkeys(each.model for each in found))
    if model is None and len(models) > 1:
        raise ConfigError(
            f"{path} has answers of {', '.join(models)}: choose one with task.model={models[0]}"
        )
    if model is not None and model not in models:
        raise UnknownName("task.model: model", model, models)
    for each in found:
        if each.model == (model or each.model):
            hits = [Hit(passage, -float(place)) for place, passage in enumerate(each.passages)]
            yield Line(path, 0, ""), each.turn_id, PredictedAnswer(each.text, "", hits)


@dataclass(frozen=True)
class _Prediction:
    text: str


@dataclass(frozen=True)
class _Context:
    id: Annotated[str, Field(validation_alias=AliasChoices("document_id", "id"))]
    text: str | None = ""
    title: str | None = ""
    url: str | None = ""
    score: Annotated[float, Field(allow_inf_nan=False)] | None = None


@dataclass(frozen=True)
class _AnswerRow:
    """A line of a file of answers, in any of its forms; `text` is the question of a run's line."""

    turn_id: Annotated[str, Field(validation_alias=AliasChoices("task_id", "turn_id", "_id"))]
    predictions: Annotated[list[_Prediction], Field(min_length=1)] | None = None
    answer: str | None = None
    agent_response: str | None = None
    text: str = ""
    contexts: list[_Context] | None = None


def _parse_answer(line: Line) -> tuple[str, PredictedAnswer]:
    row = line.parse(_AnswerRow, _FORMS)
    if row.agent_response is not None:
        return row.turn_id, PredictedAnswer(row.agent_response, get_last_utterance(row.text), None)
    text = row.predictions[0].text if row.predictions else row.answer
    if text is None:
        raise line.error(f"this is not {_FORMS}")
    return row.turn_id, PredictedAnswer(
        text, "", None if row.contexts is None else list(_make_hits(row.contexts))
    )


def _make_hits(contexts: Sequence[_Context]) -> Iterator[Hit]:
    """The passages that an answer was generated from; where they have no scores, these fall in
    their order.
    """
    for place, each in enumerate(contexts):
        passage = Passage(each.id, each.text or "", each.title or "", each.url or "")
        yield Hit(passage, -float(place) if each.score is None else float(each.score))


def _match_turns(
    rows: Mapping[str, T],
    lines: Mapping[str, Line],
    turns: Mapping[str, DatasetTurn],
    *,
    skip: bool,
) -> tuple[dict[str, T], int]:
    """Give the rows of a file the turn ids of the data set.

    Args:
        rows: turn id, as the file has it -> row.
        lines: turn id -> the line where it first occurs.
        turns: of the data set.
        skip: leave out turns that the data set does not have.

    Returns:
        Turn id, as the data set has it -> row; and how many turns were left out.

    Raises:
        DataError: a turn is not in the data set, unless it may be left out; or two rows are for one
            turn.
    """
    matched: dict[str, T] = {}
    unknown = [turn_id for turn_id in rows if not _find_id(turn_id, turns)]
    if unknown and not skip:
        raise lines[unknown[0]].error(
            f"the data set has no turn {unknown[0]!r}; it has {len(rows) - len(unknown)} of the {len(rows)} turns of "
            "this file. Choose the data set and the domains that the file is about (dataset=..., dataset.domain=...), "
            "or leave the others out: task.unknown=skip"
        )
    for turn_id, row in rows.items():
        if known_id := _find_id(turn_id, turns):
            if known_id in matched:
                raise lines[turn_id].error(f"turn {turn_id!r} occurs twice")
            matched[known_id] = row
    return matched, len(unknown)


def _find_id(turn_id: str, turns: Mapping[str, DatasetTurn]) -> str:
    """The data set's id of a turn; empty where it has no such turn."""
    conversation_id, _, number = turn_id.rpartition("::")
    candidates = (
        turn_id,
        f"{conversation_id}<::>{number}",
    )  # MTRAG's ids; its scripts also write conversation::turn
    return next((candidate for candidate in candidates if candidate in turns), "")


_NO_ANSWER = PredictedAnswer("", "", None)


def find_missing(
    predictions: Predictions, turns: Mapping[str, DatasetTurn], qrels: Mapping[str, object]
) -> dict[str, list[str]]:
    """The turns that no file has, although the data set has qrels or a reference answer for them.

    Returns:
        "ranking" and "answer", as far as the files hold any -> turn ids.
    """
    judged = {
        RANKING: [turn_id for turn_id in turns if qrels.get(turn_id)],
        ANSWER: [turn_id for turn_id, place in turns.items() if place.turn.answer.strip()],
    }
    parts = [part for part in predictions.parts if part in judged]
    return {
        part: [name for name in judged[part] if part not in predictions.parts_of(name)]
        for part in parts
    }


def make_records(
    predictions: Predictions,
    turns: Mapping[str, DatasetTurn],
    missing: Mapping[str, Sequence[str]],
    top_n: int,
) -> list[TurnRecord]:
    """A record for each turn that the files have, in the data set's order; its trace says what can
    be measured of it.

    Args:
        predictions: what the files hold.
        turns: of the data set.
        missing: "ranking" or "answer" -> turns that no file has, and that count as if nothing was
            found or said.
        top_n: passages of a ranking that are evidence where the file of answers names none.
    """
    records = []
    counted = {part: frozenset(names) for part, names in missing.items()}
    for turn_id, place in turns.items():
        own = predictions.parts_of(turn_id)
        parts = [
            part for part in predictions.parts if part in own or turn_id in counted.get(part, ())
        ]
        if parts:
            records.append(
                replace(
                    _make_record(predictions, place, top_n), trace={"evaluate": {"given": parts}}
                )
            )
    return records


def add_passage_texts(records: Sequence[TurnRecord], dataset: Dataset) -> list[TurnRecord]:
    """The records, with the texts of the passages in their evidence from the data set's corpora."""
    wanted = {
        item.passage.id
        for record in records
        for item in record.evidence.items
        if not item.passage.text
    }
    domains = dict.fromkeys(record.domain for record in records) if wanted else ()
    found = {
        passage.id: passage
        for domain in domains
        for passage in dataset.corpus(domain)
        if passage.id in wanted
    }
    return [_replace_passages(record, found) for record in records]


def _make_record(predictions: Predictions, place: DatasetTurn, top_n: int) -> TurnRecord:
    turn = place.turn
    answer = (predictions.answers or {}).get(turn.id, _NO_ANSWER)
    hits = tuple((predictions.rankings or {}).get(turn.id, ()))
    if predictions.rankings is None:
        hits = tuple(_sort_hits(list(answer.passages or ())))
    return TurnRecord(
        conversation_id=place.conversation.id,
        turn_id=turn.id,
        domain=place.conversation.domain,
        number=place.number,
        original_query=turn.question,
        queries=(Query(answer.query, turn_id=turn.id, domain=place.conversation.domain),)
        if answer.query
        else (),
        hits=hits,
        evidence=_choose_evidence(predictions, turn, answer, hits[:top_n]),
        answer=Answer(answer.text),
        labels=turn.labels,
    )


def _choose_evidence(
    predictions: Predictions, turn: Turn, answer: PredictedAnswer, top: Sequence[Hit]
) -> Evidence:
    """The contexts in the answer's file, else the top passages of the run, else the data set's
    relevant passages.
    """
    if answer is _NO_ANSWER:
        return Evidence()
    if answer.passages is not None:
        passages = [hit.passage for hit in answer.passages]
    elif predictions.rankings is not None:
        passages = [hit.passage for hit in top]
    else:
        passages = list(turn.passages)
    return Evidence(
        tuple(EvidenceItem(n, passage, passage.text) for n, passage in enumerate(passages, 1))
    )


def _replace_passages(record: TurnRecord, found: Mapping[str, Passage]) -> TurnRecord:
    if not found:
        return record
    hits = tuple(Hit(found.get(hit.passage.id, hit.passage), hit.score) for hit in record.hits)
    items = (
        replace(item, passage=found.get(item.passage.id, item.passage))
        for item in record.evidence.items
    )
    with_texts = tuple(replace(item, text=item.passage.text) for item in items)
    return replace(record, hits=hits, evidence=Evidence(with_texts))
