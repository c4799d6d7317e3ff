"""What a page gets: weights as text, and a form in which a reader is asked, its opening readable without a script."""

import base64
import html
import json
import re
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from circuitcore.tasks.permutation import PermutationRecall
from circuitcore.training.store.run import Run
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import Example, Exhibit
from livingpaper.explorer.explorer_still import still_html
from livingpaper.explorer.reveal import FormError, Reveal
from livingpaper.explorer.reveal_still import said_of, share
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.weights import in_script, packed
from livingpaper.explorer.widget import block_of, panels, panels_of

TASK = {
    "d_vocab": 6, "n_ctx": 9, "n_layers": 1, "n_heads": 2, "d_model": 32, "d_mlp": 64, "norm": "layer",
    "norm_position": "post", "positions": "learned", "mlp": "relu", "tied": False, "bias": "all",
}  # fmt: skip
CONFIG = ModelConfig(**TASK, norm_eps=1e-5)
PERMUTATION, ORDER = (4, 1, 3, 5, 2), (1, 3, 5, 2, 1)


def form(permutation=PERMUTATION, order=ORDER, repeats=0.3, rounds=5):
    return Reveal(permutation=permutation, order=order, repeats=repeats, rounds=rounds)


def network(run_id="one", config=CONFIG, epochs=(1, 50), seed=0):
    """A run that was never trained, at the ends of some epochs of ten steps."""
    recipe = SimpleNamespace(
        model=config,
        schedule=SimpleNamespace(epoch_ends=tuple(range(0, 10 * max(epochs) + 1, 10)), stages=()),
        init_seed=seed,
        make_task=PermutationRecall,
    )
    steps = [10 * epoch for epoch in epochs]
    made = {"run_id": run_id, "steps": steps, "final_step": steps[-1], "recipe": recipe}
    weights = {"weights": lambda self, step: init_weights(config, step // 10 + seed)}
    return object.__new__(type("MadeRun", (Run,), {**made, **weights}))


def game(given=None, runs=None, name="game-recall", prompt=None, task=None):
    """An exhibit with a form."""
    given, runs = given or form(), runs or [network()]
    shown = tuple(ShownRun(run=run, condition=f"d 32, <{run.run_id}>") for run in runs)
    examples = (Example(label="the opening", prompt=prompt or given.prompt),)
    return Exhibit(name=name, task=task or PermutationRecall(), shown=shown, examples=examples, form=given)


def test_every_number_is_there_in_the_order_named():
    weights = init_weights(CONFIG, 0)
    model = packed(CONFIG, {7: weights})
    numbers = np.frombuffer(base64.b64decode(model["checkpoints"][0]["data"]), "<f4")
    for name, shape in model["tensors"]:
        part, numbers = numbers[: np.prod(shape)], numbers[np.prod(shape) :]
        assert torch.equal(torch.tensor(part).reshape(shape), weights[name])
    assert not len(numbers)
    assert model["config"]["norm_eps"] == 1e-5  # also where a recipe leaves it out
    assert ModelConfig.from_dict(model["config"]) == CONFIG


def test_checkpoints_come_in_the_order_of_training():
    weights = init_weights(CONFIG, 0)
    assert [found["at"] for found in packed(CONFIG, {50: weights, 1: weights})["checkpoints"]] == [1, 50]


def test_weights_that_do_not_fit_are_refused():
    weights = init_weights(CONFIG, 0)
    with pytest.raises(ValueError, match="no checkpoint"):
        packed(CONFIG, {})
    with pytest.raises(ValueError, match=r"checkpoint 3: 1 tensors do not fit the config; unembed.b_U has shape None"):
        packed(CONFIG, {3: {name: tensor for name, tensor in weights.items() if name != "unembed.b_U"}})
    with pytest.raises(ValueError, match=r"embed.W_E has shape \(7, 32\), needed is \(6, 32\)"):
        packed(CONFIG, {3: {**weights, "embed.W_E": torch.zeros(7, 32)}})
    with pytest.raises(ValueError, match="size 1e.39 is not a number that float32 can hold"):
        packed(CONFIG, {3: {**weights, "unembed.b_U": torch.full((6,), 1e39, dtype=torch.float64)}})
    packed(CONFIG, {3: {**weights, "unembed.b_U": torch.full((6,), 7e4)}})


def test_no_text_ends_the_script_it_stands_in():
    said = {"label": "</script><!-- <script>"}
    assert "<" not in in_script(said)
    assert json.loads(in_script(said)) == said


def test_a_game_adds_little_to_a_page_whose_explorer_has_the_same_networks():
    """Weights are files of their own, one for each run, whoever shows it."""
    both = [network("one", epochs=(1, 2, 5, 10, 20, 50)), network("two", epochs=(1, 2, 5, 10, 20, 50), seed=1)]
    assert len(block_of(game(runs=both)).page_html.encode()) < 200_000
    bare = replace(game(runs=both), form=None, name="explorer-recall")
    assert [weights_script(shown) for shown in bare.shown] == [weights_script(shown) for shown in game(runs=both).shown]
    assert panels_of(bare) == panels() and panels_of(game()) != panels()


def test_the_page_carries_the_form():
    shown = re.search(
        r'<script type="application/json" class="explorer-data">(.*?)</script>', block_of(game()).page_html
    )
    assert json.loads(shown[1])["form"] == form().payload(PermutationRecall())
    assert json.loads(shown[1])["form"]["rules"].endswith("more often in five rounds than the network.")
    assert "form" not in replace(game(), form=None).payload()


def test_the_still_holds_the_opening_in_numbers():
    tokens = torch.tensor([[1, 4, 3, 3, 5, 2, 2, 1, 1]])
    output = forward(CONFIG, init_weights(CONFIG, 50), tokens, record=["pattern.0"])
    exhibit = game()
    reading = exhibit.reading(exhibit.first_frame)
    said, heads = output.logits[0, -1, 1:].softmax(-1).tolist(), output.cache["pattern.0"][0, :, -1].tolist()
    assert said_of(reading, 5) == pytest.approx(said)
    still = still_html(exhibit)
    for number in (*form().posterior, *said, *(p for row in heads for p in row)):
        assert f"<td>{html.escape(share(number))}" in still
    assert "Asked: x&nbsp;=&nbsp;1 again: which y?" in still
    assert "d 32, &lt;one&gt;, epoch 50" in still


def test_the_posterior_eliminates_and_recalls():
    def posterior(order):
        return form(order=order).posterior

    assert posterior((2,)) == (0.2,) * 5
    assert posterior((1, 3, 5)) == (1 / 3, 1 / 3, 0, 0, 1 / 3)
    assert posterior((1, 3, 5, 2, 4)) == (0, 0, 0, 0, 1)
    assert posterior(ORDER) == (0, 0, 0, 1, 0)


@pytest.mark.parametrize(
    ("p", "words"), [(0.0, "0.000"), (0.0004, "<0.001"), (0.25, "0.250"), (0.9996, ">0.999"), (1.0, "1.000")]
)
def test_a_share_is_never_rounded_to_none_or_all(p, words):
    assert share(p) == words


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"permutation": (1, 1, 2)}, "each of 1..V once"),
        ({"order": (1, 2, 1)}, "only the last of all 5"),
        ({"order": (1, 2, 2, 3, 4)}, "only the last of all 5"),
        ({"order": ()}, "1 to 5 of the x's"),
        ({"order": (6,)}, "1 to 5 of the x's"),
        ({"repeats": 1.1}, r"a share of rows, in \[0, 1\]; got 1.1"),
        ({"rounds": 0}, "at least 1; got 0"),
    ],
)
def test_a_form_that_cannot_be_asked_is_refused(wrong, message):
    with pytest.raises(FormError, match=message):
        form(**wrong)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"name": "A game"}, "lower-case words"),
        ({"runs": [network(), network()]}, "the same condition and seed"),
        ({"given": form(permutation=(1, 2, 3, 4, 6, 5), order=(1,))}, "pairs of a permutation of 1..6, step by step"),
        ({"task": PermutationRecall(repeat_slot=2)}, "pairs of a permutation of 1..5, step by step"),
        ({"prompt": "1 4 3"}, "the opening asks '1 4 3', the form '1 4 3 3 5 2 2 1 1'"),
        ({"runs": [network(config=ModelConfig(**{**TASK, "n_ctx": 8}))]}, "9 positions.* at most 8"),
        ({"runs": [network(config=ModelConfig(**TASK, d_in=3))]}, "reads vectors of 3 numbers"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        game(**wrong)
