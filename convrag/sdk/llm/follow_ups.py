"""Follow-up questions that a language model suggests."""

import re

from convrag.api.records import TurnRecord
from convrag.api.stage import LLM
from convrag.sdk.llm.prompts import PromptTemplate
from convrag.sdk.llm.rewriter import clean_reply

_LIST_MARK = re.compile(r"^[\s*•-]*(?:\d+[.)](?!\d)[\s*]*)?")


def suggest_follow_ups(
    llm: LLM, template: PromptTemplate, record: TurnRecord, count: int
) -> list[str]:
    """Suggest different questions to ask next; none after a turn without an answer.

    Args:
        llm: the language model.
        template: the prompt; it is given `question`, `answer`, `titles` (of passages that were
            shown to the model and not cited) and `count`.
        record: the last turn.
        count: how many questions at most.

    Raises:
        LLMError: the model gives no reply.
    """
    if record.error or not record.answer.text or not count:
        return []
    prompt = template.render(
        question=record.original_query,
        answer=record.answer.text,
        titles=_list_unused_titles(record),
        count=count,
    )
    questions: list[str] = []
    for line in llm.complete(prompt).text.splitlines():
        question = clean_reply(_LIST_MARK.sub("", line))
        if question and question not in questions:
            questions.append(question)
    return questions[:count]


def _list_unused_titles(record: TurnRecord) -> list[str]:
    """List the titles of passages that were shown to the model and not cited."""
    titles: list[str] = []
    for item in record.evidence.items:
        title = item.passage.title
        is_cited = item.passage.id in record.answer.citations
        if title and not is_cited and title not in titles:
            titles.append(title)
    return titles
