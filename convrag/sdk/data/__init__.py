"""Files of data: JSONL, TREC and other formats, question sets, transcripts.

* `jsonl`: users' JSONL files, line by line.
* `rows`: the row of a turn in JSON files, checked when it is read.
* `strict_json`: strict JSON, without NaN and infinities.
* `bounded_yaml`: YAML within bounds: aliases cannot make a small text take all memory.
* `trec`: lines of TREC files, read and written; ids with percent-encoded blanks; tied scores.
* `utterances`: texts of several utterances, each with MTRAG's prefix.
* `inspectorraget`: answers of several models with their marks, in files of InspectorRAGet.
* `known_items`: known-item questions from headings and rare words, without a language model.
* `question_sets`: an evaluation set in a folder, and which passages it is about.
* `simulated`: conversations with a simulated user, each question made from the answers before it.
* `transcript`: a conversation as Markdown, its numbered passages, and the names by which people
  know them.
* `fields`: the fields of passages, made of front matter, columns and other keys.
* `document_passages`: passages cut from a document, with their place in it.
"""
