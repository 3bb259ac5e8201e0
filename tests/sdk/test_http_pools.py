"""Pools of connections: the proxies of the environment."""

import pytest
import urllib3

from convrag.sdk.http_pools import HostPools


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


def test_the_user_of_a_proxy_is_sent_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://me:secret@127.0.0.1:3128")
    pool = HostPools().find("http://search.example/search")
    assert isinstance(pool, urllib3.ProxyManager)
    assert pool.proxy.netloc == "127.0.0.1:3128"
    assert pool.proxy_headers == urllib3.make_headers(proxy_basic_auth="me:secret")


def test_a_host_without_a_proxy_is_asked_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "127.0.0.1:3128")
    monkeypatch.setenv("no_proxy", "search.example")
    pools = HostPools()
    assert not isinstance(pools.find("http://search.example/"), urllib3.ProxyManager)
    assert isinstance(pools.find("http://other.example/"), urllib3.ProxyManager)
    assert pools.find("http://search.example/a") is pools.find("http://search.example/b")
