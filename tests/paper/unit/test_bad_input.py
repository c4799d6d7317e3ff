"""Input that is short and endless, huge, or no input at all: a sentence that names key or file, in no time."""

import datetime
import gc
import time

import pytest

from circuitcore.ground.plain_values import MAX_DEPTH, MAX_VALUES
from circuitcore.tasks import TASKS, TaskError, make_task
from livingpaper.book import studies
from livingpaper.book.parameter_cells import parameters
from livingpaper.book.parameters import ParameterError, read_yaml
from livingpaper.commands import cli
from livingpaper.commands.dataset import parameters_of

SECONDS = 2.0  # of the processor's time, for any answer
LONGEST = 600  # characters of any answer


@pytest.fixture(autouse=True)
def answers():
    """Holds a test to ``SECONDS`` an answer; one that asks several times counts its answers here."""
    gc.freeze()  # what other tests left behind would be looked through again and again meanwhile
    counted, start = [], time.process_time()
    yield counted
    spent = time.process_time() - start
    gc.unfreeze()
    assert spent < SECONDS * max(1, len(counted))


@pytest.fixture(scope="module", autouse=True)
def imported():
    """Importing the studies is not what is timed."""
    for name in studies.names():
        studies.load(name)


def nested(n_levels):
    return "[" * n_levels + "0" + "]" * n_levels


# Nine of nine of nine ...: a kilobyte that stands for 3,486,784,401 values.
LINKS = "a: &a [0, 0, 0, 0, 0, 0, 0, 0, 0]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True)
)
FILES = {
    "links": (LINKS, "a: given a link (&name, *name) at line 1; allowed: values written out"),
    "link to nothing": ("seeds: *nobody", "seeds: given a link (&name, *name) at line 1"),
    "merge": ("a: 1\n<<: {b: 2}", "<<: given a merge key (<<) at line 2"),
    "nested": (f"seeds: {nested(50_000)}", f"seeds: given more than {MAX_DEPTH} lists and mappings inside each other"),
    "nested lines": ("a:\n" + "".join("  " * n + "-\n" for n in range(1, 300)), "a: given more than 12 lists and"),
    "open braces": ("{" * 50_000, "recall.yaml: given more than 12 lists and mappings inside each other at line 1"),
    "questions": ("? " * 50_000, "recall.yaml: given more than 12 lists and mappings inside each other at line 1"),
    "keys": ("".join(f"k{n}: 1\n" for n in range(20_000)), "k9999: given more than 20,000 values at line 10,000"),
    "seeds": (
        f"seeds: {list(range(300_000))}",
        "recall.yaml: given a file that cannot be read (it has 2,288,897 bytes; allowed: at most 1,000,000)",
    ),
    "same seeds": (f"seeds: [{'0,' * 300_000}]", "seeds: given more than 20,000 values at line 1"),
    "digits": (
        f"a: 1\nepochs: {'9' * 5000}",
        "epochs: given a number of 5,000 characters at line 2; allowed: at ",
    ),
    "hexadecimal": (f"epochs: 0x{'f' * 5000}", "epochs: given a number of 5,002 characters at line 1"),
    "sexagesimal": (f"epochs: 1{':59' * 2000}", "epochs: given a number of 6,001 characters at line 1"),
    "decimals": (f"rate: 0.{'1' * 5000}", "rate: given a number of 5,002 characters at line 1"),
    "key of digits": (f"{'9' * 1000}: 1", "given a number of 1,000 characters at line 1"),
    "date": (
        "a: 1\n\nday: 2024-13-45",
        "day: given '2024-13-45' (str), which is no timestamp (month must be in 1..12",
    ),
    "no integer": ("epochs: !!int ''", "epochs: given '' (str), which is no int at line 1"),
    "no boolean": ("epochs: !!bool maybe", "epochs: given 'maybe' (str), which is no bool at line 1"),
    "no time": ("epochs: !!timestamp now", "epochs: given 'now' (str), which is no timestamp at line 1"),
    "no base64": ("epochs: !!binary x", "epochs: given no plain YAML: failed to decode base64 data"),
    "code": ("a: !!python/object/apply:os.getcwd []", "a: given no plain YAML: could not determine a constructor"),
    "twice": ("a: 1\nb: 2\na: 3", "a: given a key given twice: a at line 3; allowed: every key once"),
    "twice inside": ("a: {b: 1, b: 2}", "a: given a key given twice: b at line 1"),
    "number as key": ("a: 1\n2: 3", "2: given 2 (int) as a key at line 2; allowed: text, in quotes if need be"),
    "list as key": ("? [1]\n: 2", "given [1] (list) as a key at line 1"),
    "unclosed": ("seeds: [0", "seeds: given no plain YAML: while parsing a flow sequence at line 1, column 8"),
    "two documents": ("a: 1\n---\na: 1", "given no plain YAML: expected a single document"),
    "control character": ("a: \a", "recall.yaml: given no plain YAML: unacceptable character #x0007"),
    "other encoding": ("a: ä".encode("latin-1"), "recall.yaml: given no UTF-8 at byte 3"),
    "UTF-16": ("a: 1".encode("utf-16"), "recall.yaml: given no UTF-8 at byte 0"),
    "nothing": ("", "recall.yaml: given None (NoneType); allowed: YAML that is one mapping"),
    "a list": ("- 1", "recall.yaml: given [1] (list); allowed: YAML that is one mapping"),
}


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_refused_by_key_and_line(name, tmp_path):
    text, words = FILES[name]
    path = tmp_path / "recall.yaml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ParameterError) as error:
        read_yaml(path)
    said = str(error.value)
    assert words in said and said.startswith(f"{path}: 1 parameter(s) cannot be used\n")
    assert len(said) < LONGEST + len(str(path))


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ParameterError, match=r"gone.yaml: given a file that cannot be read \(No such file"):
        read_yaml(tmp_path / "gone.yaml")


