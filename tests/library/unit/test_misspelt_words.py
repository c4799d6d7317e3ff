"""Words and numbers of the wrong kind, as a reader gives them: types are checked in tests alone, so in a process apart.

Before they were looked at, each of these was taken for another one, and a number came out.
"""

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
FIRST = """
import json, sys
from functools import partial
import numpy as np, pandas as pd, torch
from circuitcore.models import Ablate, Head, ModelConfig, compile_edits
from circuitcore.training import Optimizer, Recipe, Stage
from circuitcore.emergence import *
from circuitcore.emergence.agreement import agreement
from circuitcore.emergence.matching import match_heads
heads = np.array([[0.9, 0.1], [0.1, 0.8]])
profiles = pd.DataFrame({"arm": "a", "init_seed": [0, 0, 1, 1], "metric": "m", "layer": 0, "head": [0, 1] * 2})
profiles = pd.concat([profiles.assign(value=[1, 2, 3, 4]), profiles.assign(metric="n", value=[4, 2, 3, 4])])
roles = {"read_out": torch.tensor([1, 1])}
clean = {"z.0": torch.zeros(2, 3, 2, 4)}
model = ModelConfig(d_vocab=20, n_ctx=30, d_model=8)
recipe = partial(Recipe, task="symbolic_kv", task_params={}, model=model, optimizer=Optimizer(name="adam", lr=1e-3))
recipe = partial(recipe, batch_size=8, stages=(Stage(("train",), 1),), init_seed=0, data_seed=0, checkpoint_epochs=(1,))
subsets = pd.DataFrame({"site": ["none", "L0H0"], "value": [0.0, 1.0]})
"""
REFUSED = {
    "match_heads(heads, heads, [0, 0], 'corelation')": "unknown measure 'corelation'; did you mean 'correlation'",
    "match_heads(heads, heads, [0, 0], 'Cosine')": "unknown measure 'Cosine'; did you mean 'cosine'",
    "agreement(profiles, similarity='pearson')": "unknown similarity 'pearson'; known: correlation, cosine",
    "what_n_can_show(5, 'unpared')": "unknown design 'unpared'; did you mean 'unpaired'",
    "seeds_needed(0.05, 'Unpaired')": "unknown design 'Unpaired'; did you mean 'unpaired'",
    "subset_scores(subsets, 'keep')": "unknown way of listing 'keep'; did you mean 'kept'",
    "shortest_wait(0, 3, 1000, level=95)": "confidence level must lie between 0 and 1; got 95",
    "compile_edits([[Ablate(Head(0, 1), 'zer0')]], roles, {}, clean)": (
        "zer0(L0H1)@all: unknown way of ablating 'zer0'; did you mean 'zero'"
    ),
    "recipe(engine='ntive').run_id": "unknown engine 'ntive'; did you mean 'native'",
    "share_interval(2.5, 5)": "share_interval counts whole seeds; got 2.5 of 5",
    "share_interval(2, 5.7)": "share_interval counts whole seeds; got 2 of 5.7",
    "BirthRule(threshold='0.9')": "thresholds must be finite numbers; got '0.9' and 0.75",
    "BirthRule(threshold=0.9, gate_threshold=None)": "thresholds must be finite numbers; got 0.9 and None",
    "BirthRule(threshold=0.9, persistence=1.5)": "persistence counts checkpoints and is at least 1; got 1.5",
}
LAST = """
def said(call):
    try:
        return f"gave {eval(call)}"
    except ValueError as error:
        return str(error)
print(json.dumps([said(call) for call in json.load(sys.stdin)]))
"""


@pytest.fixture(scope="module")
def said():
    asked = [sys.executable, "-c", FIRST + LAST]
    done = subprocess.run(asked, input=json.dumps([*REFUSED]), cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return dict(zip(REFUSED, json.loads(done.stdout), strict=True))


@pytest.mark.parametrize("call", REFUSED)
def test_it_is_refused_by_its_name(said, call):
    assert REFUSED[call] in said[call]
