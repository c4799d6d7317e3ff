"""A recipe is one value with one text and one hash; every field that cannot be used is refused by name."""

import dataclasses
import json
import multiprocessing.reduction
from pathlib import Path

import pytest
import torch
from packed_index import published_lines

from circuitcore.models import ModelConfig
from circuitcore.tasks import make_task
from circuitcore.training import Optimizer, Recipe, RecipeError, Schedule, Stage

N_TOKENS = len(make_task("symbolic_kv", {}).vocab)
PUBLISHED = Path(__file__).parents[3] / "published"


def recipe(**changes) -> Recipe:
    fields = {
        "task": "symbolic_kv",
        "task_params": {},
        "model": ModelConfig(d_vocab=N_TOKENS, n_ctx=16),
        "optimizer": Optimizer(lr=1e-3),
        "batch_size": 64,
        "stages": (Stage(("train",), 3),),
        "init_seed": 1,
        "data_seed": 2,
        "checkpoint_epochs": (0, 1, 3),
    }
    return Recipe(**fields | changes)


def test_text_and_back_is_the_same_value():
    original = recipe(optimizer=Optimizer(name="adamw", lr=1e-3, weight_decay=0.1, clip_norm=1.0))
    back = Recipe.from_json(original.to_json())
    assert back == original and hash(back) == hash(original) and back.to_json() == original.to_json()
    assert back.run_id == f"symbolic_kv-{original.sha256[:12]}"
    assert dataclasses.replace(original, init_seed=1) == original


def fresh_recipe(*stages, **changes):
    """A recipe of a task that can draw."""
    model = ModelConfig(d_vocab=6, n_ctx=9)
    last = (sum(stage.epochs for stage in stages),)
    fields = {"task": "permutation_recall", "model": model, "stages": stages, "checkpoint_epochs": last}
    return recipe(**fields | changes)


def test_fresh_rows_are_in_the_text_and_come_back():
    original = fresh_recipe(Stage(("train",), 1), Stage(("train",), 2, 500))
    stages = json.loads(original.to_json())["stages"]
    assert stages == [{"epochs": 1, "splits": ["train"]}, {"epochs": 2, "fresh": 500, "splits": ["train"]}]
    back = Recipe.from_json(original.to_json())
    assert back == original and back.stages == original.stages and back.stages[1].fresh == 500


def test_fresh_rows_reach_the_hash_and_none_of_them_does_not():
    stored, fresh, more = (fresh_recipe(Stage(("train",), 2, n)).sha256 for n in (0, 500, 501))
    assert len({stored, fresh, more}) == 3
    text = fresh_recipe(Stage(("train",), 2)).to_json()
    assert "fresh" not in text and "norm_eps" not in text
    with_zero = json.loads(text)
    with_zero["stages"][0]["fresh"] = 0
    assert Recipe.from_json(json.dumps(with_zero)).to_json() == text


@pytest.mark.parametrize(
    "task", ["chain_retrieval", "permutation_recall", "planted_repeats", "story", "symbolic_kv", "textual_kv"]
)
def test_published_runs_keep_their_names(task):
    """A run is named by the text of its recipe: a field that is younger than the run must not show in it."""
    lines = [json.loads(line) for line in published_lines(PUBLISHED)]
    lines = [line for line in lines if line["recipe"].get("task") == task]  # an experiment has none
    assert lines
    for line in (lines[0], lines[-1]):
        text = json.dumps(line["recipe"], sort_keys=True, separators=(",", ":"))
        read = Recipe.from_json(text)
        assert read.to_json() == text and read.run_id == line["run_id"]


def test_the_second_model_of_permutation_recall_keeps_its_name():
    """As the first such run was trained: with fresh rows, an initialisation and a norm of its own."""
    golden = Recipe(
        task="permutation_recall", task_params={}, optimizer=Optimizer(lr=0.001), batch_size=256,
        model=ModelConfig(
            d_vocab=6, n_ctx=9, n_layers=1, n_heads=2, d_model=32, d_mlp=64, norm="layer", norm_position="post",
            positions="learned", mlp="relu", init="encoder", tied=False, bias="all", norm_eps=1e-5,
        ),
        stages=(Stage(("train",), 120, 100_000),), init_seed=1, data_seed=10_001, engine="native",
        checkpoint_epochs=(*range(17), *range(18, 41, 2), *range(45, 61, 5), *range(70, 121, 10)),
    )  # fmt: skip
    assert golden.run_id == "permutation_recall-53ad0cd9e227", "its text has changed: every such run lost its name"


