"""Questions of each client to convrag, and what its program prints."""

import json
import sys
from collections.abc import Callable

FIRST = "How many days of annual leave does an employee have?"
SECOND = "Up to which price are hotels paid?"
FOLLOW_UP = "And when is a doctor's certificate needed?"

DOCUMENTS = {
    "leave.md": """# Leave

## Annual leave

Every employee has 30 days of annual leave in a calendar year. Leave that is not taken by the end of March of the next
year is lost. Ask for it in the calendar of the team, and tell who stands in for you.

## Sick leave

Tell your manager on the first day of an illness before ten o'clock. A doctor's certificate is needed from the third day
on. Days of illness within annual leave are given back where there is a certificate.

## Parental leave

Parents may take up to 36 months of parental leave for each child. Ask for it in writing seven weeks before it begins.
""",
    "travel.md": """# Travel

## Booking

Trips are booked through the travel desk. Trains are preferred to flights where the ride takes less than six hours.

## Costs

Hotels are paid up to 120 euros a night; a higher price needs the approval of your manager. Meals are paid by a daily
allowance of 28 euros for a full day, and of 14 euros for the days of arrival and departure.

## Insurance

Each business trip abroad is covered by the travel insurance. Its card is in the intranet.
""",
}


def run(ask: Callable[[str, list[tuple[str, str]]], tuple[str, int | None]]) -> None:
    """Ask two questions and a follow-up, and print how many sources the client shows.

    Args:
        ask: asks a question with its history, and returns the answer, and the number of sources
            that the client hands on; None where it hands on none.
    """
    _, _ = ask(FIRST, [])
    answer, _ = ask(SECOND, [])
    last, sources = ask(FOLLOW_UP, [(SECOND, answer)])
    for text in (answer, last):
        if not text.strip():
            raise SystemExit("an answer is empty")
    sys.stdout.write(f"\n{json.dumps({'answer': last, 'sources': sources})}\n")


def make_messages(question: str, history: list[tuple[str, str]]) -> list[dict[str, str]]:
    """The messages of OpenAI's protocol."""
    pairs = [
        (role, text)
        for exchange in history
        for role, text in zip(("user", "assistant"), exchange, strict=True)
    ]
    return [{"role": role, "content": text} for role, text in [*pairs, ("user", question)]]
