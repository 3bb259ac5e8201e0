"""Language models: how they are asked, and how their replies are read.

* `prompts`: prompt templates in Jinja, and personal statements of the user in a prompt.
* `marks`: replaces what a passage has of a prompt's marks, such as the label of another passage.
* `sampling`: the sampling parameters of stages, with their limits.
* `rewriter`: the base of rewriters that ask an LLM once.
* `json_stage`: the base of rewriters and searches that ask an LLM for JSON.
* `structured_output`: JSON replies of LLMs as pydantic models.
* `verdicts`: a model's decision (answer, refuse, ask back) in the same reply as its answer.
* `follow_ups`: follow-up questions that an LLM suggests.
* `judges`: language models as judges of answers.
* `recording`: replies of LLMs in a file, found again by their prompts.
* `thoughts`: a model's thoughts, separated from its text.
* `streaming`: the pieces of a model's reply.
* `history`: reads a conversation's history turn by turn.
"""
