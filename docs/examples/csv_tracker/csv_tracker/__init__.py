"""`tracker=csv`: one CSV file with the scores of all runs."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the tracker."""
    register(
        "tracker",
        "csv",
        "csv_tracker.tracker:CsvTracker",
        "Add a row for each measure of each run to a CSV file.",
    )
