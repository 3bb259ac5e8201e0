"""Language models: how they are asked, and how their replies are read.

* `prompts`: prompt templates in Jinja, and personal statements of the user in a prompt.
* `rewriter`: the base of rewriters that ask an LLM once, and follow-up questions that it suggests.
* `structured_output`: JSON replies of LLMs as pydantic models.
* `verdicts`: a model's decision (answer, refuse, ask back) in the same reply as its answer.
* `judges`: language models as judges of answers.
* `recording`: replies of LLMs in a file, found again by their prompts.
* `streaming`: the pieces of a model's reply.
* `history`: what a stage reads of a conversation's history, turn by turn.
"""
