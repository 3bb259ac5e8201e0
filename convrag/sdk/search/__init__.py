"""Search: corpora, indexes, and rankings.

* `cascade`: ranking in several steps, each for fewer texts.
* `corpus`: the passages of a domain on disk, or looked up in a server that has them.
* `frequencies`: document frequencies, and the weights of a question's words.
* `postings`: posting lists with weights, on disk, and the search for the best.
* `sparse_vectors`: files of weighted tokens of passages and queries.
* `vectors`: vectors of texts that are embedded once, and texts in clusters.
* `queries`: which queries of a rewrite a search takes, and how a query is shown.
* `filters`: what filters mean: fields and their kinds, checks, conditions.
* `field_index`: the fields of a corpus, and the passages that match a condition.
* `filtering`: the filters of a retriever, its own and that of a request.
* `fusion`: rankings fused by ranks or by scores, and their agreement.
* `diversity`: items that are relevant and not alike (MMR).
* `prompt_order`: the order in which passages are shown.
"""
