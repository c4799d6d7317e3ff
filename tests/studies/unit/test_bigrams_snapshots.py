"""Snapshots of the three memories: the scores of the very training that the chapter's tables are of."""

import dataclasses

import pandas as pd
import pytest
import torch

from livingpaper.book import studies
from livingpaper.book.evidence import Evidence, Folders
from retrieval_circuits.bigrams_and_composition import design, explorer
from retrieval_circuits.bigrams_and_composition.explorer import filmed
from retrieval_circuits.bigrams_and_composition.measures import network, training
from retrieval_circuits.bigrams_and_composition.measures.network import K1, K2, O2
from retrieval_circuits.bigrams_and_composition.measures.snapshots import Snapshots, snapshots

NAME = "bigrams_and_composition"
TASK = training.Task(n_tokens=8, n_triggers=2, length=10, width=24, n_test=16, every=5)


def drawn(seed=0):
    return torch.Generator().manual_seed(seed)


def test_snapshots_are_the_scores_of_the_same_training():
    way = training.Way(name="two", trained=((O2, K2, K1),), steps=10)
    asked = training.Learning.of(TASK, (way,))
    table = snapshots(Snapshots(**dataclasses.asdict(TASK), ways=asked.ways), 3)
    learnt = pd.DataFrame(training.learning(asked, 3)).set_index("step")
    assert sorted(table["step"].unique()) == learnt.index.tolist() == [0, 5, 10]
    for memory in (O2, K2, K1):
        film = filmed(table, memory)
        assert film.recalled.mean(1) == pytest.approx(learnt[memory].to_numpy(), abs=1e-7)
        assert (table[table["memory"] == memory].groupby(["step", "query"])["target"].sum() == 1).all()


def test_compared_scores_are_those_of_single_products():
    frozen = network.draw_frozen(8, 10, 24, drawn())
    weights = {name: network.uniform(24, 24, drawn(n)) for n, name in enumerate((K1, K2, O2))}
    found = network.compared(frozen, weights, torch.tensor([5, 2]), torch.tensor([0, 3]))
    assert found[K1].scores[4, 7] == pytest.approx(
        (frozen.positions[5] @ weights[K1] @ frozen.positions[7]).item(), abs=1e-4
    )
    mark = frozen.remap @ frozen.tokens[6]
    assert found[K2].scores[1, 6] == pytest.approx((frozen.tokens[2] @ weights[K2] @ mark).item(), abs=1e-4)
    said = frozen.outputs[4] @ weights[O2] @ frozen.values @ frozen.tokens[3]
    assert found[O2].scores[1, 4] == pytest.approx(said.item(), abs=1e-4)
    assert [found[name].right.tolist() for name in (K2, O2)] == [[5, 2], [0, 3]]
    assert found[K1].right.tolist() == list(range(9)) and found[K1].items.tolist() == list(range(1, 10))


def test_the_film_counts_what_the_published_table_of_learning_has():
    evidence = Evidence(NAME, studies.load_params(NAME), Folders.from_environment())
    found = evidence.gather(None)
    film = explorer.film(evidence.material(found))
    rows = found[0].rows(design.LEARNING, way=design.JOINT)
    seed = studies.load_params(NAME).seeds[0]
    learnt = rows[rows["init_seed"] == seed].set_index("step").loc[list(film.steps)]
    assert len(film.steps) == 16 and film.steps[-1] == design.FULL_LEARNING
    for one in film.matrices:
        assert one.recalled.mean(1) == pytest.approx(learnt[one.label].to_numpy(), abs=1e-6)
    assert film.title.startswith("The memory that writes answers, W_O2, forms before") and f"seed {seed}," in film.note
