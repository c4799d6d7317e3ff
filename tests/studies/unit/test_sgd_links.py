"""Tests of a look-up's moves: against passes made row by row, and on networks without the move."""

import pytest
import torch

from circuitcore.ground.environment import Folders
from circuitcore.models import forward
from circuitcore.models.edit_text import parse_edit
from circuitcore.tasks.balanced_stream import BalancedStream
from circuitcore.training import RunStore
from livingpaper.explorer.probe import edited_pass
from retrieval_circuits.sgd_formation.measures import SIZES, links
from retrieval_circuits.sgd_formation.measures import asked as asking

TASK = BalancedStream(**SIZES, n_train=1500, n_eval=1500)
N_ROWS = 6


@pytest.fixture(scope="module")
def network():
    """The config of the network that the chapter draws, and its weights at the end."""
    run = RunStore(Folders.from_environment().published, None).get("balanced_stream-949aa3df1f58")
    return run.recipe.model, run.weights(5000)


class _Run:
    """As much of a run as is measured."""

    def __init__(self, config, weights):
        model = type("Recipe", (), {"model": config, "make_task": staticmethod(lambda: TASK)})
        self.recipe, self.run_id, self.all_steps, self.final_step = model, "a run", (0, 50, 100), 100
        self._weights = weights

    def stack(self, steps):
        return {name: torch.stack([value] * len(steps)) for name, value in self._weights.items()}

    def tokens_seen(self, step):
        return step


@pytest.mark.parametrize("later", [0, 1])
def test_every_test_is_the_same_made_row_by_row(network, later):
    config, weights = network
    run = _Run(config, weights)
    settings = links.Linked(n_rows=N_ROWS, steps=(50, 70), layers_later=later)
    table = links.link_tests(run, settings, lambda done: None)
    assert sorted(table["step"].unique()) == [50, 100]
    table = table[table["step"] == 50].set_index(["metric", "variable", "site"])["value"]
    plain, other = asking.asked(TASK, "test", N_ROWS).batch, asking.swapped(TASK, "test", N_ROWS)
    n_pos = TASK.max_length
    given = {}
    for number, base in enumerate(other.batch.base.tolist()):
        row, at = plain.tokens[base][None], int(other.at[number])
        answer = int(other.before[number])
        assert int(row[0, at + 1]) == answer  # the stream shows it behind the read
        absent = {int(t) for t in range(TASK.words.first_value, len(TASK.vocab))} - set(row[0].tolist())
        value = int(links._streams(TASK, N_ROWS)[2]["copies"][number])
        assert value in absent
        shown = [place for place in range(at) if int(row[0, place]) == answer]
        changed = torch.where(row == answer, value, row)
        sources = {
            name: edited_pass(config, weights, rows, [], {}).cache
            for name, rows in {"q": other.batch.tokens[number][None], "v": changed}.items()
        }

        def says(texts, source="q", row=row, at=at, sources=sources):
            edits = [parse_edit(text) for text in texts]
            return int(edited_pass(config, weights, row, edits, {"source": sources[source]}).logits[0, at].argmax())

        words = {"finds": int(other.now[number]), "copies": value}
        clean = says([])
        given.setdefault(("right", "joins", "none"), []).append(clean == answer)
        for move, word in words.items():
            given.setdefault(("moved", move, "none"), []).append(clean == word)
        for site, heads in {"H0": (0,), "H1": (1,), "H2": (2,), "H3": (3,), "H*": (0, 1, 2, 3)}.items():
            cuts = [f"cut(L{later}H{head}:{key + 1}->{key})" for head in heads for key in range(2, n_pos - 1, 3)]
            queries = [f"patch(L{1 + later}H{head}.q<-source)@{at}" for head in heads]
            values = [f"patch(L{1 + later}H{head}.v<-source)@{place}" for head in heads for place in shown]
            given.setdefault(("lost", "joins", f"L{later}{site}"), []).append(clean == answer != says(cuts))
            given.setdefault(("moved", "finds", f"L{1 + later}{site}"), []).append(says(queries) == words["finds"])
            given.setdefault(("moved", "copies", f"L{1 + later}{site}"), []).append(
                says(values, "v") == words["copies"]
            )
    expected = {name: sum(values) / len(values) for name, values in given.items()}
    assert table.to_dict() == pytest.approx(expected)
    moved = {move for (_, move, site), value in expected.items() if value > 0 and site != "none"}
    assert moved == {"joins", "finds", "copies"} or later


def test_positions_stand_again_where_a_row_has_fewer():
    which = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 0]]).bool()
    assert asking.positions(which).tolist() == [[1, 3], [2, 2]]


def test_a_network_that_sees_no_word_before_the_read_moves_nothing(network):
    config, weights = network
    blind = dict(weights) | {name: torch.zeros_like(value) for name, value in weights.items() if name.endswith("W_O")}
    plain, others, _, _ = links._streams(TASK, N_ROWS)
    assert torch.equal(*(forward(config, blind, rows.tokens).logits[:, 0] for rows in (plain, others["copies"])))
    table = links.link_tests(_Run(config, blind), links.Linked(n_rows=N_ROWS, steps=()), lambda done: None)
    clean = table[table["site"] == "none"].set_index("variable")["value"]
    assert (table[table["metric"] == "lost"]["value"] == 0).all()
    for move in ("finds", "copies"):
        own = table[(table["variable"] == move) & (table["metric"] == "moved")]["value"]
        assert (own == clean[move]).all()