def test_it_survives_the_way_to_another_process():
    original = recipe()
    sent = multiprocessing.reduction.ForkingPickler.dumps(original)
    assert multiprocessing.reduction.ForkingPickler.loads(sent) == original


def test_it_cannot_be_changed_once_made():
    with pytest.raises(dataclasses.FrozenInstanceError):
        recipe().batch_size = 3
    with pytest.raises(TypeError):
        recipe().task_params["n_pairs"] = 5


def test_defaults_are_part_of_the_text():
    task_params = make_task("symbolic_kv", {}).params
    assert recipe(task_params=task_params) == recipe(task_params={})
    assert json.loads(recipe().to_json())["task_params"] == json.loads(json.dumps(task_params))


@pytest.mark.parametrize(
    "change",
    [
        {"optimizer": Optimizer(lr=2e-3)},
        {"model": ModelConfig(d_vocab=N_TOKENS, n_ctx=16, d_mlp=64)},
        {"batch_size": 32},
        {"stages": (Stage(("train",), 1), Stage(("train",), 2))},
        {"init_seed": 2},
        {"data_seed": 1},
        {"checkpoint_epochs": (0, 3)},
        {"checkpoint_epochs": (), "checkpoint_at": (0, 7, 30)},
        {"optimizer": Optimizer(name="sgd", lr=1e-3)},
        {"optimizer": Optimizer(lr=1e-3, warmup=10)},
        {"optimizer": Optimizer(lr=1e-3, decay="cosine", decay_until=30)},
        {"optimizer": Optimizer(lr=1e-3, decay="step", decay_at=(10,), decay_factor=0.1)},
        {"model": ModelConfig(d_vocab=N_TOKENS, n_ctx=16, bias="inside")},
        {"engine_version": 2},
        {"engine": "native"},
    ],
)
def test_every_field_reaches_the_hash(change):
    assert recipe(**change).sha256 != recipe().sha256


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"batch_size": 0}, ["batch_size = 0", ">= 1"]),
        ({"init_seed": -1}, ["init_seed = -1", "0..4294967295"]),
        ({"data_seed": 2**16}, ["data_seed = 65536", "0..65535"]),
        ({"stages": ()}, ["stages = ()", "at least one"]),
        ({"stages": (Stage(("trian",), 3),)}, ["trian", "did you mean 'train'"]),
        ({"stages": (Stage((), 3),)}, ["stages.splits"]),
        ({"stages": (Stage(("train",), 0),)}, ["stages.epochs = 0"]),
        ({"stages": (Stage(("train",), 3, -1),)}, ["stages.fresh = -1", ">= 0"]),
        ({"stages": (Stage(("train",), 3, True),)}, ["stages.fresh = True", ">= 0"]),
        ({"stages": (Stage(("train",), 3, 100),)}, ["stages.fresh = 100", "0", "symbolic_kv", "draws no fresh rows"]),
        ({"checkpoint_epochs": ()}, ["checkpoint_epochs = ()", "end of training, 3"]),
        ({"checkpoint_epochs": (0, 1)}, ["checkpoint_epochs", "the last one the end of training, 3"]),
        ({"checkpoint_epochs": (1, 1, 3)}, ["increasing"]),
        ({"checkpoint_epochs": (0, 4)}, ["checkpoint_epochs"]),
        ({"checkpoint_at": (0, 30)}, ["checkpoint_epochs = (0, 1, 3)", "()", "checkpoint_at says"]),
        ({"checkpoint_epochs": (), "checkpoint_at": (0,)}, ["checkpoint_at = (0,)", "the end of training"]),
        ({"checkpoint_epochs": (), "checkpoint_at": (5, 5)}, ["checkpoint_at = (5, 5)", "increasing"]),
        ({"model": ModelConfig(d_vocab=5, n_ctx=16)}, ["model.d_vocab = 5", str(N_TOKENS)]),
        ({"model": ModelConfig(d_vocab=N_TOKENS, n_ctx=8)}, ["model.n_ctx = 8"]),
        ({"task": "symbolik_kv"}, ["symbolik_kv", "symbolic_kv"]),
        ({"task_params": {"n_pear": 3}}, ["n_pear"]),
    ],
)
def test_a_field_that_cannot_be_used_is_named(change, words):
    with pytest.raises(ValueError) as caught:
        recipe(**change)
    for word in words:
        assert word in str(caught.value)


