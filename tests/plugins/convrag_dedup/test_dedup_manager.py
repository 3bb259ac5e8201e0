"""RAGBoost's manager, state and tracker: what its own tests expect of them, and what they leave
open.
"""

import re
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, strategies as st

from convrag_dedup import ConversationState, MultiTurnManager

CORPUS = {str(number): {"text": f"What document {number} says."} for number in range(1000)}


class TestState:
    def test_messages_and_history(self) -> None:
        state = ConversationState("c")
        state.add_message("user", "Hello!")
        state.add_message("assistant", "Hi.")
        assert [message["role"] for message in state.messages] == ["user", "assistant"]
        state.update_history([1, 2, 3])
        assert state.retrieved_history == {1, 2, 3}
        state.update_history([4, 5])
        assert state.retrieved_history == {1, 2, 3, 4, 5}
        assert state.turn_count == 2

    def test_totals(self) -> None:
        state = ConversationState("c")
        state.update_stats(num_retrieved=10, num_novel=8, num_deduplicated=2)
        state.update_stats(num_retrieved=10, num_novel=2, num_deduplicated=8)
        assert state.get_stats() == {
            "conversation_id": "c",
            "turn_count": 0,
            "total_retrieved": 20,
            "total_novel": 10,
            "total_deduplicated": 10,
            "deduplication_rate": 0.5,
        }


