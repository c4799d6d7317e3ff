"""What the pages tell a reader to do is possible and does what they say: commands, snippets, sources, links."""

import contextlib
import io
import json
import re
import shlex
import tomllib
from pathlib import Path

import pytest
import yaml

import circuitcore
import paper
from benchmarks import __main__ as bench
from circuitcore.training import RunStore
from circuitcore.training.store.ledger import (
    HISTORY_NAME,
    LEDGER_NAME,
    RECIPE_NAME,
    RESUME_NAME,
    TABLE_FOLDER,
    checkpoint_name,
)
from livingpaper.book import studies
from livingpaper.book.findings import BEGIN, END
from livingpaper.book.parameters import ParameterError
from livingpaper.commands import cli, reproduce

ROOT = Path(paper.__file__).resolve().parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
RERUN = (ROOT / "book/rerun_and_extend.md").read_text(encoding="utf-8")
BOOK = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "book").iterdir() if path.is_file()}

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND_IN_LINE = re.compile(r"`((?:python3|circuitcore|papermill|pip|conda|source) [^`]+)`")

both_pages = pytest.mark.parametrize("page", [README, RERUN], ids=["readme", "rerun"])


def blocks(page: str, language: str) -> list[str]:
    """The fenced blocks of one language, in order."""
    return [block for kind, block in FENCE.findall(page) if kind == language]


def commands(page: str) -> list[list[str]]:
    """Every command a page shows, in blocks and within lines, as words."""
    lines = [line for block in blocks(page, "bash") for line in block.splitlines()]
    lines += COMMAND_IN_LINE.findall(FENCE.sub("", page))
    return [words for line in lines if (words := shlex.split(line, comments=True))]


def check_papermill(notebook: str, options: list[str]) -> None:
    """Fail unless papermill would take the notebook, with a file of parameters or single ones instead."""
    study = Path(notebook).stem
    assert (ROOT / notebook).is_file()
    if options[0] == "-f":
        of_study, _, tier = Path(options[1]).stem.partition(".")
        assert len(options) == 2 and of_study == study and studies.load_params(study, tier)
        return
    assert set(options[::3]) == {"-p"}
    given = {name: yaml.safe_load(value) for name, value in zip(options[1::3], options[2::3], strict=True)}
    studies.validate(study, studies.read_params(study) | given)


def check_command(words: list[str]) -> None:
    """Fail unless the command would be understood."""
    match words:
        case ["python3", "paper.py", "book" | "test"] | ["python3", "paper.py", "reproduce"]:
            assert f"  {words[2]} " in paper.USAGE
        case ["python3", "paper.py", "bench", *options]:
            bench._parser().parse_args(options)
        case ["python3", "paper.py", "reproduce", chapter]:
            assert chapter in studies.names()
        case ["circuitcore", *rest]:
            check_parsed(cli._parser().parse_args(rest))
        case ["papermill", notebook, _, *options]:
            check_papermill(notebook, options)
        case ["pip", "install", "-e", _] | ["conda", "env", "create", "-f", _]:
            check_installable(words[0], words[-1])
        case [".venv/bin/python", "-m", "livingpaper.commands.reproduce", *options]:
            assert set(reproduce._parser().parse_args(options).chapters) <= {*studies.names()}
        case ["dask", "scheduler" | "worker", *options]:
            check_loopback(options)
        # The first two are run by tests/library/integration/test_cluster_commands.py.
        case ["mkdir" | "export", *_] | ["openssl", "req" | "x509", *_] | ["source", ".venv/bin/activate"]:
            pass
        case _:
            pytest.fail(f"a command nobody knows: {shlex.join(words)}")


def check_installable(by: str, what: str) -> None:
    """An extra of the package for pip, a file of packages for conda."""
    if by == "conda":
        assert (ROOT / what).is_file()
        return
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert what.strip(".[]") in project["optional-dependencies"]


def check_loopback(options: list[str]) -> None:
    """A Dask server that is started so listens on this machine alone: Dask has no password, and it unpickles."""
    given = dict(zip(options, options[1:], strict=False))
    for name in ("--host", "--dashboard-address"):
        assert name in given, f"without {name} it listens on every interface: {shlex.join(options)}"
        assert given[name].partition(":")[0] == "127.0.0.1"
    assert all("//127.0.0.1:" in word for word in options if "://" in word)


def check_parsed(arguments) -> None:
    """The study and tier, or the run, that a command line of ours names exist."""
    if hasattr(arguments, "run"):
        assert RunStore(ROOT / "published", None).get(arguments.run).steps
    if hasattr(arguments, "study"):
        assert arguments.study in studies.names()
        assert arguments.tier in studies.tiers(arguments.study)


@both_pages
def test_every_command_on_the_page_would_be_understood(page):
    found = commands(page)
    assert len(found) >= 5
    for words in found:
        check_command(words)


@pytest.mark.parametrize(
    "command",
    [
        "circuitcore retrain symbolic_kv",
        "circuitcore sweep symbolic_kvs",
        "circuitcore rerun symbolic_kv --sedes 1",
        "papermill book/symbolic_kv.ipynb out.ipynb -p seed 1",
        "papermill book/symbolic.ipynb out.ipynb -p seeds [1]",
        "python3 paper.py reproduce nothing",
        "dask scheduler",
        "dask scheduler --host 127.0.0.1",
        "dask scheduler --host 127.0.0.1 --dashboard-address :8787",
        "dask worker tcp://10.0.0.1:8786 --host 127.0.0.1 --dashboard-address 127.0.0.1:0",
    ],
)
def test_a_command_that_would_not_be_understood_is_found(command):
    with pytest.raises((SystemExit, ParameterError, AssertionError)), contextlib.redirect_stderr(io.StringIO()):
        check_command(shlex.split(command))


