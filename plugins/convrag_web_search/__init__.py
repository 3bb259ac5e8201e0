"""Search on the web: SearXNG, Brave and Tavily.

* `retriever`: `retriever=web`.
* `engines`: the requests and replies of each engine.
* `client`: sending a request: timeouts, retries, limits, errors.
* `pages`: the text of a result's page, where it is fetched.
* `robots`: what a site allows to be fetched (robots.txt).
* `addresses`: public addresses: no page is fetched from a private network.
"""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Register the retriever."""
    register(
        "retriever",
        "web",
        "convrag_web_search.retriever:WebRetriever",
        "Search on the web with SearXNG, Brave or Tavily; results are kept, so a run can repeat.",
    )
