"""Texts: words, sentences, citations, and what texts have in common.

* `analysis`: how texts become words, for all that searches, compares or counts them.
* `stop_words`: words that do not tell what a text is about, by language.
* `stems`: the stems of words.
* `tokens`: tokens and words of texts of any script.
* `languages`: the language of a text.
* `sentences`: the sentences of texts of any script, also shortened by whole clauses.
* `citations`: finds and checks the citations of an answer.
* `overlap`: the share of a query's words that a text has, rare words first.
* `windows`: quotations of passages, around the sentence that has most of a query's words.
* `support`: how far passages support the sentences of an answer, by the words in common.
* `answerability`: whether a question is answered, refused or asked back, and the signal.
* `clarification`: questions back to the user, and the choices that they offer.
* `refusals`: what is said, in the language of the question, where nothing was found.
* `answers`: answers as metrics compare them, and what the data set knows of their turns.
"""
