"""A form of the stage for rows of vectors: who fetches what from where, hop by hop, in trained networks.

What is shown, and what was tested of it; ``hops_widget`` puts it into a notebook or a page.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import torch

from circuitcore.ground.spelling import unknown
from circuitcore.models.transformer import Output, forward
from circuitcore.tasks.vector_task import VectorTask
from livingpaper.explorer.exhibit import NAME, ExhibitError, PathStep, refuse_fields
from livingpaper.explorer.hops_circuit import Hop, HopTest, circuit_on, followed
from livingpaper.explorer.shown_run import MOST_BESIDE, ShownRun, beside
from livingpaper.explorer.vector_form import Row, Said, VectorForm, said
from livingpaper.figures.circuit import Circuit

STATE = ("run", "step", "draw", "row", "follow", "edits")


@dataclass(frozen=True, eq=False, kw_only=True)
class HopRun:
    """A network that the reader can open.

    Attributes:
        shown: its run, condition and births.
        tests: step -> what was tested of it then; steps of which no test was made are left out.
    """

    shown: ShownRun
    tests: Mapping[int, tuple[HopTest, ...]] = field(default_factory=dict)

    def entry(self, hops: tuple[Hop, ...]) -> dict[str, Any]:
        """The run as the page knows it before its weights are loaded."""
        at = {link: i for i, hop in enumerate(hops) for link in hop.links}
        tests = {
            step: [
                {
                    "move": at[one.link],
                    "link": one.link,
                    "heads": one.heads,
                    "rise": round(one.rise, 4),
                    "other": round(one.other, 4),
                    "isSupported": one.supported,
                }
                for one in found
            ]
            for step, found in self.tests.items()
            if step in self.shown.steps
        }
        return {**self.shown.entry(), "tests": tests}


@dataclass(frozen=True, eq=False, kw_only=True)
class HopExhibit:
    """Everything the stage needs, checked when it is made.

    Attributes:
        name: id of its block in the page, ``explorer-...``.
        task: whose rows are shown; the first test row is the one it opens on.
        form: of its rows.
        hops: kinds of links, in the order in which they are numbered.
        runs: in the order of the menus.
        path: stops, their states of ``STATE``; the first is what a reader sees before touching anything.
        told: claim -> its verdict in words; a claim of the path that has none is not spoken of.

    Raises:
        ExhibitError: a name that cannot be used, nothing to show, a test of a link that is no hop, a state that cannot
            be.
    """

    name: str
    task: VectorTask
    form: VectorForm
    hops: tuple[Hop, ...]
    runs: tuple[HopRun, ...]
    path: tuple[PathStep, ...] = ()
    told: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self):
        if not NAME.fullmatch(self.name):
            raise ExhibitError(f"an explorer's name is 'explorer-' and lower-case words with dashes; got {self.name!r}")
        if not self.runs:
            raise ExhibitError(f"{self.name}: needs a run")
        known = {link for hop in self.hops for link in hop.links}
        for one in self.runs:
            if not one.shown.run.steps:
                raise ExhibitError(f"{self.name}: the weights of run {one.shown.run.run_id} are not here")
            for test in (test for found in one.tests.values() for test in found):
                if test.link not in known:
                    raise ExhibitError(f"{self.name}: a test of {' to '.join(test.link)}, which is no hop")
        names = {hop.name for hop in self.hops}
        for stop in self.path:
            if wrong := sorted(set(stop.lit) - names):
                raise ExhibitError(f"{self.name}: {unknown('hop', wrong[0], names)}")
            self.check({**self.start, **stop.state})

    @cached_property
    def row(self) -> Row:
        """The row it opens on."""
        return self.form.row(self.task.split("test"), 0)

    @cached_property
    def start(self) -> dict[str, Any]:
        """The whole opening state: the first network at its last checkpoint, the first chain followed."""
        shown = self.runs[0].shown
        follow = self.row.words.index(f"{self.form.chains[0]}{self.form.blocks[-1].places[0]}", self._first_query)
        row = " ".join(self.row.words)
        return {"run": shown.run.run_id, "step": shown.steps[-1], "draw": 0, "row": row, "follow": follow, "edits": []}

    @property
    def _first_query(self) -> int:
        return len(self.row.words) - len(self.form.chains)

    @property
    def first_frame(self) -> dict[str, Any]:
        """The state at the path's first stop; without a path the opening."""
        return {**self.start, **(self.path[0].state if self.path else {})}

    def find(self, run_id: str) -> HopRun:
        """The run of that id; ExhibitError where it is not shown."""
        found = {one.shown.run.run_id: one for one in self.runs}
        if run_id not in found:
            raise ExhibitError(unknown("run", run_id, found))
        return found[run_id]

    def check(self, state: Mapping[str, Any]) -> None:
        """ExhibitError for a field, network, step, row or query that is not here."""
        refuse_fields(self.name, state, STATE)
        steps = self.find(state["run"]).shown.steps
        if state["step"] not in steps:
            there = ", ".join(map(str, steps))
            raise ExhibitError(f"{self.name}: no step {state['step']} of {state['run']} here; there are {there}")
        words, n_pos = str(state["row"]).split(), len(self.row.words)
        if len(words) != n_pos:
            raise ExhibitError(f"{self.name}: a row has {n_pos} symbols; here are {len(words)}")
        for word in words:
            if word not in self.row.vectors:
                raise ExhibitError(f"{self.name}: {unknown('symbol', word, self.row.vectors)}")
        if not self._first_query <= state["follow"] < n_pos:
            raise ExhibitError(
                f"{self.name}: position {state['follow']} asks nothing; queries stand at {self._first_query} to "
                f"{n_pos - 1}"
            )

    def says(self, run_id: str, step: int, chain: int = 0) -> list[Said]:
        """What a network says of a chain of the row it opens on."""
        return said(self.form, self.row, chain, self._read(run_id, step).logits[0, self._at(self.form.query)[chain]])

    def circuit(self, run_id: str, step: int, chain: int = 0) -> Circuit:
        """What is drawn of a network on a chain of the row it opens on, with what was tested of it at that step."""
        one, cache = self.find(run_id), self._read(run_id, step).cache
        patterns = [cache[f"pattern.{layer}"][0] for layer in range(one.shown.run.recipe.model.n_layers)]
        roles = {role: self._at(role) for block in self.form.blocks for role in block.roles}
        drawn = circuit_on(
            followed(self.form, self.row.words, roles, chain), one.tests.get(step, ()), self.hops, patterns,
            self.says(run_id, step, chain)[-1],
        )  # fmt: skip
        seed = one.shown.run.recipe.init_seed
        return replace(drawn, name=f"{one.shown.condition}, seed {seed}, step {step:,}")

    def beside(self, run_id: str, step: int, chain: int = 0) -> tuple[Circuit, ...]:
        """The same row in the condition's first networks by seed."""
        shown = [one.shown for one in self.runs]
        return tuple(
            replace(self.circuit(one.run.run_id, near, chain), name=name)
            for one, near, name in beside(shown, self.find(run_id).shown, step)
        )

    def _at(self, role: str) -> list[int]:
        """Where a role stands on the row it opens on, chain by chain."""
        return self.task.split("test").roles[role][0].tolist()

    @cached_property
    def _read(self) -> Callable[[str, int], Output]:
        """What a network makes of the row it opens on; of the last few networks, once."""

        def read(run_id: str, step: int) -> Output:
            run, batch = self.find(run_id).shown.run, self.task.split("test").rows(slice(0, 1))
            sites = [f"pattern.{layer}" for layer in range(run.recipe.model.n_layers)]
            with torch.no_grad():
                return forward(run.recipe.model, run.weights(step), batch.tokens, record=sites)

        return lru_cache(maxsize=2 * MOST_BESIDE)(read)

    def verdicts(self, stop: PathStep) -> list[str]:
        """What a stop tells of claims."""
        return [self.told[claim] for claim in stop.claims if claim in self.told]

    def payload(self) -> dict[str, Any]:
        """What the page gets before any weights, as JSON literals."""
        return {
            "name": self.name,
            "form": self.form.payload(self.task.split("test"), 0),
            "moves": [{"name": hop.name, "does": hop.does} for hop in self.hops],
            "runs": [one.entry(self.hops) for one in self.runs],
            "opening": self.start,
            "path": [stop.entry(self.verdicts(stop)) for stop in self.path],
        }
