"""Files of data: JSONL, TREC and other formats, question sets, transcripts.

* `jsonl`: users' JSONL files, line by line.
* `rows`: rows of JSON files, checked as they are read.
* `strict_json`: JSON without NaN and infinities.
* `trec`: lines of TREC's files, and ids whose blanks are percent-encoded in them.
* `utterances`: texts whose lines have MTRAG's prefix of the user's utterances.
* `inspectorraget`: answers of several models with people's ratings, in files of InspectorRAGet.
* `known_items`: known-item questions, of headings and rare words, without a language model.
* `question_sets`: an evaluation set in a folder, and which passages it is about.
* `simulated`: conversations with a simulated user, each question made from the answers before it.
* `transcript`: a conversation as Markdown, its numbered passages, and the names by which people
  know them.
* `document_passages`: passages cut from a document, with their place in it.
"""
