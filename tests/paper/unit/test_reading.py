"""Files and texts from a stranger: what is read is a plain file, no longer than allowed, and means one thing."""

import ast
import errno
import json
import math
import os
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest

from circuitcore.ground import durable, reading
from circuitcore.ground.contents import json_sha256
from circuitcore.ground.reading import canonical_json, folders_with, inside, is_there, parse_json, plain_file, read_file
from circuitcore.training.recipe import MAX_CHECKPOINTS
from circuitcore.training.store.checkpoint import pack
from circuitcore.training.store.ledger import MAX_TABLES, RESUME_NAME, Entry, Ledger, checkpoint_name
from circuitcore.training.store.places import steps_done
from livingpaper.book import plain_yaml

ROOT = Path(reading.__file__).resolve().parents[2]
FLOORS = ("circuitcore", "livingpaper", "retrieval_circuits")


def test_a_file_is_read_up_to_its_limit(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    assert read_file(path) == read_file(path, 5) == b"12345"
    with pytest.raises(OSError, match="it has 5 bytes; allowed: at most 4"):
        read_file(path, 4)
    path.write_bytes(b"")
    assert read_file(path, 0) == b""


@pytest.mark.parametrize(("opens", "closes"), [("[", "]"), ('{"a": ', "}"), ('[1, {"a": ', "}]")])
def test_lists_and_objects_are_nested_sixteen_deep_at_most(opens, closes):
    each = opens.count("[") + opens.count("{")
    most = reading.MAX_NESTING // each
    for inmost in ("0", "[]") if each == 1 else ("0",):
        depth = most - (inmost == "[]")
        assert parse_json((opens * depth + inmost + closes * depth).encode())
        with pytest.raises(ValueError, match="nested more than 16 deep"):
            parse_json((opens * (depth + 1) + inmost + closes * (depth + 1)).encode())


def test_what_has_more_bytes_than_it_says_is_not_read_on(tmp_path, monkeypatch):
    """The kernel's own files say 0 bytes, and some never end."""
    path = Path("/proc/self/status")
    if path.exists():
        with pytest.raises(OSError, match="more bytes than the 0"):
            read_file(path)
    path = tmp_path / "x"
    path.write_bytes(b"12345")
    shorter = os.stat_result((os.stat(path).st_mode, *[0] * 5, 3, *[0] * 3))
    monkeypatch.setattr(os, "fstat", lambda descriptor: shorter)
    with pytest.raises(OSError, match="more bytes than the 3"):
        read_file(path)


def test_what_is_looked_at_is_what_is_opened(tmp_path, monkeypatch):
    """A pipe put in the place of a file between a look and the reading would keep its reader waiting."""
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "plain").write_bytes(b"x")
    found = os.stat(tmp_path / "plain")
    monkeypatch.setattr(os, "stat", lambda *_, **__: found)
    monkeypatch.setattr(Path, "stat", lambda *_, **__: found)

    def give():  # to a reader who does wait, so that the test ends
        with suppress(OSError):
            (tmp_path / "pipe").write_bytes(b"x")

    giver = threading.Thread(target=give, daemon=True)
    giver.start()
    with pytest.raises(OSError, match="it is a pipe, a device or a socket"):
        read_file(tmp_path / "pipe")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)  # for a giver who had not begun yet
    giver.join(60)
    os.close(reader)
    assert not giver.is_alive()


