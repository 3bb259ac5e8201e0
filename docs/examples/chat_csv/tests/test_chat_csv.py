"""The data set on the two files beside this folder, and on one that is wrong."""

from pathlib import Path

from chat_csv.dataset import ChatDataset

from convrag.testing import DatasetContract

FOLDER = Path(__file__).parents[1]


class TestChatDataset(DatasetContract):
    def make(self) -> ChatDataset:
        return ChatDataset(chats=FOLDER / "chats.csv", articles=FOLDER / "articles.csv")

    def test_messages_become_turns(self) -> None:
        turns = next(self.make().conversations()).turns
        assert [turn.id for turn in turns] == ["1041<::>1", "1041<::>2"]
        assert turns[0].question == "my kettle has white flakes in it is that dangerous?"
        assert self.make().qrels()["1041<::>1"] == {"limescale": 1}

    def test_a_mistake_names_its_line(self, tmp_path: Path) -> None:
        path = tmp_path / "chats.csv"
        path.write_text("chat,who,text,article\n1,customer\n", encoding="utf-8")
        (problem,) = ChatDataset(chats=path, articles=FOLDER / "articles.csv").check()
        assert problem == f"{path}, line 2: this row must have chat, who, text, article"
