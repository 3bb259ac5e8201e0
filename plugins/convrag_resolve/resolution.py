"""All references of one question, and the standalone question."""

from __future__ import annotations

from dataclasses import dataclass, replace

from convrag_resolve.conversation import SaidSoFar
from convrag_resolve.definites import find_bridge, find_definites
from convrag_resolve.demonstratives import find_demonstratives
from convrag_resolve.ellipsis import find_ellipsis
from convrag_resolve.english import is_english
from convrag_resolve.kinds import find_kinds
from convrag_resolve.links import Link, write_out
from convrag_resolve.ordinals import find_ordinals
from convrag_resolve.places import find_places
from convrag_resolve.pronouns import find_pronouns
from convrag_resolve.temporal import find_focus, find_turns, find_unnamed

LONGEST = 1_000
"""Characters of a question that is read: a longer one, such as a pasted text, stands alone."""


@dataclass(frozen=True, slots=True)
class Resolution:
    """The question with its references written out, and what each was linked to."""

    text: str
    links: tuple[Link, ...] = ()


def resolve_references(question: str, said: SaidSoFar) -> Resolution:
    """Resolve the references of a question to what was said; one without references stays as it is, word for word."""
    if not said.turns or len(question) > LONGEST or not question.strip():
        return Resolution(question)
    last = said.turns[-1]
    if not is_english(question) or not is_english(question, last.asked, last.standalone):
        return Resolution(question)
    reading = said.reader(question)
    focus = find_focus(reading, said)
    entity = focus.entity if focus else None
    links = [focus.link] if focus else []
    for found in (
        find_turns(reading, said),
        find_ordinals(reading, said),
        find_kinds(reading, said),
        find_pronouns(reading, said, entity),
        find_places(reading, said, entity),
        find_demonstratives(reading, said, entity),
        find_definites(reading, said),
    ):
        links += [link for link in found if not any(_overlap(link, other) for other in links)]
    links = _drop_repeated(links)
    linked = any(link.written is not None for link in links)
    if not linked and focus is None and (bridge := find_bridge(reading, said)) is not None:
        links, linked = [*links, bridge], True
    if not links and (unnamed := find_unnamed(reading, said)) is not None:
        links.append(unnamed)
    if (completed := find_ellipsis(reading, said, linked=linked or focus is not None)) is not None:
        links = [*(link for link in links if link.written is None), completed]
    links.sort(key=lambda link: (link.start, link.end))
    return Resolution(write_out(question, links), tuple(links))


def _overlap(one: Link, other: Link) -> bool:
    return one.start < other.end and other.start < one.end


def _drop_repeated(links: list[Link]) -> list[Link]:
    """Write each antecedent out once: "how old is it and who built it" needs its name only once."""
    kept: list[Link] = []
    named: set[str] = set()
    for link in sorted(links, key=lambda each: each.start):
        again = (
            link.written is not None
            and link.kind in ("pronoun", "demonstrative", "definite")
            and link.antecedent in named
        )
        kept.append(replace(link, written=None) if again else link)
        if link.written is not None:
            named.add(link.antecedent)
    return kept
