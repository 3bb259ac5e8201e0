"""Files of other systems' predictions: rankings in TREC runs, and answers in JSONL or JSON."""

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, NamedTuple

from pydantic import AliasChoices, Field

from convrag import ConfigError, DataError, Hit, Passage, UnknownName
from convrag.sdk.data.inspectorraget import read_marked_answers
from convrag.sdk.data.jsonl import Line, read_lines_in
from convrag.sdk.data.trec import read_rank, round_to_single_precision
from convrag.sdk.data.utterances import get_last_utterance

_FORMS = (
    'an answer (MTRAG\'s {"task_id", "predictions": [{"text"}], "contexts"}, {"turn_id", '
    '"answer"}, or a run\'s {"_id", "text", "agent_response"})'
)


class PredictedAnswer(NamedTuple):
    """A predicted answer.

    Args:
        text: the answer.
        query: its rewritten query; empty if unknown.
        passages: the passages that it was generated from; None if unknown.
    """

    text: str
    query: str
    passages: list[Hit] | None


def read_trec_run(
    path: Path, known: Container[str] = ()
) -> tuple[Mapping[str, list[Hit]], Mapping[str, Line]]:
    """Read a TREC run; the *.trec files of a folder are read together.

    The column of ranks is ignored, as by trec_eval.

    Args:
        path: the file or folder.
        known: ids of passages that a run has as they are (see `convrag.sdk.data.trec`).

    Returns:
        Turn id -> ranking, and turn id -> the line where the turn first occurs.

    Raises:
        DataError: a line is broken, a passage is ranked twice for a turn, or there is no ranking.
    """
    scores: dict[str, dict[str, float]] = {}
    first_lines: dict[str, Line] = {}
    for line in read_lines_in(path, ".trec"):
        turn_id, passage_id, _, score = read_rank(line, known)
        ranking = scores.setdefault(turn_id, {})
        first_lines.setdefault(turn_id, line)
        if passage_id in ranking:
            raise line.error(f"passage {passage_id!r} is ranked twice for turn {turn_id!r}")
        ranking[passage_id] = score
    if not scores:
        raise DataError("it holds no ranking", path=path)
    rankings = {}
    for turn_id, ranking in scores.items():
        hits = [Hit(Passage(passage_id, ""), score) for passage_id, score in ranking.items()]
        rankings[turn_id] = sort_hits(hits)
    return rankings, first_lines


def sort_hits(hits: list[Hit]) -> list[Hit]:
    """Sort hits as trec_eval does: by score in single precision, then the greater id first."""
    by_id = sorted(hits, key=lambda hit: hit.passage.id, reverse=True)
    return sorted(by_id, key=lambda hit: -round_to_single_precision(hit.score))


def read_answers(
    path: Path, model: str | None = None
) -> tuple[Mapping[str, PredictedAnswer], Mapping[str, Line]]:
    """Read answers; the *.jsonl files of a folder are read together.

    Args:
        path: the file or folder.
        model: the model whose answers are read, of a file of InspectorRAGet (.json) with several.

    Returns:
        Turn id -> answer, and turn id -> the line that has the answer.

    Raises:
        ConfigError: a file has answers of several models, and none or an unknown one is chosen.
        DataError: a line is in none of the known forms, a turn occurs twice, or there is no answer.
    """
    rows = _read_inspectorraget(path, model) if path.suffix == ".json" else _read_jsonl(path)
    answers: dict[str, PredictedAnswer] = {}
    lines: dict[str, Line] = {}
    for line, turn_id, answer in rows:
        first = lines.get(turn_id)
        if first:
            raise line.error(
                f"turn {turn_id!r} has an answer already, in {first.path}, line {first.number}"
            )
        lines[turn_id] = line._replace(text="")
        answers[turn_id] = answer
    if not answers:
        raise DataError("it holds no answer", path=path)
    return answers, lines


def _read_inspectorraget(
    path: Path, model: str | None
) -> Iterator[tuple[Line, str, PredictedAnswer]]:
    answers = list(read_marked_answers(path))
    models = list(dict.fromkeys(answer.model for answer in answers))
    if model is None and len(models) > 1:
        raise ConfigError(
            f"{path} has answers of {', '.join(models)}: choose one with task.model={models[0]}"
        )
    if model is not None and model not in models:
        raise UnknownName("task.model: model", model, models)
    for answer in answers:
        if model is None or answer.model == model:
            hits = [Hit(passage, -float(place)) for place, passage in enumerate(answer.passages)]
            yield Line(path, 0, ""), answer.turn_id, PredictedAnswer(answer.text, "", hits)


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


def _read_jsonl(path: Path) -> Iterator[tuple[Line, str, PredictedAnswer]]:
    for line in read_lines_in(path, ".jsonl"):
        row = line.parse(_AnswerRow, _FORMS)
        yield line, row.turn_id, _make_answer(row, line)


def _make_answer(row: _AnswerRow, line: Line) -> PredictedAnswer:
    if row.agent_response is not None:
        return PredictedAnswer(row.agent_response, get_last_utterance(row.text), None)
    text = row.predictions[0].text if row.predictions else row.answer
    if text is None:
        raise line.error(f"this is not {_FORMS}")
    hits = None
    if row.contexts is not None:
        hits = [_make_hit(context, place) for place, context in enumerate(row.contexts)]
    return PredictedAnswer(text, "", hits)


def _make_hit(context: _Context, place: int) -> Hit:
    """Make a hit of a passage; without a score, the score falls with its place."""
    passage = Passage(context.id, context.text or "", context.title or "", context.url or "")
    return Hit(passage, -float(place) if context.score is None else float(context.score))
