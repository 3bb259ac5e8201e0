"""The 33 stop words of Lucene's English analyser, for libraries that take a list."""

_LINE = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then there these they this "
    "to was will with"
)
STOP_WORDS = frozenset(_LINE.split())
