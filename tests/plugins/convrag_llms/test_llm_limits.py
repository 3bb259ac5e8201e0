"""What is spent and how much at a time: usage, the cost limit, requests at once and in a minute."""

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml
from hypothesis import given, strategies as st

import toys
from convrag import Answer, ConfigError, LLMError, Message, Prompt, Store
from convrag.api.errors import RunStopped
from convrag.concurrency.cancellation import Cancellation, Cancelled
from convrag.config.settings import Settings
from convrag.run.workers import ConversationWorkers
from convrag.store.remember import remember
from convrag.store.usage_meter import UsageMeter
from convrag_llms import limits
from convrag_llms.http_llm import HttpLLM
from convrag_llms.limits import Budget, RateLimiter
from convrag_llms.litellm_llm import LiteLLM
from llm_client import COST_WITHOUT_PRICE, every_option, make_client
from llm_server import Server, make_error, make_reply
from places import ROOT

CONF = ROOT / "conf" / "llm"
PROMPT = Prompt("answer", (Message("user", "Who was Laika?"),))
PRICES = {"input_cost_per_token": 3e-5, "output_cost_per_token": 6e-5}
COST = 7 * 3e-5 + 3 * 6e-5  # of the server's usual reply, at the price of gpt-4
pytestmark = pytest.mark.integration


def client(server: Server, **parameters: Any) -> HttpLLM:
    """A client of a model that costs what gpt-4 does: litellm knows that price, the other option is
    given it.
    """
    priced = {"extra": PRICES} if server.option == "openai_compatible" else {}
    return make_client(server, **{"model": "openai/gpt-4", **priced, **parameters})


