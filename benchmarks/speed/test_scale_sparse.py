"""`retriever=sparse` over 200,000 passages with weights like SPLADE's.

    pytest benchmarks/speed/test_scale_sparse.py -n 0 -s

Tokens are drawn from BERT's 30,522 by Zipf's law, weights from 0 to 3. They are there when passages
are "encoded", so that the times are those of all the rest. The scores are held against a product of
scipy's sparse matrices. CONVRAG_BENCHMARK_PASSAGES sets another number of passages.
"""

import os
import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix

from convrag import Conversation, Dataset, Passage, Query, Store
from convrag_neural.sparse import SparseRetriever, _Tokens

PASSAGES = int(os.environ.get("CONVRAG_BENCHMARK_PASSAGES", "200000"))
WORDS, PER_PASSAGE, PER_QUERY, QUERIES, K = 30_522, 120, 30, 50, 10


class Numbered(Dataset):
    """Passages whose text is their number."""

    def conversations(self) -> Iterator[Conversation]:
        return iter(())

    def corpus_fingerprint(self, domain: str) -> str:
        return f"numbered {PASSAGES}"

    def corpus(self, domain: str) -> Iterator[Passage]:
        return (Passage(f"p{number}", str(number)) for number in range(PASSAGES))


class Prepared(SparseRetriever):
    """Weighted tokens that follow from the number of the first text."""

    def content_hash(self) -> str:
        return "prepared"

    def prepare(self) -> None:
        self.index()

    def _encode(self, texts: list[str], *, is_query: bool) -> _Tokens:
        rng = np.random.default_rng([int(texts[0]), is_query])
        count = PER_QUERY if is_query else PER_PASSAGE
        likely = 1 / np.arange(1, WORDS + 1)
        drawn = rng.choice(WORDS, (len(texts), count), p=likely / likely.sum())
        matrix = csr_matrix(
            (
                rng.uniform(0.05, 1.0, drawn.size),
                (np.repeat(np.arange(len(texts)), count), drawn.ravel()),
            ),
            (len(texts), WORDS),
        ).tocoo()  # a token that was drawn twice has both weights
        return _Tokens(
            matrix.row.astype(np.int64),
            matrix.col.astype(np.int64),
            matrix.data.clip(0, 3).astype("f4"),
        )


def test_scale(tmp_path: Path) -> None:
    retriever = Prepared(dataset=Numbered(), store=Store(tmp_path), model="prepared")
    parts: list[_Tokens] = []
    encode = retriever._encode

    def keep(texts: list[str], *, is_query: bool) -> _Tokens:
        found = encode(texts, is_query=is_query)
        parts.append(found._replace(rows=found.rows + int(texts[0])))
        return found

    retriever._encode = keep  # type: ignore[method-assign]
    start = time.process_time()
    retriever.index()
    built = time.process_time() - start
    size = sum(path.stat().st_size for path in tmp_path.glob("indexes/*/*")) / 2**20
    rows, numbers, weights = map(np.concatenate, zip(*parts, strict=True))
    matrix = csr_matrix((weights.astype(np.float64), (rows, numbers)), (PASSAGES, WORDS))
    retriever._encode = encode  # type: ignore[method-assign]
    took, brute = [], []
    for number in range(QUERIES):
        start = time.process_time()
        hits = retriever.retrieve([Query(str(number))], K)
        took.append(time.process_time() - start)
        tokens = encode([str(number)], is_query=True)
        start = time.process_time()
        scores = matrix @ np.bincount(tokens.numbers, tokens.weights.astype(np.float64), WORDS)
        best = np.sort(scores)[-K:][::-1]
        brute.append(time.process_time() - start)
        assert np.allclose([hit.score for hit in hits], best, atol=1e-4)
    query, whole = statistics.median(took), statistics.median(brute)
    print(
        f"{PASSAGES:,} passages, {len(weights):,} weights: built in {built:.1f} s of processor, {size:.0f} MiB; "
        f"a query {1000 * query:.1f} ms ({1000 * max(took):.1f} at most), by scipy's product {1000 * whole:.1f} ms"
    )
