"""`tracker=otlp`: turns as OpenTelemetry's spans, by its conventions for generative AI."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the tracker."""
    register(
        "tracker",
        "otlp",
        "convrag_otlp.tracker:OtlpTracker",
        "Send each turn of runs, chats and servers to a collector of OpenTelemetry, by "
        "OTLP over HTTP.",
    )
