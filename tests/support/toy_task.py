"""A whole study from outside the package: does a one-layer network learn to recall the first word of a row?"""

import itertools
from dataclasses import dataclass

import torch
from pydantic import BaseModel

from circuitcore.metrics.instruments.standard import BatterySpec, standard
from circuitcore.models import ModelConfig
from circuitcore.tasks import Batch, TokenTask
from circuitcore.training import Optimizer, Recipe, Stage
from livingpaper.claims.claim import Claim, Control, Says
from livingpaper.claims.reading import Reading, at_end, at_start
from livingpaper.claims.units import PROMPTS, at_least, at_most
from livingpaper.claims.view import View


@dataclass(frozen=True, kw_only=True)
class FirstWord(TokenTask):
    """`c a d e ?` -> `c`. The four words of a row differ; the splits share out all 360 rows."""

    name, vocab, max_length = "first_word", (*"?abcdef",), 5
    splits, answers, chance = ("train", "test"), (1, 2, 3, 4, 5, 6), {"train": 1 / 4, "test": 1 / 4}

    def make_splits(self):
        words = torch.tensor(list(itertools.permutations(self.answers, 4)))
        words = words[torch.randperm(len(words), generator=torch.Generator().manual_seed(0))]
        rows = torch.nn.functional.pad(words, (0, 1))  # "?" is token 0; it is last, and after it comes the first
        return {"train": self.ask(rows[:300]), "test": self.ask(rows[300:])}

    def ask(self, rows):
        return Batch(tokens=rows, targets=rows.roll(-1, 1), loss_mask=rows == 0, roles={"read_out": rows.argmin(1)})


class Params(BaseModel, frozen=True, extra="forbid", strict=True):
    seeds: tuple[int, ...]


def recipes(params):
    model = ModelConfig(d_vocab=7, n_ctx=5, n_layers=1, d_model=32, d_mlp=64, positions="learned")
    common = {"task": f"{__name__}:FirstWord", "task_params": {}, "model": model, "optimizer": Optimizer(lr=0.01)}
    common |= {"batch_size": 50, "stages": (Stage(("train",), 12),), "checkpoint_epochs": (0, 4, 12), "data_seed": 0}
    return {"trained": tuple(Recipe(**common, init_seed=seed) for seed in params.seeds)}


def instruments(params, arm):
    return standard(BatterySpec(n_bases=60))


def learning(results):
    return View(results.curve("accuracy").rename(columns={"split": "series"}), "accuracy", "train, test", chance=1 / 4)


SAYS = Says(holds="First words are recalled.", fails="They are forgotten.", whether="whether first words are recalled")
UNTRAINED = Reading("test accuracy of untrained networks", PROMPTS, at_start("accuracy", "trained", split="test"))
GUESSED = Control(reading=UNTRAINED, bound=at_most(0.5, "a guess scores 1/4"))
RECALLED = Reading("test accuracy", PROMPTS, at_end("accuracy", "trained", split="test"))
CLAIMS = (Claim(id="T1", says=SAYS, reading=RECALLED, bound=at_least(0.9, "nearly always"), controls=(GUESSED,)),)
VIEWS = {"learning": learning}