@every_option
class TestUsage:
    def test_a_known_model_has_a_price(self, server: Server) -> None:
        assert client(server).complete(PROMPT).cost_usd == pytest.approx(COST)

    def test_a_model_of_ones_own_has_none_unless_it_is_given(self, server: Server) -> None:
        completion = client(server, model="openai/local", extra={}).complete(PROMPT)
        assert completion.cost_usd == COST_WITHOUT_PRICE[server.option]
        priced = {"input_cost_per_token": 1e-3, "output_cost_per_token": 2e-3}
        completion = client(server, model="openai/priced-here", extra=priced).complete(PROMPT)
        assert completion.cost_usd == pytest.approx(7e-3 + 6e-3)
        assert "input_cost_per_token" not in server.requests[-1]

    @pytest.mark.parametrize(
        ("extra", "message"),
        [
            ({"output_cost_per_token": 6e-5}, "output_cost_per_token without input_cost_per_token"),
            ({"input_cost_per_token": 3e-5}, "input_cost_per_token without output_cost_per_token"),
            ({"cache_read_input_token_cost": 1e-6}, "without input_cost_per_token"),
            ({**PRICES, "output_cost_per_token": -6e-5}, "=-6e-05 is not a price"),
            ({**PRICES, "input_cost_per_token": "cheap"}, "='cheap' is not a price"),
            ({**PRICES, "input_cost_per_token": float("nan")}, "=nan is not a price"),
            ({**PRICES, "input_cost_per_token": True}, "=True is not a price"),
        ],
    )
    def test_half_of_the_prices_is_an_error(
        self, server: Server, extra: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(ConfigError, match=re.escape(message)):
            client(server, extra=extra)

    def test_prices_of_zero_are_prices(self, server: Server) -> None:
        free = {"input_cost_per_token": 0, "output_cost_per_token": 0}
        stage = client(server, model="openai/free", extra=free, max_cost_usd=0)
        assert list(stage.check()) == []
        assert stage.complete(PROMPT).cost_usd == 0

    def test_cached_tokens_have_a_price_of_their_own(self, server: Server) -> None:
        server.plan_replies(make_reply(prompt_tokens_details={"cached_tokens": 4}))
        prices = {**PRICES, "cache_read_input_token_cost": 3e-6}
        completion = client(server, model="openai/cached", extra=prices).complete(PROMPT)
        assert completion.cost_usd == pytest.approx(3 * 3e-5 + 4 * 3e-6 + 3 * 6e-5)
        assert "cache_read_input_token_cost" not in server.requests[-1]

    def test_empty_replies_cost_as_well(self, server: Server) -> None:
        server.plan_replies(make_reply(""), make_reply(None), make_reply())
        completion = client(server).complete(PROMPT)
        assert completion.cost_usd == pytest.approx(3 * COST)
        assert completion.retries == 2

    def test_a_call_that_fails_is_counted_for_its_turn(
        self, server: Server, tmp_path: Path
    ) -> None:
        server.plan_replies(make_reply(""))
        llm = client(server, retries=2)
        llm.fingerprint = "llm"
        remember(llm, Store(tmp_path))
        meter = UsageMeter()
        with meter.measure_stage("generator"), pytest.raises(LLMError):
            llm.complete(PROMPT)
        usage = meter.usage["generator"]
        assert (usage.calls, usage.failed, usage.retries) == (1, 1, 2)
        assert usage.spent_usd == pytest.approx(3 * COST)
        assert usage.seconds > 0


class Asking(toys.QuotingGenerator):
    """One call a turn."""

    def __init__(self, llm: Any) -> None:
        self.llm = llm

    def generate(self, question: Any, evidence: Any) -> Answer:
        return Answer(
            self.llm.complete(Prompt("answer", (Message("user", question.turn_id),))).text
        )


class TestCostLimit:
    def most(self, server: Server) -> float:
        """What the stage thinks that one of the calls below can cost: few tokens are asked for."""
        stage = client(server, max_cost_usd=9, max_tokens=3)
        return stage.find_prices().compute_max_cost([Message("user", "c00<::>1")], 3)

    @every_option
    @pytest.mark.parametrize("workers", [1, 16])
    def test_a_run_stops_before_the_limit_is_passed(self, server: Server, workers: int) -> None:
        limit = 20 * COST + self.most(server)
        stage = client(server, max_cost_usd=limit, max_tokens=3)
        talks = [toys.talk(f"c{n:02}", *["what?"] * 5) for n in range(16)]
        conversing = ConversationWorkers(
            toys.pipeline(generator=Asking(stage)), talks, Settings(workers=workers)
        )
        records = list(conversing.records())
        assert f"llm.max_cost_usd={limit:g} is nearly spent" in conversing.stopped
        assert len(server.requests) * COST <= limit
        assert len(server.requests) in (20, 21)
        assert len(records) == len(server.requests)
        assert not [record.error for record in records if record.error]

    @every_option
    def test_what_is_reused_is_not_spent(self, server: Server, tmp_path: Any) -> None:
        first = client(server)
        remember(first, Store(tmp_path))
        first.complete(PROMPT)
        poor = client(server, max_cost_usd=0)
        remember(poor, Store(tmp_path))
        assert poor.complete(PROMPT).cost_usd == pytest.approx(COST)
        with pytest.raises(RunStopped):
            poor.complete(Prompt("answer", (Message("user", "Something new?"),)))
        assert len(server.requests) == 1

    def test_a_free_model_never_stops(self, server: Server) -> None:
        base = server.address.removesuffix("/v1")
        variant = yaml.safe_load((CONF / "ollama.yaml").read_text(encoding="utf-8"))
        del variant["defaults"]
        stage = LiteLLM(**{**variant, "api_base": base, "max_cost_usd": 0})
        assert list(stage.check()) == []
        assert stage.complete(PROMPT).cost_usd == 0

    @every_option
    def test_tries_that_fail_set_nothing_aside_for_good(self, server: Server) -> None:
        server.plan_replies(make_error(500))
        stage = client(server, max_cost_usd=1, retries=0)
        for _ in range(30):
            with pytest.raises(LLMError):
                stage.complete(PROMPT)
        server.plan_replies(make_reply())
        assert stage.complete(PROMPT).text == "A dog."

    @every_option
    def test_a_try_that_times_out_may_have_cost_all(self, server: Server) -> None:
        client(server, max_cost_usd=1).complete(PROMPT)  # the library is loaded
        stage = client(server, max_cost_usd=1, retries=0, timeout=1)
        server.delay = 60
        with pytest.raises(LLMError):
            stage.complete(PROMPT)
        assert stage.limits.budget.spent > 512 * 6e-5


class TestBudget:
    @given(st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1)), max_size=60), st.floats(0, 5))
    def test_it_is_never_overspent(self, calls: list[tuple[float, float]], limit: float) -> None:
        budget = Budget(limit, "m")

        def pay(call: tuple[float, float]) -> None:
            most, share = call
            try:
                with budget.reserve(most) as settle:
                    settle(most * share)
            except RunStopped:
                pass

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(pay, calls))
        assert budget.spent <= limit + 1e-9

    def test_it_waits_for_requests_in_flight(self) -> None:
        budget = Budget(1.0, "m")
        inside, go = threading.Event(), threading.Event()

        def first() -> None:
            with budget.reserve(0.9) as settle:
                inside.set()
                go.wait(60)
                settle(0.1)

        def second() -> None:
            with budget.reserve(0.9) as settle:
                settle(0.2)

        with ThreadPoolExecutor(2) as pool:
            pool.submit(first)
            inside.wait(60)
            waiting = pool.submit(second)
            time.sleep(0.1)
            assert not waiting.done()
            go.set()
            waiting.result(60)
        assert budget.spent == pytest.approx(0.3)