def test_a_file_may_hold_what_a_parameter_can_be(tmp_path):
    path = tmp_path / "recall.yaml"
    path.write_text("a: [1, 2.5, x, true, null]\nb: {c: {d: [[1]]}}\n'1': 0x10\nlong: >\n  some\n  text\n")
    assert read_yaml(path) == {
        "a": [1, 2.5, "x", True, None], "b": {"c": {"d": [[1]]}}, "1": 16, "long": "some text\n"
    }  # fmt: skip


def levels(n_levels, width=1):
    value = [0] * width
    for _ in range(n_levels):
        value = [value] * width
    return value


def inside_itself():
    value = []
    value.append(value)
    return value


VALUES = {
    "digits": 10**5000,
    "negative digits": -(10**5000),
    "digits in a list": [10**5000],
    "more than a float": 10**400,
    "a surrogate": "\ud800",
    "a surrogate in a list": ["\udfff"],
    "long text": "x" * 10**7,
    "250 levels": levels(250),
    "5,000 levels": levels(5000),
    "nine of nine of nine": levels(10, width=9),
    "inside itself": inside_itself(),
    "300,000 seeds": list(range(300_000)),
    "300,000 texts": ["a"] * 300_000,
    "a seed 300,000 times": [0] * 300_000,
    "20,000 seeds": list(range(20_000)),
    "a mapping of 20,000": {str(n): n for n in range(20_000)},
    "a date": datetime.date(2024, 1, 1),
    "a set": {1, 2},
    "an object": object,
    "infinite": float("inf"),
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("name", studies.names())
def test_no_value_of_a_parameter_is_refused_without_its_name(name, value, answers):
    for key in (*studies.load(name).Params.model_fields, "no_such_parameter"):
        answers.append(key)
        with pytest.raises(ParameterError) as error:
            studies.validate(name, {key: value})
        (problem,) = (one for one in error.value.problems if one.key == key)
        assert len(str(problem)) < LONGEST and str(problem).isprintable()


def test_many_parameters_that_do_not_exist_are_one_line():
    with pytest.raises(ParameterError, match=r"k20 and 19,979 more: given parameters that do not exist; allowed: ba"):
        studies.validate("symbolic_kv", {f"k{n}": 1 for n in range(20_000)} | {"seeds": [0]})


KEYS = {"empty": "", "nul": "\0", "surrogate": "\ud800", "long": "x" * 10**6}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_no_key_spoils_the_sentence(key):
    with pytest.raises(ParameterError) as error:
        studies.validate("symbolic_kv", {key: 1})
    assert all(line.isprintable() and len(line) < LONGEST for line in str(error.value).splitlines())


def test_the_largest_values_are_still_read():
    seeds = list(range(10_000))
    given = studies.read_params("symbolic_kv") | {"seeds": seeds}
    assert studies.validate("symbolic_kv", given).seeds == tuple(seeds) and len(seeds) < MAX_VALUES


TEXTS = {
    "100 levels": nested(100),
    "100,000 levels": nested(100_000),
    "open": "[" * 100_000,
    "digits": f"[{'9' * 5000}]",
    "300,000 seeds": f"[{'0,' * 300_000}]",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_from_papermill_is_judged_as_the_value_it_is(text):
    found = parameters({"seeds": text}, ("seeds",))
    with pytest.raises(ParameterError, match="seeds: given"):
        studies.validate("symbolic_kv", found)


SIZES = {
    "symbolic_kv": ("n_keys", "n_values", "n_pairs", "n_pairs_ood", "n_train", "n_val", "n_test", "n_ood"),
    "textual_kv": ("n_train_2", "n_train_3", "n_val", "n_test", "n_ood"),
    "story": ("n_context", "n_context_ood"),
    "planted_repeats": (
        *("n_words", "n_phrases", "n_phrase", "n_train", "n_val", "n_test", "n_ood", "n_context", "n_context_ood"),
    ),
    "permutation_recall": ("n_symbols", "n_train", "n_rows"),
    "chain_retrieval": ("n_chains", "d_symbol", "n_steps", "n_train", "n_test"),
    "chain_lengths": ("n_chains", "d_symbol", "n_steps", "n_train", "n_test"),
    "conditional_retrieval": ("n_options", "d_symbol", "n_steps", "n_train", "n_test"),
    "chain_words": ("n_questions", "n_train", "n_test"),
    "k_fold_composition": ("n_symbols", "n_hops", "n_queries", "n_rows"),
    "in_context_recall": ("n_pairs", "n_words", "n_queries", "n_rows"),
    "stream_kv": ("n_train", "n_eval"),
    "balanced_stream": (
        *("n_keys", "n_lags", "n_writes", "n_reads", "ood_keys", "ood_lags", "ood_writes", "ood_reads"),
        *("n_key_words", "n_value_words", "n_held_out", "n_train", "n_eval"),
    ),
}


def test_every_task_says_its_sizes():
    assert set(SIZES) == set(TASKS), "a new task gets a line in SIZES: its parameters that say how much it makes"


@pytest.mark.parametrize(("name", "key"), [(name, key) for name in SIZES for key in SIZES[name]])
@pytest.mark.parametrize("value", [99_999_999_999_999, 10**30, -1], ids=["14 digits", "30 digits", "negative"])
def test_no_size_of_a_task_is_tried_that_no_memory_holds(name, key, value):
    with pytest.raises(TaskError, match=key):
        make_task(name, {key: value})


@pytest.mark.parametrize(
    ("key", "value", "words"),
    [
        ("n_val", 2**20 + 1, "n_val = 1,048,577 rows; allowed: at most 1,048,576"),
        ("n_train_2", 115_201, "n_train_2 = 115,201; there are 115,200 different prompts of 2 pairs"),
        ("n_val", 10**5000, "parameter 'n_val' = a number of about 5,000 digits"),
        ("n_val", levels(5000), "parameter 'n_val' = "),
        ("targets", "x" * 10**6, "parameter 'targets' = 'xxx"),
    ],
    ids=["a million", "all prompts", "digits", "levels", "long text"],
)
def test_rows_that_cannot_be_had_are_refused_with_the_number(key, value, words):
    with pytest.raises(TaskError) as error:
        make_task("textual_kv", {key: value})
    assert words in str(error.value) and len(str(error.value)) < LONGEST


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000, nested(100_000)], ids=["digits", "open", "levels"])
def test_what_json_cannot_read_is_a_text(text):
    assert parameters_of([f"n_val={text}"]) == {"n_val": text}