class TestManager:
    def test_conversations_come_and_go(self) -> None:
        manager = MultiTurnManager()
        assert len(manager.conversations) == 0
        first = manager.get_conversation("a")
        assert first.conversation_id == "a"
        assert manager.get_conversation("a") is first
        manager.get_conversation("b")
        manager.reset_conversation("a")
        manager.reset_conversation("never heard of")
        assert "a" not in manager.conversations
        assert "b" in manager.conversations

    def test_a_second_turn_points_at_the_first(self) -> None:
        manager = MultiTurnManager()
        context, novel, stats = manager.deduplicate_context(
            conversation_id="c", retrieved_doc_ids=[1, 2, 3], corpus_map=CORPUS
        )
        assert (novel, stats["num_deduplicated"]) == ([1, 2, 3], 0)
        assert context.startswith("[Doc_1]: What document 1 says.\n\n[Doc_2]: ")
        context, novel, stats = manager.deduplicate_context("c", [2, 3, 4], CORPUS)
        assert novel == [4]
        assert stats == {
            "num_retrieved": 3,
            "num_novel": 1,
            "num_deduplicated": 2,
            "deduplication_rate": 2 / 3,
            "missing": [],
        }
        assert context == (
            "Please refer to [Doc_2] in the previous conversation.\n\n"
            "Please refer to [Doc_3] in the previous conversation.\n\n"
            "[Doc_4]: What document 4 says.\n\n"
        )
        assert manager.get_conversation("c").retrieved_history == {1, 2, 3, 4}

    def test_it_can_be_turned_off_and_keeps_count(self) -> None:
        manager = MultiTurnManager()
        manager.deduplicate_context("c", [1, 2, 3], CORPUS)
        context, novel, stats = manager.deduplicate_context(
            "c", [2, 3, 4], CORPUS, enable_deduplication=False
        )
        assert (novel, stats["num_deduplicated"]) == ([2, 3, 4], 0)
        assert "refer to" not in context
        assert manager.deduplicate_context("c", [4], CORPUS)[2]["num_deduplicated"] == 1
        assert manager.get_conversation("c").turn_count == 3

    def test_statistics(self) -> None:
        manager = MultiTurnManager()
        for ids in ([0, 1, 2, 3, 4], [2, 3, 4, 5, 6], [3, 4, 5, 6, 7]):
            manager.deduplicate_context("a", ids, CORPUS)
        manager.deduplicate_context("b", [], CORPUS)
        stats = manager.get_conversation_stats("a")
        assert stats is not None
        assert (stats["total_retrieved"], stats["total_deduplicated"], stats["turn_count"]) == (
            15,
            7,
            3,
        )
        assert manager.get_conversation_stats("nobody") is None
        assert manager.get_all_stats() == {
            "total_conversations": 2,
            "total_turns": 4,
            "total_retrieved": 15,
            "total_novel": 8,
            "total_deduplicated": 7,
            "average_deduplication_rate": 7 / 15,
            "average_turns_per_conversation": 2.0,
        }
        assert MultiTurnManager().get_all_stats()["average_deduplication_rate"] == 0.0

    def test_ids_of_any_type_and_repeated_ones(self) -> None:
        manager = MultiTurnManager()
        assert manager.deduplicate_context("c", [1, "1", " 1 ", 2], CORPUS)[1] == [1, 2]
        assert manager.deduplicate_context("c", ["2", 3], {3: {"content": "three"}, **CORPUS})[
            1
        ] == [3]
        assert (
            manager.deduplicate_context("c", ["x"], {"x": "a text alone"})[0]
            == "[Doc_x]: a text alone\n\n"
        )

    def test_what_is_missing_is_never_hinted_at(self) -> None:
        manager = MultiTurnManager()
        for _ in range(2):
            context, novel, stats = manager.deduplicate_context(
                "c", [7, 8], {"8": {"text": " ", "title": "x"}}
            )
            assert (context, novel, stats["missing"], stats["num_retrieved"]) == ("", [], [7, 8], 2)
        assert manager.deduplicate_context("c", [7], CORPUS)[1] == [7]

    def test_a_changed_text_is_new(self) -> None:
        old, new = {"1": {"text": "old"}}, {"1": {"text": "new"}}
        manager = MultiTurnManager()
        assert [
            manager.deduplicate_context("c", [1], each)[1] for each in (old, new, new, old)
        ] == [[1], [1], [], [1]]
        by_id = MultiTurnManager(content_hash=False)
        assert [by_id.deduplicate_context("c", [1], each)[1] for each in (old, new)] == [[1], []]

    def test_what_a_caller_noted_himself_counts(self) -> None:
        manager = MultiTurnManager()
        manager.get_conversation("c").update_history([1])
        assert manager.deduplicate_context("c", [1, 2], CORPUS)[1] == [2]

    def test_a_turn_that_fails_leaves_no_trace(self) -> None:
        class Broken(dict[str, Any]):
            def get(self, key: Any, default: Any = None) -> Any:
                if key == "3":
                    raise OSError("the disk is gone")
                return super().get(key, default)

        manager = MultiTurnManager()
        manager.deduplicate_context("c", [1], CORPUS)
        before = manager.get_conversation_stats("c")
        with pytest.raises(OSError, match="gone"):
            manager.deduplicate_context("c", [1, 2, 3], Broken(CORPUS))
        assert manager.get_conversation_stats("c") == before
        assert manager.get_conversation("c").retrieved_history == {1}
        assert manager.deduplicate_context("c", [2], CORPUS)[1] == [2]

    def test_it_is_bounded(self) -> None:
        manager = MultiTurnManager(max_conversations=2)
        for name in ("a", "b", "a", "c"):
            manager.deduplicate_context(name, [1], CORPUS)
        assert list(manager.conversations) == ["a", "c"]
        with manager.get_conversation("a").lock:  # in its turn
            manager.deduplicate_context("d", [1], CORPUS)
            manager.deduplicate_context("e", [1], CORPUS)
        assert list(manager.conversations) == ["a", "e"]
        with pytest.raises(ValueError, match="max_conversations=0"):
            MultiTurnManager(max_conversations=0)

    def test_it_forgets_what_is_old(self) -> None:
        manager = MultiTurnManager(ttl=0.05)
        manager.deduplicate_context("a", [1], CORPUS)
        time.sleep(0.06)
        manager.deduplicate_context("b", [1], CORPUS)
        assert list(manager.conversations) == ["b"]
        assert manager.deduplicate_context("a", [1], CORPUS)[1] == [1]

    def test_no_update_is_lost(self) -> None:
        """1,000 conversations of 20 turns from 16 threads, each conversation worked on by several."""
        manager = MultiTurnManager()
        jobs = [(f"c{number}", turn) for turn in range(20) for number in range(1000)]
        with ThreadPoolExecutor(16) as pool:
            list(
                pool.map(
                    lambda job: manager.deduplicate_context(
                        job[0], range(job[1], job[1] + 5), CORPUS
                    ),
                    jobs,
                )
            )
        stats = manager.get_all_stats()
        assert (stats["total_conversations"], stats["total_turns"]) == (1000, 20_000)
        assert (stats["total_retrieved"], stats["total_novel"]) == (100_000, 24_000)
        assert stats["total_deduplicated"] == 76_000
        assert all(len(state.retrieved_history) == 24 for state in manager.conversations.values())


@given(
    st.lists(
        st.lists(st.integers(0, 6) | st.sampled_from(["1", "2", " 3"]), max_size=6), max_size=8
    )
)
def test_each_hint_follows_its_text(turns: list[list[Any]]) -> None:
    """The contexts that a caller keeps hold each hinted document's text exactly once."""
    manager = MultiTurnManager()
    kept = ""
    for ids in turns:
        context, _, stats = manager.deduplicate_context(
            "c", ids, {str(n): CORPUS[str(n)] for n in range(6)}
        )
        for hinted in re.findall(r"refer to \[Doc_(\d)\]", context):
            assert kept.count(f"[Doc_{hinted}]: What document {hinted} says.") == 1
        kept += context
        assert stats["num_retrieved"] == len({str(each).strip() for each in ids})
