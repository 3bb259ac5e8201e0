"""The fenced blocks of the pages."""

import re


def blocks(language: str, text: str) -> list[str]:
    """The blocks in a language, but for those that say why they are not run.

    tests/docs/test_docs_commands.py explains the comment that says so.
    """
    fence = rf"(?<!-->\n)^```{language}\n(.*?)^```"
    return re.findall(fence, text, re.MULTILINE | re.DOTALL)
