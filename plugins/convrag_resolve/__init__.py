"""References to what was said, resolved without a language model ("How high is it?").

* `rewriter`: `rewriter=resolve`, also as a step before another rewriter.
* `resolution`: all references of one question, and the standalone question.
* `conversation`: what was said so far: entities with their salience, listed options, and in which turn each word stood.
* `answers`: what an answer tells of the things it names.
* `mentions`: noun phrases that may be said again, with their number and person.
* `entities`: what several mentions name, and which pronouns agree with it.
* `reading`: a text with its words and noun phrases.
* `noun_phrases`: the noun phrases of a text, by rules; `spacy_phrases`: with a spaCy pipeline.
* `tags`: words with their part of speech, by rules; `vocabulary`, `verbs`: the words that those rules know.
* `lists`: the options that an answer listed.
* `pronouns`, `expletives`, `places`, `demonstratives`, `definites`, `ordinals`, `kinds`, `temporal`, `ellipsis`: a
  kind of reference each.
* `links`: a reference, what it was linked to, and how it is written out.
* `english`: whether a conversation is in English, the only language of these rules.
"""

from __future__ import annotations

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register `rewriter=resolve`."""
    register("rewriter", "resolve", "convrag_resolve.rewriter:ResolveRewriter")