def test_dask_is_shown_on_this_machine_alone_wherever_it_is_shown():
    """In every page and notebook, in whatever kind of block."""
    pages = [*ROOT.glob("*.md"), *(ROOT / "book").glob("*.md"), *(ROOT / "book").glob("*.ipynb")]
    lines = [line for page in pages for line in page.read_text(encoding="utf-8").splitlines()]
    shown = [found.group(1) for line in lines if (found := re.search(r"dask (?:scheduler|worker)\b(.*)", line))]
    assert len(shown) >= 4
    for options in shown:
        check_loopback(shlex.split(options))


def run_blocks(page: str, monkeypatch) -> tuple[list[str], dict]:
    """Run the Python blocks of a page one after the other, where a reader would; what each printed, and all names."""
    monkeypatch.chdir(ROOT)
    names, printed = {}, []
    for block in blocks(page, "python"):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            exec(compile(block, "a page", "exec"), names)
        printed.append(out.getvalue())
    return printed, names


def test_the_page_on_rerunning_opens_a_run_and_finds_the_number_of_its_table(monkeypatch):
    printed, names = run_blocks(RERUN, monkeypatch)
    accuracies = dict(line.split(": ") for line in printed[0].splitlines())
    assert list(accuracies) == ["nothing", "L1H0 off", "L1H1 off"]
    assert names["run"].recipe.init_seed == names["params"].seeds[0]
    assert float(printed[1]) == pytest.approx(names["accuracy"][0].item(), abs=1e-6)
    assert min(accuracies.values()) < accuracies["nothing"], "switching one of the two heads off must cost something"
    assert printed[2] == blocks(RERUN, "text")[1]


def test_the_readme_opens_a_run(monkeypatch):
    _, names = run_blocks(README, monkeypatch)
    assert "embed.W_E" in names["weights"]


def test_the_explorer_s_page_asks_a_published_network(monkeypatch):
    cells = json.loads(BOOK["explorer.ipynb"])["cells"]
    page = "\n\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown") + "\n"
    printed, names = run_blocks(page, monkeypatch)
    assert "margin over" in printed[0] and names["explorer"].run in page


def test_the_message_shown_for_a_misspelt_parameter_is_the_real_one():
    with pytest.raises(ParameterError) as refused:
        studies.validate("symbolic_kv", studies.read_params("symbolic_kv") | {"seed": [101]})
    assert blocks(RERUN, "text")[0].strip() == str(refused.value)


def test_every_file_of_a_run_is_explained():
    explained = re.findall(r"^`([^`]+)`\n: ", RERUN, re.MULTILINE)
    constant = {RECIPE_NAME, LEDGER_NAME, HISTORY_NAME, RESUME_NAME, f"{TABLE_FOLDER}/*.parquet"}
    (step,) = set(explained) - constant
    assert constant < set(explained)
    assert step == checkpoint_name(int(re.search(r"\d+", step).group()))


def test_the_readme_is_short():
    head, _, rest = README.partition(BEGIN)
    assert (
        len(head.splitlines()) + len(rest.partition(END)[2].splitlines()) <= 120
    )  # by hand; the build writes the rest


def test_links_lead_somewhere():
    pages = {ROOT / "README.md": README} | {ROOT / "book" / name: text for name, text in BOOK.items() if ".md" in name}
    found = [(page, link) for page, text in pages.items() for link in re.findall(r"\]\(([\w./-]+\.\w+)\)", text)]
    assert len(found) > 8
    assert [f"{page.name}: {link}" for page, link in found if not (page.parent / link).exists()] == []


def test_everything_the_readme_says_is_there_is_there():
    rows = README.partition("| folder | content |")[2].partition("\n\n")[0].splitlines()[2:]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[1])]
    assert len(named) >= 10
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_every_source_that_is_cited_is_listed_and_every_listed_one_is_cited():
    listed = re.findall(r"^@\w+\{([^,]+),$", BOOK["references.bib"], re.MULTILINE)
    assert len(set(listed)) == len(listed)
    groups = [keys for page in BOOK.values() for keys in re.findall(r"\{cite:\w+\}`([^`]+)`", page)]
    assert {key.strip() for keys in groups for key in keys.split(",")} == set(listed)


def test_every_source_has_an_author_a_title_and_a_year():
    for entry in BOOK["references.bib"].split("\n@"):
        fields = set(re.findall(r"^  (\w+) = \{.+\},?$", entry, re.MULTILINE))
        assert {"author", "title", "year"} < fields, entry


def test_the_front_page_tells_of_every_chapter():
    assert set(re.findall(r"\]\((\w+)\.ipynb\)\*\* \{\{", BOOK["index.md"])) == set(studies.names())


def test_the_changelog_starts_with_this_version_and_puts_results_first():
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = yaml.safe_load((ROOT / "CITATION.cff").read_text())["date-released"]
    assert re.findall(r"^## (\S+) \((\S+)\)$", text, re.MULTILINE)[0] == (circuitcore.__version__, released)
    for release in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        assert re.findall(r"^### (.+)$", release, re.MULTILINE) == ["Results changed", "Library", "Book"]
        results = release.partition("### Results changed")[2].partition("###")[0]
        assert results.strip(), "say that no result changed, if none did"
