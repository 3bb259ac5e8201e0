"""A conversation for people to read."""

from __future__ import annotations

from convrag.turn.session import Session


def transcript(conversation: Session) -> str:
    """As Markdown: questions as headings, answers, and the passages that each was given."""
    blocks = [f"# {conversation.id}"]
    for turn in conversation.history:
        passages = [f"- {passage.title or passage.text[:60]} ({passage.id})" for passage in turn.passages]
        blocks += [f"## {turn.question}", turn.answer or "(no answer)", "\n".join(passages)]
    return "\n\n".join(filter(None, blocks)) + "\n"
