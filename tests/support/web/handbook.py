"""A folder of documents for tests in the browser and of the server: a handbook with headings, pages
and odd texts.
"""

from pathlib import Path

QUESTION = "How many weeks of parental leave are there?"
"""A question that a section of policies/leave.md answers."""

LEAVE = """# Leave

What everybody at Åström & Søn may take, 🙂 and 👩‍👩‍👧 as well.

## Parental leave

Parental leave is ten weeks, with full pay for all of the ten weeks. <b>Both</b> parents may take it.

[Ask](javascript:alert(1)) the office for the form, and send it two months before.

## Sick leave

Stay at home as long as you are sick. A note of a doctor is needed after three days, and not before.
"""


def write_handbook(folder: Path) -> Path:
    """Write the documents, and return their folder."""
    handbook = folder / "handbook"
    (handbook / "policies").mkdir(parents=True)
    filler = "\n".join(
        f"## Rule {n}\n\nRule number {n} is about coffee, chairs and lamps in room {n}.\n"
        for n in range(60)
    )
    (handbook / "policies" / "leave.md").write_text(LEAVE, encoding="utf-8")
    (handbook / "rules 規則.md").write_text(f"# Rules\n\n{filler}", encoding="utf-8")
    (handbook / "notes.txt").write_text(
        "The printer is on the second floor, beside the kitchen.\n", encoding="utf-8"
    )
    return handbook
