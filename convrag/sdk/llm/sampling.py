"""The sampling parameters of language models, with their limits, for the constructors of stages.

A stage's parameter is `temperature: Temperature | None = 0.0`; None leaves the value to the llm.
"""

from typing import Annotated

from annotated_types import Ge, Gt, Interval

Temperature = Annotated[float, Ge(0)]
"""The temperature of a reply; 0 gives the likeliest."""

MaxTokens = Annotated[int, Ge(1)]
"""The longest reply, in tokens."""

TopP = Annotated[float, Interval(gt=0, le=1)]
"""The share of the likeliest tokens to draw from."""

TopK = Annotated[int, Ge(0)]
"""The number of the likeliest tokens to draw from; 0 means all where a server knows it."""

RepeatPenalty = Annotated[float, Gt(0)]
"""Above 1 it holds repetition back."""