@pytest.mark.parametrize("name", ["../x:Y", ":Y", "os:", "a b:C", "os:path.join"])
def test_an_import_path_of_a_task_is_one(name):
    with pytest.raises(TaskError, match="unknown task .* or an import path 'package.module:Class'"):
        make_task(name, {})


@pytest.mark.parametrize("name", ["../x", ".", "a..b", ".studies", "os.path.", "a b.c"])
def test_an_import_path_of_a_study_is_one(name):
    with pytest.raises(studies.StudyError, match="unknown study .* or an import path such as my_package.my_study"):
        studies.load(name)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["dataset", "textual_kv", "--set", "n_val=99999999999999"], 1, "n_val = 99,999,999,999,999 rows; allowed: at"),
        (["dataset", "../x:Y"], 1, "unknown task '../x:Y'"),
        (["sweep", "../x"], 1, "unknown study '../x'"),
        (["sweep", "symbolic_kv", "--params", "/dev/null"], 2, "--params: /dev/null is no folder"),
        (["sweep", "symbolic_kv", "--runs", "/dev/null"], 2, "--runs: /dev/null is no folder"),
        (["status", "symbolic_kv", "--runs", "/dev/null/x"], 2, "--runs: /dev/null is no folder"),
        (["rerun", "symbolic_kv", "--seeds", "1", "--out", "/dev/null"], 2, "--out: /dev/null is no folder"),
        (["status", "/nonexistent/"], 1, "/nonexistent: there is no such folder"),
        (["status", "/dev/null"], 1, "/dev/null: is no folder"),
        (["verify", "/nonexistent"], 1, "BAD  /nonexistent: cannot be read (No such file or directory)"),
        (["train", "symbolic_kv", "--seed", "9" * 30], 1, "seeds: given 999"),
    ],
)
def test_a_command_says_what_is_wrong(words, code, said, capsys):
    try:
        found = cli.main(words)
    except SystemExit as end:
        found = end.code
    output = capsys.readouterr()
    assert found == code and said in output.out + output.err


def test_an_error_of_the_system_is_shown_with_its_path(monkeypatch, capsys):
    def refuse(arguments):
        raise PermissionError(13, "Permission denied", "some/file")

    monkeypatch.setattr(cli, "_sweep", refuse)
    assert cli.main(["sweep", "symbolic_kv"]) == 1
    assert capsys.readouterr().err == "circuitcore: some/file: Permission denied\n"
