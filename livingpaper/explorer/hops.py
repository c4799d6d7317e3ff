"""A form of the stage for rows of vectors: who fetches what from where, hop by hop, in trained networks.

What is shown, and what was tested of it; ``hops_widget`` puts it into a notebook or a page.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import torch

from circuitcore.ground.spelling import unknown
from circuitcore.models.transformer import forward
from circuitcore.tasks.vector_task import VectorTask
from livingpaper.explorer.exhibit import NAME, ExhibitError, PathStep, ShownRun
from livingpaper.explorer.vector_form import Row, Said, VectorForm, said

STATE = ("run", "step", "draw", "row", "follow", "edits")


@dataclass(frozen=True, kw_only=True)
class Hop:
    """A kind of link: what is fetched, and between which roles of a chain.

    Attributes:
        name: one word that stands at the arrow.
        does: the same in a few words.
        links: (role that looks, role that is looked at), each within one chain.
    """

    name: str
    does: str
    links: tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class HopTest:
    """What a causal test of one network at one step found of a link.

    Attributes:
        link: (role that looks, role that is looked at).
        heads: of one layer, that look along it; tested together.
        rise: by how much the squared error rises when they cannot look there.
        other: by how much where the same number of looks, at another chain, is taken away instead.
        supported: whether the study's bound is reached.
    """

    link: tuple[str, str]
    heads: tuple[str, ...]
    rise: float
    other: float
    supported: bool


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
        for stop in self.path:
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
        if wrong := sorted(set(state) - set(STATE)):
            raise ExhibitError(f"{self.name}: {unknown('field of the state', wrong[0], STATE)}")
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
        run, batch = self.find(run_id).shown.run, self.task.split("test").rows(slice(0, 1))
        with torch.no_grad():
            outputs = forward(run.recipe.model, run.weights(step), batch.tokens).logits[0]
        return said(self.form, self.row, chain, outputs[batch.roles[self.form.query][0, chain]])

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