def test_fresh_rows_of_two_splits_are_refused():
    with pytest.raises(RecipeError, match=r"stages.splits = \('train', 'test'\).*one split"):
        fresh_recipe(Stage(("train", "test"), 1, 100))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"lr": 0.0}, ["optimizer.lr = 0.0", "> 0"]),
        ({"lr": float("nan")}, ["optimizer.lr = nan"]),
        ({"lr": 1e-3, "betas": (0.9, 1.0)}, ["optimizer.betas", "[0, 1)"]),
        ({"lr": 1e-3, "clip_norm": 0.0}, ["optimizer.clip_norm", "or None"]),
        ({"lr": 1e-3, "weight_decay": -0.1}, ["optimizer.weight_decay"]),
        ({"lr": 1e-3, "momentum": 0.9}, ["optimizer.momentum = 0.9", "0.0", "name = 'adam'"]),
        ({"lr": 1e-3, "name": "sgd", "momentum": 1.0}, ["optimizer.momentum = 1.0", "[0, 1)"]),
        ({"lr": 1e-3, "name": "sgd", "betas": (0.9, 0.95)}, ["optimizer.betas", "(0.9, 0.999)", "name = 'sgd'"]),
        ({"lr": 1e-3, "name": "sgd", "eps": 1e-6}, ["optimizer.eps", "1e-08", "name = 'sgd'"]),
        ({"lr": 1e-3, "warmup": -1}, ["optimizer.warmup = -1", ">= 0"]),
        ({"lr": 1e-3, "decay_until": 9}, ["optimizer.decay_until = 9", "0", "decay = 'none'"]),
        ({"lr": 1e-3, "decay": "cosine"}, ["optimizer.decay_until = 0", "> decay_from = 0"]),
        ({"lr": 1e-3, "decay": "cosine", "decay_until": 9, "final_lr": 1.0}, ["optimizer.final_lr", "0.001"]),
        ({"lr": 1e-3, "decay": "step", "decay_factor": 0.1}, ["optimizer.decay_at = ()", "decay = 'step'"]),
        ({"lr": 1e-3, "decay": "step", "decay_at": (9, 5), "decay_factor": 0.1}, ["optimizer.decay_at", "increasing"]),
        ({"lr": 1e-3, "decay": "step", "decay_at": (9,)}, ["optimizer.decay_factor = 1.0", "(0, 1)"]),
        ({"lr": 1e-3, "decay": "none", "decay_factor": 0.5}, ["optimizer.decay_factor = 0.5", "decay = 'none'"]),
    ],
)
def test_an_optimizer_that_cannot_be_used_is_refused(change, words):
    with pytest.raises(RecipeError) as caught:
        Optimizer(**change)
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        (("colour",), "red", ["recipe", "'colour'"]),
        (("batch_sise",), 3, ["did you mean 'batch_size'"]),
        (("optimizer", "learning_rate"), 3.0, ["recipe.optimizer", "learning_rate"]),
        (("model", "d_modle"), 3, ["d_modle", "d_model"]),
        (("stages",), {"splits": []}, ["stages"]),
        (("stages", 0, "frehs"), 3, ["recipe.stages", "did you mean 'fresh'"]),
        (("stages", 0, "fresh"), -2, ["stages.fresh = -2", ">= 0"]),
    ],
)
def test_text_with_an_unknown_or_wrong_key_is_refused(path, value, words):
    fields = json.loads(recipe().to_json())
    inside = fields
    for key in path[:-1]:
        inside = inside[key]
    inside[path[-1]] = value
    with pytest.raises(ValueError) as caught:
        Recipe.from_json(json.dumps(fields))
    for word in words:
        assert word in str(caught.value)


def test_text_that_lacks_a_key_or_is_no_json_is_refused():
    fields = json.loads(recipe().to_json())
    del fields["data_seed"]
    with pytest.raises(RecipeError, match="lacks data_seed"):
        Recipe.from_json(json.dumps(fields))
    with pytest.raises(RecipeError, match="no JSON"):
        Recipe.from_json("lr: 3")
    with pytest.raises(RecipeError, match="must be a JSON object"):
        Recipe.from_json("[]")


