"""Texts: words, sentences, citations, and what texts have in common.

* `analysis`: the words of a text, stop words, stems, and the language of a text.
* `sentences`: the sentences of texts of any script, also shortened by whole clauses.
* `citations`: finds and checks the citations of an answer.
* `support`: how far passages support the sentences of an answer, by the words in common.
* `answers`: answers as metrics compare them, and what the data set knows of their turns.
"""
