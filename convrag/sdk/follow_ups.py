"""Follow-up questions that a language model suggests: what the passages of a turn could answer as well."""

import re

from convrag.api.models import LLM
from convrag.api.records import TurnRecord
from convrag.sdk.llm_rewriter import clean_reply
from convrag.sdk.prompts import PromptTemplate

_LIST_MARK = re.compile(r"^[\s*•-]*(?:\d+[.)](?!\d)[\s*]*)?")


def suggest_follow_ups(llm: LLM, template: PromptTemplate, record: TurnRecord, count: int) -> list[str]:
    """Suggest different questions to ask next; none after a turn without an answer.

    Args:
        llm: the language model.
        template: the prompt; it is given `question`, `answer`, `titles` (of passages that were shown to the model and
            not cited) and `count`.
        record: the last turn.
        count: how many questions at most.

    Raises:
        LLMError: the model gives no reply.
    """
    if record.error or not record.answer.text or not count:
        return []
    unused = (item.passage for item in record.evidence.items if item.passage.id not in record.answer.citations)
    titles = list(dict.fromkeys(passage.title for passage in unused if passage.title))
    prompt = template.render(question=record.original_query, answer=record.answer.text, titles=titles, count=count)
    lines = llm.complete(prompt).text.splitlines()
    questions = (clean_reply(_LIST_MARK.sub("", line)) for line in lines)
    return list(dict.fromkeys(filter(None, questions)))[:count]
