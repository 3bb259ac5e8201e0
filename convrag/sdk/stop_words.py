"""English words that do not tell what a text is about."""

from __future__ import annotations

__all__ = ["ANAPHORS", "STOP_WORDS", "is_stop_word"]

_FUNCTION_WORDS = """
a about above across after again against all almost alone along already also although always am among an and any
anybody anyone anything are aren't around as ask at away back be became because become been before began behind being
below between both but by came can can't cannot come could couldn't did didn't do does doesn't doing don't done down
during each either else enough especially etc even ever every everyone everything few for from further gave get gets
getting give given go goes going gone got had hadn't has hasn't have haven't having hence here how however i i'd i'll
i'm i've if in indeed instead into is isn't itself just last least less let like made mainly make makes many may maybe
me mean means meant might mine more most much must my myself near need neither never next no nobody none nor not
nothing now of off often on once only onto or ought our ours out over own per perhaps please put quite rather really
said same say says see seem seemed seems several shall she's should shouldn't since so some someone something
sometimes still such take taken than that's the then there there's therefore thing things though through throughout
thus to together too toward towards under until up upon us used using various very via was wasn't way ways we well
went were weren't what what's whatever when where whereas whether which while who who's whom whose why will with
within without won't would wouldn't yes yet you your yours yourself
"""
_PRONOUNS = (
    "it its it's they them their theirs he him his she her hers this that these those one ones other others another"
)
# Frequent in what users and assistants say to each other, whatever the topic.
_CHAT_WORDS = """
according available based certain consult context currently describe detail details document documents example
examples explain find hello help hi include included includes including info information interesting know mentioned
note ok okay passage passages provide provided provides question questions related sorry speaking specific
specifically sure talk tell thank thanks think understand want wonder
"""

ANAPHORS = frozenset(_PRONOUNS.split())
"""Words that refer back to something said before."""

STOP_WORDS = frozenset(_FUNCTION_WORDS.split()) | ANAPHORS | frozenset(_CHAT_WORDS.split())
"""Words that do not tell what a text is about."""


def is_stop_word(word: str) -> bool:
    """Whether a word is a stop word, in capitals or not, with either apostrophe."""
    return word.lower().replace("’", "'") in STOP_WORDS
