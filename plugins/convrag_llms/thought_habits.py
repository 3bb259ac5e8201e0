"""Whether the replies of a model at an address may begin inside a thought.

The prompt's template of some reasoning models ends with the opening tag, so that a reply has only
the closing one. Nothing of such a reply can be shown before that. It is known from the names of
some models, and learnt from the first reply of any other.
"""

import re
import threading

_NAMES = re.compile(r"(?:^|[^a-z0-9])(?:r1|qwq)(?:[^a-z0-9]|$)|thinking", re.IGNORECASE)
"""Names of models whose templates open a thought: DeepSeek-R1, QwQ, Qwen3-...-Thinking-2507."""


class ThoughtHabits:
    """What this process knows of the thoughts of a model.

    Args:
        model: the name of the model.
    """

    def __init__(self, model: str) -> None:
        self.begins_inside = bool(_NAMES.search(model))
        self._is_observed = False

    def observe(self, *, closed_unopened: bool, is_apart: bool) -> None:
        """Learn from a reply that has ended.

        Args:
            closed_unopened: whether it has a closing tag without an opening one.
            is_apart: whether it has no thoughts in its text: they came in a field of their own, or
                there are none.
        """
        if closed_unopened:
            self.begins_inside = True
            self._is_observed = True
        elif is_apart and not self._is_observed:
            self.begins_inside = False


_known: dict[tuple[str, str], ThoughtHabits] = {}
_lock = threading.Lock()


def find_habits(model: str, address: str) -> ThoughtHabits:
    """Return what is known of a model at an address; the same object for all stages."""
    with _lock:
        return _known.setdefault((model, address), ThoughtHabits(model))


def forget_habits() -> None:
    """Forget all models; for tests, whose servers take the same addresses again."""
    with _lock:
        _known.clear()
