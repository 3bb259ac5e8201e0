"""The contracts of convrag, applied to this plugin."""

from acme.clusterer import LengthClusterer
from acme.rewriter import TopicRewriter

from convrag.testing import ClustererContract, RewriterContract


class TestTopicRewriter(RewriterContract):
    def make(self) -> TopicRewriter:
        return TopicRewriter(clusterer=LengthClusterer(), embedder=ClustererContract().embedder())


class TestLengthClusterer(ClustererContract):
    def make(self) -> LengthClusterer:
        return LengthClusterer(step=5)
