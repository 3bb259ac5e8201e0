"""`detector=auto`: the LLM detects nuggets where it is a language model, and words in common do elsewhere."""

from convrag import LLM, Detector, Nugget, Passage, use


class AutoDetector(Detector):
    """Detect nuggets with detector=llm if the run's llm is a language model, else with detector=sentences.

    So `llm=gpt4` alone has GPT-4 detect them, and a run without a model needs none. A stage that works by rules says
    so itself (`LLM.tasks`). `detector=llm` or `detector=sentences` decide it instead, whatever the llm is. The run's
    summary says which of the two was used.

    Args:
        llm: decides which detector is used, and detects the nuggets if it is a language model.
        tagging: the detector for a language model, with its parameters: `detector.tagging.fuzzy=1`.
        matching: the detector without one: `detector.matching.best=.75`.
    """

    def __init__(self, *, llm: LLM, tagging: Detector = use("llm"), matching: Detector = use("sentences")) -> None:
        self.uses_model = llm.tasks is None
        self.detector = tagging if self.uses_model else matching

    def detect(self, query: str, passage: Passage) -> list[Nugget]:
        """What the chosen detector finds. Raises LLMError where it does."""
        return self.detector.detect(query, passage)

    def note(self) -> str:
        """Which detector was chosen."""
        if self.uses_model:
            return "the llm is a language model, and detects the nuggets (detector=llm)"
        return "the llm is no language model: nuggets are sentences that match the question (detector=sentences)"
