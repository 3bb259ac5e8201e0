"""Calls of a thread are ended from another one, and other threads go on."""

import threading
import time

import pytest

from convrag.concurrency.cancellation import (
    Cancellation,
    Cancelled,
    check_cancelled,
    cleanup_at_exit,
    run_exit_cleanups,
    sleep,
    when_cancelled,
)


def test_a_sleep_ends_when_it_is_cancelled() -> None:
    cancellation, ended = Cancellation(), []

    def work() -> None:
        with cancellation.apply():
            try:
                sleep(60)
            except Cancelled:
                ended.append(time.monotonic())

    thread = threading.Thread(target=work)
    thread.start()
    cancellation.cancel()
    thread.join(timeout=60)
    assert ended


def test_nothing_begins_after_a_cancellation() -> None:
    cancellation, called = Cancellation(), []
    cancellation.cancel()
    with cancellation.apply():
        with pytest.raises(Cancelled):
            check_cancelled()
        with when_cancelled(lambda: called.append(1)):
            assert called == [1]
    check_cancelled()


def test_a_callback_is_called_during_its_block_alone() -> None:
    cancellation, called = Cancellation(), []
    with cancellation.apply():
        with when_cancelled(lambda: called.append("first")):
            pass
        with when_cancelled(lambda: called.append("second")):
            cancellation.cancel()
    assert called == ["second"]


def test_threads_without_one_wait_as_ever() -> None:
    start = time.monotonic()
    sleep(0.05)
    assert time.monotonic() - start >= 0.05
    with when_cancelled(lambda: pytest.fail("nobody cancelled")):
        check_cancelled()


def test_blocks_that_have_ended_leave_nothing_to_clean_up() -> None:
    called: list[str] = []
    with cleanup_at_exit(lambda: called.append("ended")):
        pass
    with (
        cleanup_at_exit(lambda: called.append("outer")),
        cleanup_at_exit(lambda: called.append("inner")),
    ):
        run_exit_cleanups()
    assert called == ["inner", "outer"]
