"""`selector=dynamic`: as many passages as the question needs."""

from collections.abc import Sequence

from convrag import ConfigError, Hit, Question, Selection, Selector
from convrag.sdk.words import find_content_words
from convrag_selectors.chosen import scale_scores, select_positions


class DynamicSelector(Selector):
    """Select as many passages as the question needs: down to the first that neither scores well nor adds a facet.

    From the first passage on, one is kept if its score is at least `share` of the first one's, or if it has a facet of
    the question that none before it has; the first that does neither ends the evidence. Scores count from that of the
    last passage found, so top_k must be larger than top_n. The facets are the content words of the rewritten question,
    as English stems. The trace has the reason ("kept 3: passage 4 scores 0.41 of the first, and no facet is left"), and
    the facets that no passage kept has.

    Args:
        minimum: passages that are kept in any case.
        maximum: passages that are kept at most; null takes top_n.
        share: of the first passage's score; 1 keeps passages for their facets alone. Default: half.

    Raises:
        ConfigError: a number is out of range.
    """

    libraries = ("PyStemmer",)

    def __init__(self, *, minimum: int = 1, maximum: int | None = None, share: float = 0.5) -> None:
        if minimum < 1 or (maximum is not None and maximum < minimum):
            raise ConfigError(f"selector.minimum={minimum}, selector.maximum={maximum}: at least 1, and in this order")
        if not 0 <= share <= 1:
            raise ConfigError(f"selector.share={share}: between 0 (all passages) and 1 (those as good as the first)")
        self.minimum = minimum
        self.maximum = maximum
        self.share = share

    def select(self, question: Question, hits: Sequence[Hit], n: int) -> Selection:
        """Between `minimum` and `maximum` hits (n, where there is no maximum), in their order."""
        if n < 1:
            return Selection(())
        most = n if self.maximum is None else self.maximum
        shares = scale_scores([hit.score for hit in hits])
        left = find_facets(question.standalone or question.text)
        kept = 0
        for hit, score in zip(hits[:most], shares, strict=False):
            found = left.keys() & find_facets(hit.passage.content).keys() if left else ()
            if kept >= self.minimum and score < self.share and not found:
                break
            kept += 1
            left = {stem: word for stem, word in left.items() if stem not in found}
        missing = list(left.values())
        trace = {"reason": _explain(kept, most, shares, missing), "missing_facets": missing}
        return select_positions(hits, range(kept), trace)


def find_facets(text: str) -> dict[str, str]:
    """The facets of a text: the stems of its content words -> the words, in order."""
    facets: dict[str, str] = {}
    for word in find_content_words(text):
        facets.setdefault(word.stem, word.text)
    return facets


def _explain(kept: int, most: int, shares: Sequence[float], missing: Sequence[str]) -> str:
    """Why so many passages were kept."""
    if kept >= most:
        return f"kept {kept}: no more are wanted"
    if kept == len(shares):
        return f"kept {kept}: no more were found"
    facets = f"does not have {' or '.join(map(repr, missing))}" if missing else "no facet is left"
    return f"kept {kept}: passage {kept + 1} scores {shares[kept]:.2f} of the first, and {facets}"