def test_steps_are_counted_with_the_short_last_batch():
    rows = len(make_task("symbolic_kv", {}).split("train"))
    per_epoch = -(-rows // 64)
    assert rows % 64, "this test wants a last batch that is short"
    assert recipe().n_steps == 3 * per_epoch
    assert recipe().checkpoint_steps == (0, per_epoch, 3 * per_epoch)


def test_training_may_end_inside_the_last_epoch_alone():
    per_epoch = recipe().n_steps // 3
    inside = recipe(checkpoint_epochs=(), checkpoint_at=(0, 7, 2 * per_epoch + 1))
    assert inside.n_steps == 2 * per_epoch + 1 and inside.checkpoint_steps == inside.checkpoint_at
    assert inside.n_checkpoints == 3 and Recipe.from_json(inside.to_json()) == inside
    assert inside.schedule.epoch_ends == (0, per_epoch, 2 * per_epoch, 2 * per_epoch + 1)
    for end in (2 * per_epoch, 3 * per_epoch + 1):
        allowed = f"step {end}; allowed: a step of the last epoch, {2 * per_epoch + 1} to {3 * per_epoch}"
        with pytest.raises(RecipeError, match=allowed):
            assert recipe(checkpoint_epochs=(), checkpoint_at=(end,)).n_steps


class TestSchedule:
    def schedule(self, **changes) -> Schedule:
        return recipe(**{"stages": (Stage(("train", "ood"), 2), Stage(("val",), 1))} | changes).schedule

    def test_an_epoch_holds_every_row_once_and_never_mixes_lengths(self):
        schedule, task = self.schedule(), make_task("symbolic_kv", {})
        batches = list(schedule.epoch(1))
        assert max(map(len, batches)) == 64
        seen = sorted(tuple(row) for batch in batches for row in batch.tokens.tolist())
        wanted = [task.split(name).tokens.tolist() for name in ("train", "ood")]
        assert seen == sorted(tuple(row) for rows in wanted for row in rows)
        lengths = [batch.tokens.shape[1] for batch in batches]
        assert lengths != sorted(lengths), "batches of both lengths should be shuffled together"

    def test_rows_keep_their_targets_and_masks(self):
        split = make_task("symbolic_kv", {}).split("val")
        by_row = {tuple(row): i for i, row in enumerate(split.tokens.tolist())}
        for batch in self.schedule().epoch(2):
            at = [by_row[tuple(row)] for row in batch.tokens.tolist()]
            assert torch.equal(batch.targets, split.targets[at])
            assert torch.equal(batch.loss_mask, split.loss_mask[at])

    def test_order_is_a_function_of_seed_and_epoch_alone(self):
        first, again = self.schedule(), self.schedule()
        for ours, theirs in zip(first.epoch(1), again.epoch(1), strict=True):
            assert torch.equal(ours.tokens, theirs.tokens)

    @pytest.mark.parametrize("fresh", [0, 500])
    def test_batches_begin_and_end_inside_an_epoch(self, fresh):
        asked = {"checkpoint_epochs": (), "batch_size": 64}
        if fresh:
            whole = fresh_recipe(Stage(("train",), 4, fresh), **asked, checkpoint_at=(27,)).schedule
        else:
            stages = (Stage(("train", "ood"), 2), Stage(("val",), 1))
            ends = recipe(stages=stages).schedule.epoch_ends
            whole = recipe(stages=stages, **asked, checkpoint_at=(ends[2] + 1,)).schedule
        each = [rows for epoch in range(whole.n_epochs) for rows in whole.epoch(epoch)][: whole.n_steps]
        for start in (0, 1, whole.epoch_ends[1], whole.epoch_ends[1] + 1, whole.n_steps - 1, whole.n_steps):
            left = list(whole.batches(start))
            assert len(left) == whole.n_steps - start
            for ours, theirs in zip(left, each[start:], strict=True):
                assert torch.equal(ours.tokens, theirs.tokens) and torch.equal(ours.targets, theirs.targets)

    def test_no_two_seeds_share_a_shuffle(self):
        """seed + epoch, a common choice, gives epoch 1 of seed 2 the order of epoch 2 of seed 1."""
        orders = {
            (seed, epoch): next(self.schedule(data_seed=seed, stages=(Stage(("train",), 3),)).epoch(epoch)).tokens
            for seed in (0, 1, 2, 65535)
            for epoch in (0, 1, 2)
        }
        distinct = {tuple(tokens.flatten().tolist()) for tokens in orders.values()}
        assert len(distinct) == len(orders)

    def test_there_is_no_epoch_after_the_last(self):
        with pytest.raises(IndexError):
            self.schedule().epoch(3)
