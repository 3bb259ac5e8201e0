"""Texts: words, sentences, citations, and words in common.

* `analysis`: how texts become words, for all that searches, compares or counts them.
* `stop_words`: words without a topic of their own, by language.
* `stems`: the stems of words.
* `characters`: soft hyphens and others that are not seen, and raised digits.
* `encodings`: the bytes of a text file or a page as text.
* `html_bounds`: refuses pages that their parser would take very long for.
* `unreadable`: a text or a document that cannot be read, and why.
* `tokens`: tokens and words of texts of any script.
* `languages`: the language of a text.
* `sentences`: the sentences of texts of any script.
* `clauses`: shortens an English sentence by whole clauses.
* `citations`: the citations of an answer, found and checked.
* `overlap`: the share of a query's words that a text has, rare words first.
* `quotations`: the sentences of passages that an answer repeats word for word.
* `windows`: quotations of passages, around the sentence that has most of a query's words.
* `support`: how far passages support the sentences of an answer, by the words in common.
* `answerability`: whether a question is answered, refused or asked back, and the signal.
* `clarification`: questions back to the user, and the choices that they offer.
* `refusals`: the reply where nothing was found, in the language of the question.
* `answers`: answers as metrics compare them, and the data set's references for their turns.
"""
