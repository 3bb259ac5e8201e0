"""Answers from evidence spans: two drafts, a choice by judges, and calibrated answerability."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("generator", "drafts", "convrag_drafts.generator:DraftsGenerator")
    register("task", "calibrate_answerability", "convrag_drafts.calibrate_task:CalibrateAnswerabilityTask")
