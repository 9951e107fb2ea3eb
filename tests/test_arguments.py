"""Which command the arguments of `acpbridge` mean."""

from __future__ import annotations

import pytest

from acpbridge import __version__, chat
from acpbridge.__main__ import main


@pytest.mark.parametrize("flag", ["-v", "--version"])
def test_the_version(flag: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is said on stdout, and that is all."""
    with pytest.raises(SystemExit) as ended:
        main([flag])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f"acpbridge {__version__}\n"


@pytest.mark.parametrize("given", [["--log-file", "x.log", "chat", "hi"], ["chat", "--log-file", "x.log", "hi"]])
def test_a_log_file_goes_with_the_chat(given: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """On either side of the command it is the chat's: before it, the agent was started in the chat's place."""
    taken: list[list[str]] = []

    def talk(argv: list[str]) -> int:
        taken.append(argv)
        return 7

    monkeypatch.setattr(chat, "main", talk)
    assert main(given) == 7
    assert taken == [["--log-file", "x.log", "hi"]]
