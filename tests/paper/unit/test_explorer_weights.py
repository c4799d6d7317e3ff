"""What the game puts into a page: weights as text, and an opening that can be read without a script."""

import base64
import json
import re

import numpy as np
import pytest
import torch

from circuitcore.models import ModelConfig, forward, init_weights
from livingpaper.explorer.game import GameModel, payload, recall_game
from livingpaper.explorer.game_still import opening, posterior, share
from livingpaper.explorer.weights import in_script, packed, rounded

TASK = {
    "d_vocab": 6, "n_ctx": 9, "n_layers": 1, "n_heads": 2, "d_model": 32, "d_mlp": 64, "norm": "layer",
    "norm_position": "post", "positions": "learned", "mlp": "relu", "tied": False, "bias": "all",
}  # fmt: skip
CONFIG = ModelConfig(**TASK, norm_eps=1e-5)
PERMUTATION, ORDER = (4, 1, 3, 5, 2), (1, 3, 5, 2, 1)


def game_model(label="d 32", config=CONFIG, epochs=(1, 50)):
    return GameModel(label=label, config=config, checkpoints={epoch: init_weights(config, epoch) for epoch in epochs})


def game(models=None, permutation=PERMUTATION, order=ORDER, name="game-recall"):
    return recall_game(models or [game_model()], permutation=permutation, order=order, name=name)


@pytest.mark.parametrize(("dtype", "code"), [("float16", "<f2"), ("float32", "<f4")])
def test_every_number_is_there_in_the_order_named(dtype, code):
    weights = init_weights(CONFIG, 0)
    model = packed(CONFIG, {7: weights}, dtype)
    numbers = np.frombuffer(base64.b64decode(model["checkpoints"][0]["data"]), code).astype("float32")
    for name, shape in model["tensors"]:
        part, numbers = numbers[: np.prod(shape)], numbers[np.prod(shape) :]
        assert torch.equal(torch.tensor(part).reshape(shape), rounded(weights, dtype)[name])
    assert not len(numbers)
    assert model["config"]["norm_eps"] == 1e-5  # also where a recipe leaves it out
    assert ModelConfig.from_dict(model["config"]) == CONFIG


def test_checkpoints_come_in_the_order_of_training():
    weights = init_weights(CONFIG, 0)
    assert [found["at"] for found in packed(CONFIG, {50: weights, 1: weights}, "float16")["checkpoints"]] == [1, 50]


def test_weights_that_do_not_fit_are_refused():
    weights = init_weights(CONFIG, 0)
    with pytest.raises(ValueError, match="no checkpoint"):
        packed(CONFIG, {})
    with pytest.raises(ValueError, match=r"checkpoint 3: 1 tensors do not fit the config; unembed.b_U has shape None"):
        packed(CONFIG, {3: {name: tensor for name, tensor in weights.items() if name != "unembed.b_U"}})
    with pytest.raises(ValueError, match=r"embed.W_E has shape \(7, 32\), needed is \(6, 32\)"):
        packed(CONFIG, {3: {**weights, "embed.W_E": torch.zeros(7, 32)}})
    with pytest.raises(ValueError, match="70000 is not a number that float16 can hold"):
        packed(CONFIG, {3: {**weights, "unembed.b_U": torch.full((6,), 7e4)}})
    packed(CONFIG, {3: {**weights, "unembed.b_U": torch.full((6,), 7e4)}}, "float32")


def test_no_text_ends_the_script_it_stands_in():
    said = {"label": "</script><!-- <script>"}
    assert "<" not in in_script(said)
    assert json.loads(in_script(said)) == said


def test_two_models_of_six_checkpoints_stay_below_400_kb():
    epochs = (1, 2, 5, 10, 20, 50)
    both = game([game_model("one", epochs=epochs), game_model("two", epochs=epochs)])
    assert both.n_bytes == len(both.html.encode()) < 400_000


def test_the_payload_is_what_the_page_carries():
    shown = re.search(r'<script type="application/json" class="recall-game-data">(.*?)</script>', game().html)
    assert json.loads(shown[1]) == payload([game_model()], permutation=PERMUTATION, order=ORDER)


def test_the_still_holds_the_opening_in_numbers():
    found = opening(CONFIG, game_model().checkpoints, PERMUTATION, ORDER)
    tokens = torch.tensor([[1, 4, 3, 3, 5, 2, 2, 1, 1]])
    output = forward(CONFIG, rounded(init_weights(CONFIG, 50)), tokens, record=["pattern.0"])
    assert found.epoch == 50
    assert found.network == pytest.approx(output.logits[0, -1, 1:].softmax(-1).tolist())
    assert found.attention["L0H1"] == pytest.approx(output.cache["pattern.0"][0, 1, -1].tolist())
    html = game().html
    for number in (*found.posterior, *found.network, *(p for row in found.attention.values() for p in row)):
        assert f"<td>{share(number)}" in html
    assert "Asked: x&nbsp;=&nbsp;1 again: which y?" in html


def test_the_posterior_eliminates_and_recalls():
    assert posterior(PERMUTATION, (2,)) == (0.2,) * 5
    assert posterior(PERMUTATION, (1, 3, 5)) == (1 / 3, 1 / 3, 0, 0, 1 / 3)
    assert posterior(PERMUTATION, (1, 3, 5, 2, 4)) == (0, 0, 0, 0, 1)
    assert posterior(PERMUTATION, ORDER) == (0, 0, 0, 1, 0)


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
        ({"name": "A game"}, "lower-case words"),
        ({"models": [game_model(), game_model()]}, "labels of their own"),
        ({"permutation": (1, 2, 3, 4, 6, 5), "order": (1,)}, "d_vocab must be at least 7"),
        ({"models": [game_model(config=ModelConfig(**{**TASK, "n_ctx": 8}))]}, "n_ctx must be at least 9"),
        ({"models": [game_model(config=ModelConfig(**TASK, d_in=3))]}, "token inputs"),
    ],
)
def test_a_game_that_cannot_be_played_is_refused(wrong, message):
    with pytest.raises(ValueError, match=message):
        game(**wrong)
