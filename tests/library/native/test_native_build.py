"""Compiling on first use: what goes wrong is said in a sentence, and nothing wrong is ever used."""

import json
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from circuitcore.models import ModelConfig
from circuitcore.native import NativeDecoder, build, why_not
from circuitcore.native.build import BuildError, open_library

COMPILER = next((path for name in build.COMPILERS if (path := shutil.which(name))), None)
needs_compiler = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """An empty cache, and nothing remembered of libraries opened before or in the test."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv(build.SWITCH, raising=False)
    build._opened.cache_clear()
    yield tmp_path / "cache" / "circuitcore"
    build._opened.cache_clear()


@pytest.fixture
def compiler(tmp_path, monkeypatch):
    """Puts a script in the place of every compiler; it notes each compilation in ``compiled``."""
    folder, real_path = tmp_path / "bin", os.environ["PATH"]
    folder.mkdir()

    def use(lines, interpreter="/bin/sh"):
        script = folder / "g++"
        script.write_text(
            f'#!{interpreter}\nPATH="{real_path}"\n'
            'if [ "$1" = --version ]; then echo "a compiler for tests"; exit 0; fi\n'
            f'echo once >> "{tmp_path / "compiled"}"\n{lines}\n'
        )
        script.chmod(0o755)
        monkeypatch.setenv("PATH", str(folder))

    return use


# A real compiler in a hurry: $1 is the optimisation level, the first of FLAGS.
QUICK = f'shift; exec "{COMPILER}" -O0 "$@"'
PATCHED = f"""shift
for word in "$@"; do case "$word" in *api.cpp) source="${{word%/*}}";; esac; out="$word"; done
work=$(mktemp -d); cp "$source"/* "$work"; sed -i 's/{{old}}/{{new}}/' "$work"/{{file}}
"{COMPILER}" -O0 -march=native -std=c++17 -shared -fPIC "$work"/api.cpp -o "$out"; status=$?
rm -r "$work"; exit $status"""


def compilations(tmp_path):
    log = tmp_path / "compiled"
    return len(log.read_text().splitlines()) if log.exists() else 0


def libraries(cache):
    return sorted(path.name for path in cache.glob("*.so")) if cache.exists() else []


def assert_refused(words):
    reason = why_not()
    assert words in reason and "\n" not in reason
    with pytest.raises(BuildError) as raised:
        open_library()
    assert str(raised.value) == reason
    with pytest.raises(BuildError):
        NativeDecoder(ModelConfig(d_vocab=5, n_ctx=5))


def test_no_compiler(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_refused("no C++ compiler was found (looked for g++, clang++, c++)")


def test_switched_off(monkeypatch, cache):
    monkeypatch.setenv("CIRCUITCORE_NATIVE", "0")
    assert_refused("it is switched off (CIRCUITCORE_NATIVE=0)")
    assert not cache.exists()


@needs_compiler
def test_the_switch_is_read_each_time(monkeypatch, compiler):
    compiler(QUICK)
    for value, works in (("0", False), ("1", True), ("0", False)):
        monkeypatch.setenv("CIRCUITCORE_NATIVE", value)
        assert (why_not() == "") == works


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ('echo "api.cpp:7:1: error: what is this?" >&2; exit 1', "g++ could not compile it (what is this?)"),
        ('echo "out of memory" >&2; exit 4', "g++ could not compile it (out of memory)"),
        ("exit 0", "g++ could not compile it (it gave no reason)"),
        ('for out; do :; done; echo "no library" > "$out"', "cannot be used as its cache"),
    ],
)
def test_a_compiler_that_fails_is_asked_once(lines, words, compiler, tmp_path, cache):
    compiler(lines)
    assert_refused(words)
    assert why_not() and compilations(tmp_path) == 1
    assert libraries(cache) == []


def test_a_compiler_that_cannot_be_run(compiler):
    compiler("exit 0", interpreter="/no/such/shell")
    assert_refused("g++ cannot be run")


@needs_compiler
@pytest.mark.parametrize(
    ("file", "old", "new", "words"),
    [
        ("loss.hpp", r"x\[target\] -= weight", "x[target] += weight", "gives wrong gradients (the gradient of"),
        ("attention.hpp", r"float scale = 1.f", "float scale = 1.1f", "gives wrong gradients ("),
        ("norm.hpp", r"mean + slope \*", "mean + 0.9f * slope *", "gives wrong gradients (the gradient of"),
    ],
)
def test_wrong_code_is_noticed_and_thrown_away(file, old, new, words, compiler, cache):  # noqa: PLR0913
    compiler(PATCHED.replace("{old}", old).replace("{new}", new).replace("{file}", file))
    assert_refused(words)
    assert libraries(cache) == []


@needs_compiler
def test_a_processor_without_avx2(compiler):
    compiler(f'exec "{COMPILER}" "$@" -mno-avx2 -mno-avx512f')
    assert_refused("this processor has no AVX2 with FMA")


def test_a_cache_that_is_no_folder(cache):
    cache.parent.write_text("a file")
    assert_refused("circuitcore cannot be used as its cache (")


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_cache_that_cannot_be_written(cache):
    cache.parent.mkdir(mode=0o500)
    assert_refused("circuitcore cannot be used as its cache (Permission denied)")


# What is in the cache must be what was compiled


def empty(library, path):
    path.write_bytes(b"")


def halve(library, path):
    path.write_bytes(library[: len(library) // 2])


def flip_a_bit(library, path):
    path.write_bytes(library[:-9] + bytes([library[-9] ^ 0x10]) + library[-8:])


def append(library, path):
    path.write_bytes(library + b"\0")


def no_library(library, path):
    path.write_bytes(b"no library")


def link(library, path):
    elsewhere = path.with_name("elsewhere")
    elsewhere.write_bytes(library)
    path.symlink_to(elsewhere)


def pipe(library, path):
    os.mkfifo(path)


def unrecorded(library, path):
    path.write_bytes(library)
    path.with_suffix(".json").unlink()


def halve_the_record(library, path):
    path.write_bytes(library)
    record = path.with_suffix(".json")
    record.write_text(record.read_text()[:20])


def record_of_another_user(library, path):
    path.write_bytes(library)
    record = path.with_suffix(".json")
    fields = json.loads(record.read_text())
    record.write_text(json.dumps(fields | {"owner": fields["owner"] + 1}))


DAMAGES = {
    empty: "it is not the file that was compiled here",
    halve: "it is not the file that was compiled here",
    flip_a_bit: "it is not the file that was compiled here",
    append: "it is not the file that was compiled here",
    no_library: "it is not the file that was compiled here",
    link: "it or the record of its hash is no file of yours",
    pipe: "it or the record of its hash is no file of yours",
    unrecorded: "no hash of it was recorded",
    halve_the_record: "the record of its hash is damaged",
    record_of_another_user: "it is not the file that was compiled here",
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """The bytes of a library, compiled once, without optimisation."""
    if COMPILER is None:
        pytest.skip("no compiler")
    path = tmp_path_factory.mktemp("compiled") / "native.so"
    made = build._run(COMPILER, "-O0", *build.FLAGS[1:], str(build.SOURCE / "api.cpp"), "-o", str(path))
    assert made.returncode == 0, made.stderr
    return path.read_bytes()


@pytest.fixture
def copying(compiler, compiled, tmp_path, monkeypatch):
    """In the place of every compiler: copies the library of ``compiled``, without a trial. Counts how often."""
    (tmp_path / "library").write_bytes(compiled)
    compiler(f'for out; do :; done; cp "{tmp_path / "library"}" "$out"')
    monkeypatch.setattr("circuitcore.native.trial.differs_from_autograd", lambda library: "")
    return lambda: compilations(tmp_path)


@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_a_library_that_is_not_what_was_compiled_is_compiled_again(damage, copying, compiled, cache, caplog):
    assert why_not() == "" and caplog.text == ""
    path = cache / libraries(cache)[0]
    path.unlink()  # never changed in place: it is loaded
    damage(compiled, path)
    build._opened.cache_clear()
    assert why_not() == ""
    (said,) = caplog.messages
    assert said == f"{path} is not loaded but compiled again: {DAMAGES[damage]}."
    assert path.read_bytes() == compiled and not path.is_symlink() and copying() == 2
    build._opened.cache_clear()
    assert why_not() == "" and len(caplog.messages) == 1 and copying() == 2


def test_a_damaged_library_is_not_loaded_where_it_cannot_be_compiled_again(copying, cache, caplog):
    assert why_not() == ""
    path = cache / libraries(cache)[0]
    data = path.read_bytes()
    path.unlink()
    halve(data, path)
    compiler_says = 'echo "api.cpp:7:1: error: what is this?" >&2; exit 1'
    script = Path(shutil.which("g++"))
    script.write_text(script.read_text().rpartition("for out")[0] + compiler_says + "\n")
    build._opened.cache_clear()
    assert_refused("g++ could not compile it (what is this?)")
    assert "is not loaded but compiled again: it is not the file" in caplog.text
    assert libraries(cache) == []


def test_without_a_compiler_a_library_in_the_cache_is_not_loaded(copying, monkeypatch, tmp_path):
    assert why_not() == ""
    build._opened.cache_clear()
    monkeypatch.setenv("PATH", str(tmp_path))
    assert_refused("no C++ compiler was found")


def test_the_cache_is_closed_to_everybody_else(copying, cache):
    cache.mkdir(parents=True, mode=0o755)
    cache.chmod(0o777)
    assert why_not() == ""
    assert cache.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix" or os.geteuid() != 0, reason="only root may give a folder away")
def test_a_cache_of_another_user_is_not_used(copying, cache, caplog):
    cache.mkdir(parents=True)
    os.chown(cache, 12345, 12345)
    beside = cache.with_name(f"circuitcore-{os.geteuid()}")
    for _ in range(2):  # said when it is compiled, not each time
        assert why_not() == ""
        assert caplog.messages == [f"{cache} belongs to another user; the native engine is kept in {beside}."]
        build._opened.cache_clear()
    assert libraries(cache) == [] and len(libraries(beside)) == copying() == 1
    assert beside.stat().st_mode & 0o777 == 0o700


@pytest.mark.skipif(os.name != "posix", reason="files belong to users on POSIX alone")
def test_where_every_cache_is_another_users_there_is_no_engine(copying, cache, monkeypatch):
    me = os.geteuid()
    monkeypatch.setattr("circuitcore.native.cache._user", lambda: me + 1)
    assert_refused(f"{cache} cannot be used as its cache (it and {cache}-{me + 1} belong to other users)")
    assert copying() == 0


def test_a_library_and_its_record_are_on_disk_before_they_have_their_names(copying, cache, monkeypatch):
    order, fsync, replace = [], os.fsync, os.replace

    def note_sync(descriptor):
        order.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")
        fsync(descriptor)

    def note_rename(source, target):
        order.append(Path(target).suffix)
        replace(source, target)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_rename)
    assert why_not() == ""
    assert order == ["file", ".json", "folder", "file", ".so", "folder"]


def test_without_any_home_the_cache_is_asked_for(monkeypatch, copying):
    monkeypatch.delenv("XDG_CACHE_HOME")

    def homeless():
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "home", homeless)
    assert_refused("the user's cache folder cannot be used as its cache (no home folder is known; set XDG_CACHE_HOME")


@needs_compiler
def test_what_is_in_the_cache_is_used_until_the_source_changes(monkeypatch, compiler, cache, tmp_path):
    compiler(QUICK)
    source = tmp_path / "source"
    shutil.copytree(build.SOURCE, source)
    monkeypatch.setattr(build, "SOURCE", source)
    for expected in (1, 1):
        assert why_not() == ""
        assert compilations(tmp_path) == len(libraries(cache)) == expected
        build._opened.cache_clear()
    (source / "norm.hpp").write_text((source / "norm.hpp").read_text() + "// another comment\n")
    assert why_not() == ""
    assert compilations(tmp_path) == len(libraries(cache)) == 2


@needs_compiler
def test_a_library_is_named_by_all_it_depends_on(monkeypatch, tmp_path):
    names = [build._key(COMPILER)]
    assert build._key(COMPILER) == names[0]
    with monkeypatch.context() as patch:
        patch.setattr(build, "FLAGS", (*build.FLAGS, "-g"))
        names.append(build._key(COMPILER))
    with monkeypatch.context() as patch:
        patch.setattr(build, "_processor", lambda: "another processor")
        names.append(build._key(COMPILER))
    other = tmp_path / "g++"
    for version in ("1", "2"):
        other.write_text(f"#!/bin/sh\necho {version}\n")
        other.chmod(0o755)
        names.append(build._key(str(other)))
    assert len(set(names)) == 5


@needs_compiler
def test_two_processes_at_once_compile_once(compiler, cache, tmp_path):
    compiler(QUICK)
    program = "from circuitcore.native import why_not; print(repr(why_not()))"
    root = Path(__file__).parents[3]
    running = [
        subprocess.Popen([sys.executable, "-c", program], cwd=root, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    assert [process.communicate(timeout=300)[0].strip() for process in running] == ["''", "''"]
    assert compilations(tmp_path) == len(libraries(cache)) == 1
    assert why_not() == "" and compilations(tmp_path) == 1


def has_wider_vectors():
    try:
        return "avx512f" in Path("/proc/cpuinfo").read_text()
    except OSError:
        return False


NARROW = """
from native_cases import config_of, errors, lively_weights, pairwise, rows_of
for case in pairwise(seed=5):
    config = config_of(case)
    rows = rows_of(config, (case["size"], 9), mask=case["mask"], targets=case["targets"])
    of_loss, of_gradient, where = errors(config, lively_weights(config), rows)
    assert of_loss <= 2e-6 and of_gradient <= 1e-5, (case, of_loss, of_gradient, where)
print("alike")
"""


@needs_compiler
@pytest.mark.skipif(not has_wider_vectors(), reason="its vectors are the narrow ones: every other test is on them")
def test_narrow_vectors_where_there_are_wide_ones(compiler, tmp_path):
    """The code for processors without AVX-512, on one that has it; alone in a process, as libraries are used."""
    compiler(f'shift; exec "{COMPILER}" -O1 "$@" -mno-avx512f')
    root = Path(__file__).parents[3]
    paths = os.pathsep.join(map(str, (root / "tests/support", root)))
    words = [sys.executable, "-c", NARROW]
    done = subprocess.run(words, env=os.environ | {"PYTHONPATH": paths}, capture_output=True, text=True, check=False)
    assert done.stdout.strip() == "alike", done.stderr
    assert compilations(tmp_path) == 1
