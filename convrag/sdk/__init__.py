"""Functions and classes that many plugins need. With `convrag` and `convrag.testing` it is all that a plugin imports.

* `tasks`: the door to the rooms above, for tasks, trackers and reports.
* `errors`: errors that few plugins raise or catch.
* `types`: types that few plugins need.
* `identity`: what makes the key of a result.
* `groups`: the groups of stages that a configuration chooses from.
* `libraries`: which libraries are installed.
* `files`: files that are written whole or not at all.
* `folders`: the same for folders.
* `storage`: the store of results, its locks, and what calls cost; and what a plugin that opens databases implements.
* `cancelling`: long work that can be cancelled.
* `streaming`: the pieces of a model's reply.
* `strict_json`: JSON without NaN and infinities.
* `rows`: rows of JSON files, checked as they are read.
* `secrets`: passwords and keys in messages.
* `printable`: text, counts, durations and tables for terminals, logs and Markdown.
* `prompts`: prompt templates in Jinja, and personal statements of the user in a prompt.
* `llm_rewriter`: the base of rewriters that ask an LLM once, and follow-up questions that it suggests.
* `structured_output`: JSON replies of LLMs as pydantic models.
* `recording`: replies of LLMs in a file, found again by their prompts.
* `sentences`: the sentences of texts of any script, also shortened by whole clauses.
* `statements`: what sentences do: they state something, they ask, or neither.
* `spelling`: the word that a misspelt one stands for.
* `frequencies`: in how many passages each word is, and what a question's words weigh.
* `matching`: how much of what a question asks the sentences of passages say.
* `forms`: what a question asks for by its form, and whether a sentence says it.
* `quoting`: which of those are quoted, and how they look there.
* `deciding`: whether a question is answered, refused or asked back, from named signals.
* `asking`: what a question leaves open, the choices that passages offer, and what a reply to them means.
* `verdicts`: a model's decision in the same reply as its answer.
* `sparse_vectors`: files of weighted tokens of passages and queries.
* `postings`: posting lists with weights, on disk, and the search for the best.
* `plotting`: the style of plots.
* `support`: how far passages support the sentences of an answer, by the words in common.
* `answers`: answers as metrics compare them, and what the data set knows of their turns.
* `judges`: language models as judges of answers.
* `alignment`: finds copied texts in the text that they were copied from.
* `citations`: finds and checks the citations of an answer.
* `history`: what a stage reads of a conversation's history, turn by turn.
* `transcript`: a conversation as Markdown, its numbered passages, and what people know them by.
* `turn_spans`: a turn as spans: its stages and their calls of language models, for trackers that trace.
* `fusion`: rankings fused by ranks or by scores, and their agreement.
* `queries`: which queries of a rewrite a search takes, and how a query is shown.
* `words`: the words of a text, stop words, and stems.
* `vectors`: vectors of texts that are embedded once, and texts in clusters.
* `diversity`: items that are relevant and not alike (MMR).
* `ordering`: the order in which passages are shown.
* `model_files`: which model a name stands for, by its files or its commit on the Hugging Face hub.
* `document_passages`: passages cut from a document, with their place in it.
* `corpus`: the passages of a domain on disk, or looked up in a server that has them.
* `played`: conversations whose user listens, each question made from the answers before it.
* `question_sets`: an evaluation set in a folder, and which passages it is about.
* `inspectorraget`: answers of several models with marks of people, in files of InspectorRAGet.
* `jsonl`: users' JSONL files, line by line.
* `trec`: lines of TREC's files, and ids whose blanks are percent-encoded in them.
* `utterances`: texts whose lines have MTRAG's prefix of the user's utterances.
* `lazy`: values that are made at the first call.
* `parallel`: calls a function for many items in parallel.
* `threads`: one thread for the numerical libraries.
* `progress`: what is being done and how far it is, on the terminal and in the log.
* `console`: the console that everything is printed on, and how progress looks there.
* `retry_after`: the HTTP header Retry-After.
* `library_logs`: the loggers of libraries, limited in the command alone.
"""
