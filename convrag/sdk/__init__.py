"""What plugins would otherwise each write.

* `prompts`: a Jinja template becomes messages.
* `llm_rewriter`: a rewriter that asks an LLM once.
* `structured_output`: JSON replies, read into a pydantic model.
* `recording`: replies of an LLM in a file.
* `sentences`: English text becomes sentences.
* `citations`: an answer's citations are checked.
* `fusion`: reciprocal rank fusion.
* `stemming`: English words without their endings.
* `ordering`: the order in which passages are shown.
* `corpus`: the passages of a domain on disk.
* `jsonl`: users' files, line by line.
* `utterances`: MTRAG's mark of who speaks.
* `lazy`: a value that is made at the first call.
* `parallel`: one function over many items at once.
* `progress`: progress bars.
"""
