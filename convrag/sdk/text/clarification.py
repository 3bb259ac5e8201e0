"""Questions back to the user: the choices that passages offer, and a reply that picks one."""

import re
from collections.abc import Iterable, Sequence

from convrag.api.passages import Passage
from convrag.sdk.data.transcript import name_passage
from convrag.sdk.output.printable import escape_markdown, format_line, unescape_markdown
from convrag.sdk.search.frequencies import find_source

MOST_CHOICES = 4
"""The most choices that a question offers."""

_NUMBERED = re.compile(r"\d+\. (\S.*)")
_FIRST_CHOICE = "\n1. "


def format_question(question: str, choices: Sequence[str]) -> str:
    """Format a question back, in Markdown, with the choices below it as a numbered list."""
    if not choices:
        return question
    numbered = [
        f"{number}. {escape_markdown(choice, begins_line=True)}"
        for number, choice in enumerate(choices, 1)
    ]
    return "\n".join([question, "", *numbered])


def read_choices(answer: str) -> list[str]:
    r"""Read the choices of a question back that `format_question` wrote; none in any other answer.

    Example:
        >>> read_choices("Which storm?\n\n1. Katrina\n2. Gloria")
        ['Katrina', 'Gloria']
        >>> read_choices("There are two storms. Shall I list them?")
        []
    """
    if _FIRST_CHOICE not in answer:  # as in nearly all answers of a long history
        return []
    question, *lines = answer.splitlines()
    matches = filter(None, map(_NUMBERED.fullmatch, lines))
    choices = [unescape_markdown(match[1]) for match in matches]
    return choices if choices and format_question(question, choices) == answer else []


def find_choice(reply: str, choices: Sequence[str]) -> str:
    """Find the choice that a reply is: its number, or the choice itself; empty for any other reply.

    Example:
        >>> [find_choice(reply, ["Katrina", "Gloria"]) for reply in ("2", "katrina", "0", "both")]
        ['Gloria', 'Katrina', '', '']
    """
    plain = reply.strip()
    if plain.isdecimal() and len(plain) < 3:
        number = int(plain)
        return choices[number - 1] if 1 <= number <= len(choices) else ""
    return next((choice for choice in choices if choice.casefold() == plain.casefold()), "")


def list_choices(passages: Iterable[Passage]) -> list[str]:
    """List the documents of passages, in their order, or the titles in one document; at most four.

    Args:
        passages: the best first.
    """
    passages = list(passages)
    has_several_documents = len({find_source(each) for each in passages}) > 1
    first: dict[str, Passage] = {}
    for each in passages:
        first.setdefault(find_source(each) if has_several_documents else each.title, each)
    titles = [each.title for each in first.values()]
    names = []
    for each in first.values():
        is_clear = each.title and titles.count(each.title) == 1
        names.append(format_line(each.title if is_clear else name_passage(each)))
    return list(dict.fromkeys(names))[:MOST_CHOICES]
