"""Answers from evidence spans: two drafts, a choice by judges, and a decision whether they answer."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register this package's options."""
    register("generator", "drafts", "convrag_drafts.generator:DraftsGenerator")