def test_no_descriptor_is_left_open(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/proc/self/fd")) if Path("/proc/self/fd").exists() else None
    for name in ("pipe", ".", "absent"):
        with pytest.raises(OSError), plain_file(tmp_path / name):  # noqa: PT011 - any of them
            pass
    assert before is None or len(os.listdir("/proc/self/fd")) == before


def test_what_lies_in_a_folder(tmp_path):
    for name in ("b", "a", ".c", "d"):
        (tmp_path / name).mkdir()
    for name in ("a", "b", ".c"):
        (tmp_path / name / "x").symlink_to("a" * 300)
    (tmp_path / "e").write_text("")
    assert [path.name for path in inside(tmp_path)] == [".c", "a", "b", "d", "e"]
    assert [path.name for path in folders_with(tmp_path, "x")] == ["a", "b"]
    assert inside(tmp_path / "e") == inside(tmp_path / "f") == inside(tmp_path / ("f" * 300)) == []
    assert is_there(tmp_path / "a/x") and not is_there(tmp_path / "f") and not is_there(tmp_path / "e/x")
    with pytest.raises(OSError, match="too long"):
        is_there(tmp_path / ("f" * 300))


def test_a_key_that_stands_there_twice_is_found_in_one_pass():
    keys = [f"key{i}" for i in range(40_000)]
    text = "{" + ",".join(f'"{key}":0' for key in [*keys, keys[-1]]) + "}"
    begun = time.process_time()
    with pytest.raises(ValueError, match="'key39999' stands there twice"):
        parse_json(text.encode())
    assert time.process_time() - begun < 5  # compared one with each other they take twenty


@pytest.mark.parametrize("text", ["1e999", "[-1e999]", '{"a": 123456789.0e400}'])
def test_a_number_that_no_float_can_hold_is_refused(text):
    with pytest.raises(ValueError, match="is too large for a number"):
        parse_json(text.encode())
    assert parse_json(b"[1e308, 1e-999, -0.0, 2]") == [1e308, 0.0, 0.0, 2]


@pytest.mark.parametrize("value", [math.nan, [math.inf], {"a": -math.inf}])
def test_no_hash_is_made_of_what_json_does_not_have(value):
    for make in (canonical_json, json_sha256):
        with pytest.raises(ValueError, match="JSON"):
            make(value)
    assert canonical_json({"b": [1, "ä"], "a": None}) == '{"a":null,"b":[1,"\\u00e4"]}'


def test_canonical_json_has_one_home():
    makers = [
        path.relative_to(ROOT).as_posix()
        for floor in FLOORS
        for path in sorted((ROOT / floor).rglob("*.py"))
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and {"sort_keys", "separators"} <= {keyword.arg for keyword in node.keywords}
    ]
    assert makers == ["circuitcore/ground/reading.py"]


def test_a_parameter_file_that_is_none_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "recall.yaml")
    with pytest.raises(plain_yaml.FileFault, match="it is a pipe"):
        plain_yaml.read_mapping(tmp_path / "recall.yaml")


def test_a_longer_header_than_any_run_has_is_not_read(tmp_path):
    path, identity = tmp_path / RESUME_NAME, {"step": "7"}
    path.write_bytes(pack({}, identity))
    assert steps_done(tmp_path) == 7
    header = json.dumps({"__metadata__": identity}).encode() + b" " * 3_000_000
    path.write_bytes(len(header).to_bytes(8, "little") + header)
    assert steps_done(tmp_path) == 0
    path.write_bytes(b"\xff" * 8)
    assert steps_done(tmp_path) == 0


def test_the_longest_ledger_that_a_run_may_have_is_read(tmp_path):
    """Whoever trains a run reads it, too: the limits of reading lie above those of recipes and tables."""
    digits, last = "f" * 64, 10**12 - MAX_CHECKPOINTS
    entries = tuple(
        Entry(step=step, file=checkpoint_name(step), sha256=digits, parent=digits, loss=-1.2345678901234567e-100)
        for step in range(last, last + MAX_CHECKPOINTS)
    )
    tables = {f"{number:0>100}": digits for number in range(MAX_TABLES)}
    folder = tmp_path / f"a-{digits[:12]}"
    folder.mkdir()
    made = Ledger(
        run_id=folder.name, recipe_sha256=digits, data_sha256=digits, entries=entries, tables=tables,
        finished=True, history_sha256=digits,
    )  # fmt: skip
    made.write(folder)
    assert Ledger.read(folder) == made


# Writing


def test_nothing_is_written_through_a_link_under_the_name_of_a_temporary_file(tmp_path):
    held = tmp_path / "held"
    held.write_bytes(b"kept")
    for left in (lambda path: path.symlink_to(held), lambda path: path.write_bytes(b"left over, and longer")):
        for numbers in (f"{os.getpid()}", f"{os.getpid()}.{threading.get_native_id()}"):
            left(tmp_path / f".x.{numbers}.tmp")
        durable.write(tmp_path / "x", b"new")
        assert held.read_bytes() == b"kept" and (tmp_path / "x").read_bytes() == b"new"
        for path in tmp_path.glob(".x.*"):
            path.unlink()


def test_a_link_put_there_in_the_last_moment_is_not_followed(tmp_path, monkeypatch):
    held, unlink = tmp_path / "held", Path.unlink
    held.write_bytes(b"kept")

    def unlink_and_plant(path, **options):
        unlink(path, **options)
        path.symlink_to(held)

    monkeypatch.setattr(Path, "unlink", unlink_and_plant)
    with pytest.raises(OSError) as caught:
        durable.write(tmp_path / "x", b"new")
    assert caught.value.errno == errno.EEXIST and held.read_bytes() == b"kept"


def test_threads_that_write_one_file_do_not_share_a_temporary_one(tmp_path):
    made, ready = [], threading.Barrier(2)
    real = durable._write_and_sync

    def write(path, data):
        ready.wait(30)
        real(path, data)
        made.append(path.name)
        ready.wait(30)

    durable_write = pytest.MonkeyPatch()
    durable_write.setattr(durable, "_write_and_sync", write)
    threads = [threading.Thread(target=durable.write, args=(tmp_path / "x", data)) for data in (b"1", b"2")]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        durable_write.undo()
    assert len(set(made)) == 2 and (tmp_path / "x").read_bytes() in (b"1", b"2")
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