class TestCancellation:
    """A call that waits for its turn ends when it is cancelled, and the others get theirs."""

    def test_one_that_waits_for_money(self) -> None:
        budget = Budget(1.0, "m")
        with budget.reserve(0.9):
            self.cancel_while(lambda: budget.reserve(0.9))
        assert budget.spent == 0

    def test_one_that_waits_for_a_slot(self) -> None:
        limiter = RateLimiter(1, None)
        with limiter.slot():
            self.cancel_while(limiter.slot)
        with limiter.slot():
            pass

    def cancel_while(self, wait: Any) -> None:
        cancellation, ended = Cancellation(), threading.Event()

        def work() -> None:
            with cancellation.apply(), suppress(Cancelled), wait():
                return
            ended.set()

        thread = threading.Thread(target=work)
        thread.start()
        assert not ended.wait(0.1)
        cancellation.cancel()
        assert ended.wait(60)
        thread.join()


def stop_clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Let all requests of a limiter come at one moment; how long each of them is made to wait."""
    waited: list[float] = []
    monkeypatch.setattr(limits, "time", SimpleNamespace(monotonic=lambda: 100.0))
    monkeypatch.setattr(limits, "sleep", waited.append)
    return waited


class TestRateLimiter:
    def test_so_many_at_once(self) -> None:
        limiter = RateLimiter(3, None)
        now, most, lock = 0, 0, threading.Lock()

        def work(_: int) -> None:
            nonlocal now, most
            with limiter.slot():
                with lock:
                    now += 1
                    most = max(most, now)
                time.sleep(0.01)
                with lock:
                    now -= 1

        with ThreadPoolExecutor(12) as pool:
            list(pool.map(work, range(36)))
        assert most == 3

    @pytest.mark.parametrize("per_minute", [1, 5])
    def test_so_many_a_minute(self, per_minute: int, monkeypatch: pytest.MonkeyPatch) -> None:
        waited = stop_clock(monkeypatch)
        limiter = RateLimiter(None, per_minute)
        for _ in range(3 * per_minute):
            with limiter.slot():
                pass
        assert waited == [60.0 * (number // per_minute) for number in range(3 * per_minute)]

    @every_option
    def test_the_server_sees_no_more(self, server: Server) -> None:
        server.delay = 0.05
        stage = client(server, concurrency=2)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(lambda _: stage.complete(PROMPT), range(12)))
        assert server.max_concurrent == 2

    @every_option
    def test_a_retry_is_a_request_too(
        self, server: Server, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        waited = stop_clock(monkeypatch)
        server.plan_replies(make_error(500), make_reply())
        client(server, requests_per_minute=1).complete(PROMPT)
        assert waited == [0.0, 60.0]
