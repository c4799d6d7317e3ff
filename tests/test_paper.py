"""The newcomer's command: what it accepts, what it runs, and what it says without a browser."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import paper


@pytest.fixture
def calls(monkeypatch, tmp_path):
    """Record what would be run, in an environment that is already set up; every command succeeds."""
    made = []
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    monkeypatch.setattr(paper, "set_up", lambda: made.append(("set up",)))
    monkeypatch.setattr(paper, "run", lambda *words: made.append(words) or 0)
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.delenv("CHROMIUM", raising=False)
    return made


@pytest.mark.parametrize("words", [[], ["bok"], ["book", "now"], ["test", "-x"], ["reproduce", "a", "b"], [""]])
def test_unknown_words_set_nothing_up(words, calls, capsys):
    assert paper.main(words) == 2
    assert calls == []
    assert "usage: python3 paper.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "command"),
    [
        (["book"], ("-m", "livingpaper.book.build")),
        (["reproduce"], ("-m", "livingpaper.commands.reproduce")),
        (["reproduce", "symbolic_kv"], ("-m", "livingpaper.commands.reproduce", "symbolic_kv")),
        (["bench"], ("-m", "benchmarks")),
        (["bench", "--only", "W1"], ("-m", "benchmarks", "--only", "W1")),
    ],
)
def test_a_word_runs_its_module_after_setting_up(words, command, calls):
    assert paper.main(words) == 0
    assert calls == [("set up",), command]


def test_what_is_run_keeps_its_bytecode_where_python_is_told_to_write_none(monkeypatch, tmp_path):
    (tmp_path / "ours.py").write_text("")
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    monkeypatch.setattr(paper, "PYTHON", sys.executable)
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.delenv("PYTHONPYCACHEPREFIX", raising=False)
    assert paper.run("-c", "import ours") == 0
    assert list(tmp_path.glob("__pycache__/ours.*.pyc"))


def test_testing_lints_and_tests_even_when_the_lint_fails(calls, monkeypatch):
    monkeypatch.setattr(paper, "find_browser", lambda: "/bin/browser")
    monkeypatch.setattr(paper, "run", lambda *words: calls.append(words) or int("ruff" in words))
    assert paper.main(["test"]) == 1
    assert calls == [("set up",), ("-m", "ruff", "check", "."), ("-m", "pytest", *paper.SIDE_BY_SIDE)]


def test_the_tests_of_one_floor_run_alone(calls, monkeypatch, capsys):
    monkeypatch.setattr(paper, "find_browser", lambda: None)
    assert paper.main(["test", "library"]) == 0 and "No browser" not in capsys.readouterr().out
    assert calls[-1] == ("-m", "pytest", *paper.SIDE_BY_SIDE, "tests/library")
    assert paper.main(["test", "libary"]) == 2 and "FLOOR" in capsys.readouterr().err
    assert {path.name for path in Path(__file__).parent.iterdir() if path.is_dir()} >= set(paper.FLOORS)


def test_the_quick_tests_are_of_every_floor_and_leave_slow_ones_out():
    words = paper.quick_tests()
    assert words[:2] == ["-m", "not slow"]
    assert {"tests/library/unit", "tests/paper/unit", "tests/studies/unit", "tests/library/oracles"} < set(words[2:])
    assert "tests/test_paper.py" in words and not any("integration" in word or "book" in word for word in words)


def test_quick_tests_are_a_word_of_their_own(calls, monkeypatch):
    monkeypatch.setattr(paper, "find_browser", lambda: "/bin/browser")
    assert paper.main(["test", "--quick"]) == 0
    assert calls[-1] == ("-m", "pytest", *paper.SIDE_BY_SIDE, "-m", "not slow")
    assert paper.main(["test", "--quick", "library"]) == 2


def test_testing_says_how_long_it_took_here_the_last_time_it_passed(calls, monkeypatch, capsys):
    monkeypatch.setattr(paper, "find_browser", lambda: "/bin/browser")
    clock = iter([0.0, 300.0, 0.0, 50.0, 0.0, 1.0])
    monkeypatch.setattr(paper.time, "perf_counter", lambda: next(clock))
    paper.main(["test"])
    assert "not timed here before" in capsys.readouterr().out
    monkeypatch.setattr(paper, "run", lambda *words: int("pytest" in words))
    for _ in range(2):
        assert paper.main(["test"]) == 1
        assert "expected about 5 min" in capsys.readouterr().out, "a test that fails may have ended early"


@pytest.mark.parametrize(("ci", "code"), [("", 0), ("true", 1)])
def test_a_missing_browser_is_said_last_and_fails_in_ci(ci, code, calls, monkeypatch, capsys):
    monkeypatch.setattr(paper, "find_browser", lambda: None)
    monkeypatch.setenv("CI", ci)
    assert paper.main(["test"]) == code
    assert "No browser was found" in capsys.readouterr().out.splitlines()[-2]


def test_the_named_browser_is_used_and_no_other(tmp_path, monkeypatch):
    browser = tmp_path / "my-browser"
    browser.write_text("")
    browser.chmod(0o755)
    monkeypatch.setenv("CHROMIUM", str(browser))
    assert paper.find_browser() == str(browser)
    monkeypatch.setenv("CHROMIUM", str(tmp_path / "absent"))
    assert paper.find_browser() is None


@pytest.fixture
def environment(monkeypatch, tmp_path):
    """A project folder whose environment looks finished but for its marker; records what pip is asked."""
    (tmp_path / "requirements.txt").write_text("torch==2.13.0\ntqdm==4.70.1\n")
    (tmp_path / "pyproject.toml").write_text("")
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("")
    installed = []
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    monkeypatch.setattr(paper, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(paper, "PYTHON", python)
    monkeypatch.setattr(paper, "run", lambda *words: 0)
    monkeypatch.setattr(paper, "pip_install", lambda *words: installed.append(words) or 0)
    return installed


def test_setting_up_installs_cpu_torch_first_and_a_second_time_nothing(environment):
    paper.set_up()
    assert [words[-1] for words in environment] == ["torch==2.13.0", "requirements.txt", "."]
    assert paper.CPU_TORCH in environment[0]
    paper.set_up()
    assert len(environment) == 3


@pytest.fixture
def real(monkeypatch, tmp_path):
    """The same project, whose environment is what lies in .venv; counts the environments that are made anew."""
    made = []
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("torch==2.13.0\n" if name == "requirements.txt" else "")
    monkeypatch.setattr(paper, "ROOT", tmp_path)
    monkeypatch.setattr(paper, "VENV", tmp_path / ".venv")
    monkeypatch.setattr(paper, "PYTHON", tmp_path / ".venv/bin/python")
    monkeypatch.setattr(paper, "pip_install", lambda *words: 0)
    monkeypatch.setattr(paper.venv, "create", lambda folder, **options: made.append(folder))
    return made


@pytest.mark.parametrize("content", [b"garbage", b"", b"\x7fELF\0\0", b"#!/no/such/shell\n"])
@pytest.mark.parametrize("mode", [0o755, 0o644])
def test_an_environment_whose_python_is_none_is_made_anew(content, mode, real):
    paper.PYTHON.parent.mkdir(parents=True)
    paper.PYTHON.write_bytes(content)
    paper.PYTHON.chmod(mode)
    (paper.VENV / "installed").write_text(paper.fingerprint())  # it once was complete
    paper.set_up()
    assert real == [paper.VENV]


def test_an_environment_that_works_is_left_alone_whatever_its_marker_holds(real):
    paper.PYTHON.parent.mkdir(parents=True)
    paper.PYTHON.symlink_to(sys.executable)
    for marker in (paper.fingerprint().encode(), b"\xff\0"):
        (paper.VENV / "installed").write_bytes(marker)
        paper.set_up()
    assert real == [] and (paper.VENV / "installed").read_text() == paper.fingerprint()


@pytest.mark.parametrize("error", [OSError(20, "Not a directory"), ValueError("Unable to create directory")])
def test_what_is_in_the_way_of_the_environment_is_named(error, real, monkeypatch):
    def refuse(folder, **options):
        raise error

    monkeypatch.setattr(paper.venv, "create", refuse)
    with pytest.raises(SystemExit, match=r"\.venv cannot be made \(.*\)\. Delete it, and run the same command again"):
        paper.set_up()


def test_ctrl_c_is_a_sentence(tmp_path):
    program = "import runpy, sys, venv; sys.argv = ['paper.py', 'book']; import subprocess\n"
    program += "def interrupt(*words, **options): raise KeyboardInterrupt\nsubprocess.run = interrupt\n"
    program += "runpy.run_path(sys.argv[0], run_name='__main__')"
    shutil.copy(paper.__file__, tmp_path)
    for name in ("requirements.txt", "pyproject.toml"):
        (tmp_path / name).write_text("torch==2.13.0\n")
    command, root = [sys.executable, "-c", program], Path(paper.__file__).parent
    environment = os.environ | {"PYTHONPATH": str(root)}
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 130
    assert done.stderr.strip() == "Interrupted. The same command goes on from where it was."


def test_a_changed_pin_is_installed(environment, tmp_path):
    paper.set_up()
    (tmp_path / "requirements.txt").write_text("torch==2.14.0\n")
    paper.set_up()
    assert environment[3][-1] == "torch==2.14.0"


def test_an_installation_that_fails_is_tried_again(environment, monkeypatch):
    fails = lambda *words: int("-r" in words)  # noqa: E731
    with monkeypatch.context() as patch, pytest.raises(SystemExit, match="could not be installed"):
        patch.setattr(paper, "pip_install", fails)
        paper.set_up()
    paper.set_up()
    assert len(environment) == 3
