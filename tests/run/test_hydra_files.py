"""What Hydra wrote into a run's folder is read with its references as they are."""

from pathlib import Path

from convrag.run.manifest import read_choices, read_hydra_config, read_overrides


def test_references_stay_references(tmp_path: Path) -> None:
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra/overrides.yaml").write_text("- a.b=${oc.env:NO_SUCH}\n- +a.c=${a.b}\n- 5\n")
    (tmp_path / ".hydra/config.yaml").write_text("history: ${oc.env:NO_SUCH}\n")
    (tmp_path / ".hydra/hydra.yaml").write_text(
        "hydra: {runtime: {choices: {rewriter: none}}, x: '${nosuch}'}\n"
    )
    assert read_overrides(tmp_path) == ["a.b=${oc.env:NO_SUCH}", "+a.c=${a.b}", "5"]
    assert read_hydra_config(tmp_path) == {"history": "${oc.env:NO_SUCH}"}
    assert read_choices(tmp_path) == {"rewriter": "none"}


def test_a_folder_without_them_is_empty(tmp_path: Path) -> None:
    (tmp_path / ".hydra").mkdir()
    (tmp_path / ".hydra/config.yaml").write_text("")
    assert (read_overrides(tmp_path), read_hydra_config(tmp_path), read_choices(tmp_path)) == (
        [],
        {},
        {},
    )
