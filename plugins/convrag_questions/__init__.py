"""`task=questions`: an evaluation set of conversations, written from passages of any data set.

* `task`: the task, from its parameters to the files and the report.
* `conversation`: writes a conversation, turn by turn.
* `question`: one turn: a proposal of the language model, and the checks that it must pass.
* `known_item`: known-item questions, written without a language model.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the task."""
    register(
        "task",
        "questions",
        "convrag_questions.task:QuestionsTask",
        "Write an evaluation set from your documents; without a language model, known-"
        "item questions.",
    )
