"""An example plugin: `rewriter=acme_topic`, `rewriter=acme_brief`, `clusterer=acme_length`."""

from convrag import Register, hookimpl


@hookimpl
def convrag_register(register: Register) -> None:
    """Offer the two classes as options."""
    register(
        "rewriter",
        "acme_topic",
        "acme.rewriter:TopicRewriter",
        "Add the first words of earlier answers that fall into one cluster with the question.",
    )
    register(
        "clusterer",
        "acme_length",
        "acme.clusterer:LengthClusterer",
        "Group texts by how many words they have.",
    )


@hookimpl
def convrag_config_packages() -> list[str]:
    """Name the package with our YAML: acme/conf/rewriter/acme_brief.yaml."""
    return ["acme.conf"]
