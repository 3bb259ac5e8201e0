"""The directives of reStructuredText and Sphinx: what each shows of its arguments and its body."""

from typing import Literal

Form = Literal["body", "labelled", "code", "skipped", "table", "image", "include", "title"]
"""What a directive shows.

* "body": its body; its arguments do not belong to the text.
* "labelled": its body after a label, such as "Note:", and its arguments.
* "code": its body as it is.
* "skipped": nothing.
* "table": a table made of its body.
* "image": the text that stands for an image, and a caption.
* "include": the name of a file.
* "title": nothing; its arguments are the document's title.

Any other directive, such as ".. function:: open(path)", shows its arguments and its body.
"""

_NAMES: dict[Form, str] = {
    "body": """class rst-class container compound only ifconfig tab-set grid grid-item highlights
        epigraph pull-quote hlist glossary tabs cssclass header footer""",
    "code": """code code-block sourcecode parsed-literal prompt doctest testcode testoutput
        testsetup ipython math productionlist graphviz digraph graph mermaid uml command-output
        program-output""",
    "skipped": """toctree contents index meta highlight default-role default-domain currentmodule
        py:currentmodule module py:module program sectnum section-numbering tabularcolumns raw role
        sectionauthor codeauthor autosummary target-notes testcleanup""",
    "table": "csv-table list-table",
    "image": "image figure thumbnail",
    "include": "include literalinclude",
    "title": "title",
}
_FORMS = {name: form for form, names in _NAMES.items() for name in names.split()}
_LABELS = {
    "note": "Note",
    "warning": "Warning",
    "tip": "Tip",
    "hint": "Hint",
    "important": "Important",
    "caution": "Caution",
    "danger": "Danger",
    "error": "Error",
    "attention": "Attention",
    "seealso": "See also",
    "todo": "To do",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "versionremoved": "Removed in version",
    "deprecated": "Deprecated since version",
}
VERSIONS = frozenset(["versionadded", "versionchanged", "versionremoved", "deprecated"])
"""Directives whose first argument is a version: "New in version 3.2: ..."."""


def find_form(name: str) -> Form | None:
    """Return what a directive shows; None for one that shows its arguments and its body."""
    if name in _LABELS:
        return "labelled"
    return _FORMS.get(name)


def find_label(name: str) -> str:
    """Return the label of a directive, such as "Note"."""
    return _LABELS[name]
