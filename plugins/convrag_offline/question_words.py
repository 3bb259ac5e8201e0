"""The English words and patterns by which sentences are turned into questions."""

from __future__ import annotations

import re

BE = frozenset(("is", "are", "was", "were"))
MODALS = frozenset(("can", "may", "must", "should", "will", "shall", "cannot"))
PLURAL_VERBS = frozenset(("are", "were", "have", "do"))
PRONOUNS = frozenset(("it", "they", "he", "she"))
POSSESSIVES = frozenset(("its", "their", "his", "her"))
ARTICLES = frozenset(("a", "an", "the", "one"))
DETERMINERS = frozenset(("all", "each", "most", "some", "many", "your", "our", "their", "its", "his", "her"))

_VERBS = """
cost costs | take takes took | last lasts lasted | contain contains contained | provide provides provided |
have has had | require requires required | need needs needed | offer offers offered | use uses used |
cover covers covered | get gets got | receive receives received | pay pays paid | begin begins began |
start starts started | end ends ended | hold holds held | support supports supported | produce produces produced |
earn earns earned | open opens opened | close closes closed | fly flies flew | die dies died |
arrive arrives arrived | win wins won | weigh weighs weighed | become becomes became
"""
_BREAKS = """
that which who whom whose if when where while because as than although though whether and or but not there then thus
however here so also this these those what how why said says up nobody anyone everyone everybody no nothing none neither
either every only even both such i we you suggest suggests indicate indicates show shows believe believes argue argues
claim claims think thinks speculated
"""
_PREPOSITIONS = (
    "about above according after among at before below between by during for from in of on over since to under"
)
_PRONOUN_FORMS = {"he": "he his him", "she": "she her hers", "they": "they their them", "it": "it its"}
_TIMED = "begin start end open close fly die arrive"
_PARTICIPLES = """
built held made founded written sent paid given taken known born sold kept found shown drawn set won hung put cut bought
brought lost left led grown thrown chosen broken driven
"""
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve fifteen twenty thirty forty fifty hundred"
_UNITS = "second minute hour day week month year o'clock"
_MONTHS = "january february march april may june july august september october november december"
_DATES = f"""
{_MONTHS} monday tuesday wednesday thursday friday saturday sunday
spring summer autumn winter day week month year morning evening
"""


def _read_verbs() -> dict[str, tuple[str, str]]:
    """A verb as it stands in a sentence -> the auxiliary and the base that a question has in its place."""
    forms: dict[str, tuple[str, str]] = {}
    for base, third, *past in (entry.split() for entry in _VERBS.split("|")):
        forms |= {base: ("do", base), third: ("does", base), **{form: ("did", base) for form in past if form != base}}
    return forms


VERBS = _read_verbs()
BREAKS = frozenset(_BREAKS.split())
"""A subject with one of these is a clause, or something else that cannot be asked about."""
PREPOSITIONS = frozenset((*_PREPOSITIONS.split(), "until", "when", "with", "within", "without"))
"""A sentence that begins with one of these does not begin with its subject."""
TIMED = frozenset(_TIMED.split())
"""Verbs that are asked about with "when"."""

PRONOUN_PATTERNS = {
    pronoun: re.compile(rf"\b(?:{forms.replace(' ', '|')})\b", re.IGNORECASE)
    for pronoun, forms in _PRONOUN_FORMS.items()
}
"""A pronoun -> where a text has it, in any of its forms."""

NUMBER = rf"(?:\d[\d,.]*|{'|'.join(_NUMBERS.split())})"
NUMBER_START = re.compile(rf"^(?:[€$£]\s?)?{NUMBER}\b")
COUNTED = re.compile(
    rf"^(?:(?:about|around|approximately|nearly|almost|at least|at most|up to|over|some|only|a total of) )*{NUMBER}"
    r" (?P<unit>[a-z]+s)\b"
)
_POINTS = (
    rf"{NUMBER} (?:{'|'.join(_UNITS.split())})",
    r"\d{4}",
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? (?:{'|'.join(_MONTHS.split())})",
    *_DATES.split(),
)
TIME = re.compile(
    r"\b(?:within|before|after|until|by|since|every|from|on|in|at) (?:the )?(?:[a-z]+ of )?"
    rf"(?:{'|'.join(_POINTS)})s?\b",
    re.IGNORECASE,
)
MEANS = re.compile(r"\b(?:through|via|using|by (?:means of|[a-z]+ing|e-?mail|post|phone|telephone))\b")
PLACE = re.compile(r"\b(?:in|at|near|to) (?:the )?(?:[A-Z][a-z]|[a-z]+ (?:room|building|yard|floor|cabinet|office))")
REASON = re.compile(r"\b(?:because|so that|in order to|due to)\b")
PARTICIPLE = re.compile(rf"^(?:[a-z]{{2,}}ed|{'|'.join(_PARTICIPLES.split())})$")
