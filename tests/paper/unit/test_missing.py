"""A command that needs a package of the book's says which, where the library alone is installed."""

from argparse import Namespace
from types import SimpleNamespace

import pytest

from livingpaper.commands import cli


def run(monkeypatch, name):
    def command(arguments):
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    parser = SimpleNamespace(parse_args=lambda argv: Namespace(command=command))
    monkeypatch.setattr(cli, "_parser", lambda: parser)
    return cli.main([])


def test_what_to_install_is_said(monkeypatch, capsys):
    assert run(monkeypatch, "nobody_has_this.part") == 1
    said = capsys.readouterr().err
    assert said.startswith("circuitcore: this needs nobody_has_this, which is not installed;")
    assert "pip install 'circuitcore[book]'" in said


@pytest.mark.parametrize("name", ["livingpaper.no_such_module", None])
def test_a_part_of_ours_that_lacks_is_no_matter_of_installation(name, monkeypatch):
    with pytest.raises(ModuleNotFoundError):
        run(monkeypatch, name)
