"""The same store whichever executor filled it, whatever happened to its workers."""

import os
from contextlib import nullcontext
from functools import partial
from types import SimpleNamespace

import pytest
from toy import workers
from toy.recall import toy_recipe
from toy.throws import Throws, longest

from circuitcore.ground.durations import Durations
from circuitcore.training import ExecutorError, Experiment, RunStore, map_runs
from circuitcore.training.experiment import TABLE
from circuitcore.training.store.digests import table_sha256
from circuitcore.training.sweeps import executor
from circuitcore.training.sweeps.computing import compute_all
from circuitcore.training.sweeps.executor import width

RECIPES = [toy_recipe(seed) for seed in range(3)]


@pytest.fixture(scope="module")
def serial(tmp_path_factory):
    root = tmp_path_factory.mktemp("serial")
    names = map_runs(partial(workers.train, root), RECIPES, "serial")
    assert names == [recipe.run_id for recipe in RECIPES]
    return hashes(root, RECIPES)


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip("distributed")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None, silence_logs=50
    ) as cluster:
        yield cluster.scheduler_address


def hashes(root, recipes):
    store = RunStore(root, None)
    return {recipe.run_id: [entry.sha256 for entry in store.find(recipe).ledger.entries] for recipe in recipes}


def steps_of(root, seed):
    return [int(line) for line in (root / f"{seed}.steps").read_text().split()]


def check_one_interval_was_lost(root, recipes, at_step):
    """Each run was killed once at ``at_step`` = 20, and went on from its checkpoint at 12."""
    for recipe in recipes:
        steps = steps_of(root, recipe.init_seed)
        assert steps == [*range(1, at_step + 1), *range(13, recipe.n_steps + 1)]


def test_a_process_pool_gives_the_same_hashes(serial, tmp_path):
    done = []
    names = map_runs(partial(workers.train, tmp_path), RECIPES, "processes", workers=2, progress=done.append)
    assert names == [recipe.run_id for recipe in RECIPES] and done == [1, 2, 3]
    assert hashes(tmp_path, RECIPES) == serial


def test_dask_gives_the_same_hashes_even_if_a_worker_is_lost(serial, tmp_path, cluster):
    assert width(cluster) == 2
    names = map_runs(partial(workers.train, tmp_path / "whole"), RECIPES, cluster)
    assert names == [recipe.run_id for recipe in RECIPES]
    assert hashes(tmp_path / "whole", RECIPES) == serial
    lost = tmp_path / "lost"
    lost.mkdir()
    map_runs(partial(workers.lose_worker_once, lost, 20), RECIPES[:1], cluster)
    assert hashes(lost, RECIPES[:1]) == {RECIPES[0].run_id: serial[RECIPES[0].run_id]}
    check_one_interval_was_lost(lost, RECIPES[:1], 20)


def test_dask_computes_experiments(tmp_path, cluster):
    throws = Experiment(name="longest", version=1, function=longest, params=Throws(), seeds=(0, 1, 2))
    compute_all(RunStore(tmp_path, None), [throws], cluster, Durations(tmp_path / "durations.json", tmp_path / "none"))
    for one in throws.by_seed:
        assert table_sha256(RunStore(tmp_path, None).find(one).table(TABLE)) == table_sha256(one.compute())


def test_a_lost_pool_worker_costs_one_checkpoint_interval(serial, tmp_path):
    map_runs(partial(workers.lose_worker_once, tmp_path, 20), RECIPES[:2], "processes", workers=2)
    found = hashes(tmp_path, RECIPES[:2])
    assert found == {name: serial[name] for name in found}
    for recipe in RECIPES[:2]:
        steps = steps_of(tmp_path, recipe.init_seed)
        # The other worker is stopped with the pool wherever it is: count repeats, not where they begin.
        repeated = len(steps) - recipe.n_steps
        assert sorted(set(steps)) == list(range(1, recipe.n_steps + 1)) and repeated <= 2 * 12


def test_a_run_that_always_loses_its_worker_is_given_up_alone(serial, tmp_path):
    with pytest.raises(ExecutorError, match="lost 3 times in a row") as caught:
        map_runs(partial(workers.lose_worker_always, tmp_path), RECIPES[:2], "processes", workers=2)
    assert set(caught.value.failures) <= {recipe.run_id for recipe in RECIPES[:2]}
    assert RECIPES[1].run_id in caught.value.failures


@pytest.mark.parametrize("executor", ["serial", "processes"])
def test_a_failed_run_lets_the_others_finish(executor, serial, tmp_path):
    with pytest.raises(ExecutorError) as caught:
        map_runs(partial(workers.refuse_seed_1, tmp_path), RECIPES, executor, workers=2)
    assert list(caught.value.failures) == [RECIPES[1].run_id]
    assert "1 of 3 runs failed" in str(caught.value) and "ValueError: seed 1 is refused" in str(caught.value)
    finished = [RECIPES[0], RECIPES[2]]
    assert hashes(tmp_path, finished) == {recipe.run_id: serial[recipe.run_id] for recipe in finished}


def test_a_function_may_be_named(tmp_path):
    assert map_runs("circuitcore.training.recipe:Recipe.to_json", RECIPES, "serial") == [r.to_json() for r in RECIPES]


def test_an_executor_that_does_not_exist_is_named(monkeypatch):
    monkeypatch.setattr("circuitcore.training.sweeps.executor.CONNECT_SECONDS", 1)
    with pytest.raises(ExecutorError, match="did you mean 'processes'"):
        map_runs("x:y", RECIPES, "proceses")
    with pytest.raises(ExecutorError, match="no Dask scheduler answers at tcp://127.0.0.1:9"):
        map_runs("x:y", RECIPES, "tcp://127.0.0.1:9")
    with pytest.raises(ExecutorError, match="did you mean 'cuda:1'"):
        map_runs("x:y", RECIPES, "cuda:first")
    with pytest.raises(ExecutorError, match="workers = 0"):
        map_runs("x:y", RECIPES, "processes", workers=0)


def test_dask_is_asked_for_by_name_when_it_is_missing(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "distributed", None)
    with pytest.raises(ExecutorError, match=r"pip install 'circuitcore\[cluster\]'"):
        map_runs("x:y", RECIPES, "tcp://127.0.0.1:9")


def test_how_wide_an_executor_is():
    assert width("serial", 5) == 1 and width("processes", 7) == 7 and width("processes") >= 1
    assert width("cuda:1", 3) == 3 and width("cuda") == width("processes")


def test_what_needs_no_gpu_is_done_by_processes():
    """A store trained on a GPU is measured with the same word on the command line."""
    assert map_runs("toy.workers:process_of", RECIPES[:2], "cuda", workers=2).count(os.getpid()) == 0


def test_workers_of_several_threads_are_refused_before_anything_is_trained(monkeypatch):
    client = SimpleNamespace(nthreads=lambda: {"tcp://127.0.0.1:1": 1, "tcp://127.0.0.1:2": 2})
    monkeypatch.setattr(executor, "_client", lambda address: nullcontext(client))
    with pytest.raises(ExecutorError, match=r"has 2 threads.*--nthreads 1"):
        map_runs(print, RECIPES, "tcp://127.0.0.1:9")
