"""A run is looked for in the indices of all packs; those that name it nowhere are understood last."""

import json

import pytest
from packed_index import write_index

from circuitcore.ground.contents import ContentsError
from circuitcore.ground.packed import INDEX_NAME, packed, packed_at
from circuitcore.ground.packed import _read as understood
from circuitcore.training.store.packed import packed_run

RUN, OTHER = "kv-0123456789ab", "kv-ba9876543210"


def line(run_id, **fields):
    return json.dumps({"arm": "first", "run_id": run_id, **fields})


@pytest.fixture
def folder(tmp_path):
    """Three packs: the last one has the run, the one in the middle names it in another run's recipe."""
    texts = {
        "a": line(OTHER),
        "b": line("kv-000000000000", recipe={"run_id": RUN}),
        "c": f"{line(RUN)}\n{line('kv-111111111111')}",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir()
        write_index(tmp_path / name / INDEX_NAME, text)
    return tmp_path


def test_only_indices_that_name_a_run_are_understood(folder):
    before = understood.cache_info().misses
    assert packed(folder, RUN).address == folder / "c" / "first" / RUN
    assert understood.cache_info().misses == before + 2, "of the packs b and c"
    assert packed(folder, "kv-222222222222") is None
    assert understood.cache_info().misses == before + 3


def test_a_name_that_is_spelt_otherwise_is_found_too(folder):
    write_index(folder / "c" / INDEX_NAME, line(RUN).replace("kv-", r"\u006bv-"))
    assert packed(folder, RUN).address == folder / "c" / "first" / RUN


def test_a_run_in_two_packs_is_that_of_the_first(folder):
    write_index(folder / "a" / INDEX_NAME, line(RUN))
    assert packed(folder, RUN).address == folder / "a" / "first" / RUN


def test_a_damaged_index_is_no_reason_to_call_a_run_missing(folder):
    write_index(folder / "a" / INDEX_NAME, "{")
    assert packed(folder, RUN)
    with pytest.raises(ContentsError, match="line 1 is damaged"):
        packed(folder, "kv-222222222222")
    (folder / "a" / INDEX_NAME).write_bytes(b"no index")
    with pytest.raises(ContentsError, match="damaged"):
        packed(folder, RUN)


def test_a_run_is_opened_once_until_its_index_changes(folder):
    found = packed_run(folder, RUN)
    assert packed_run(folder, RUN) is found and found.line is packed_at(found.address)
    write_index(folder / "c" / INDEX_NAME, line(RUN, recipe={"more": "than before"}))
    assert packed_run(folder, RUN) is not found
