"""What an explorer shows: runs with their weights, what was measured on them, prompts, and a path for the reader."""

import bisect
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from circuitcore.ground.spelling import unknown
from circuitcore.metrics.instruments.snapshots import spread
from circuitcore.models.transformer import weight_shapes
from circuitcore.tasks.forms import matching
from circuitcore.tasks.token_task import TokenTask
from circuitcore.training.store.run import Run
from livingpaper.explorer.moves import Plan, Tested, circuit_on
from livingpaper.explorer.page_task import page_task
from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.reveal import Reveal
from livingpaper.explorer.weights import packed
from livingpaper.figures.circuit import Circuit

NAME = re.compile(r"[a-z]+(-[a-z0-9]+)+")
MOST_BYTES = 6_000_000
"""Of one run's weights on the page, in base64."""
AROUND, AROUND_EACH = 5_000, 40
"""Bytes kept for what stands around all weights, and around those of each checkpoint."""
MOST_BESIDE = 10
"""Networks whose circuits stand beside each other."""
AS_FAR = 0.05
"""Share of training by which a network beside another may be ahead or behind before its step is said."""
PLACE = ("run", "step")
ASKED = (*PLACE, "prompt", "source", "resample")
STATE = (*PLACE, "prompt", "source", "edits", "resample", "other", "rule")


class ExhibitError(ValueError):
    """An explorer that could not show what it is asked to; the message says what does not fit."""


@dataclass(frozen=True, kw_only=True)
class Curve:
    """A score of one run through training, between 0 and 1.

    Attributes:
        label: for the legend.
        steps: optimizer steps at which it was measured, rising.
        values: one per step.
        chance: what a guess scores; None where that says nothing.
    """

    label: str
    steps: tuple[int, ...]
    values: tuple[float, ...]
    chance: float | None = None


@dataclass(frozen=True, kw_only=True)
class Birth:
    """When a motif of the circuit appeared in one run: in (after, by], in steps; ``by`` None: not.

    ``rule`` names what counts as born, where a reader can choose among several; the first of a run is shown first.
    """

    label: str
    after: int | None
    by: int | None
    rule: str = ""

    @property
    def told(self) -> str:
        """What is born, and when: "routing by step 6,636", "copying never"."""
        return f"{self.label} never" if self.by is None else f"{self.label} by step {self.by:,}"


@dataclass(frozen=True, eq=False, kw_only=True)
class ShownRun:
    """A run that the reader can open.

    Attributes:
        run: with weights at one step at least.
        condition: what the reader chooses first: the arm.
        curves, births: what was measured through its training.
        tests: step -> move -> what its causal test found of this network then; steps of which no test was made are
            left out.
        note: what else has to be said of these tests, as sentences.
    """

    run: Run
    condition: str
    curves: tuple[Curve, ...] = ()
    births: tuple[Birth, ...] = ()
    tests: Mapping[int, Mapping[str, Tested]] = field(default_factory=dict)
    note: str = ""

    @cached_property
    def steps(self) -> list[int]:
        """Those of its checkpoints that the reader gets."""
        return shown_steps(self.run)

    def nearest(self, share: float) -> int:
        """The step that is nearest to a share of the training."""
        return min(self.steps, key=lambda step: abs(step - share * self.run.final_step))

    def epoch(self, step: int) -> int:
        """The last epoch that ends by a step."""
        return bisect.bisect_right(self.run.recipe.schedule.epoch_ends, step) - 1

    def entry(self) -> dict[str, Any]:
        """The run as the page knows it before its weights are loaded."""
        return {
            "id": self.run.run_id,
            "condition": self.condition,
            "seed": self.run.recipe.init_seed,
            "config": self.run.recipe.model.to_dict(),
            "steps": self.steps,
            "epochs": [self.epoch(step) for step in self.steps],
            "final": self.run.final_step,
            "curves": [asdict(curve) for curve in self.curves],
            "births": [asdict(birth) for birth in self.births],
            "tests": {
                step: {
                    move: [" ".join(one.heads), round(one.effect, 4), int(one.supported)] for move, one in found.items()
                }
                for step, found in self.tests.items()
                if step in self.steps
            },
            "note": self.note,
            "found": {move: one.found for found in self.tests.values() for move, one in found.items()},
        }

    def weights(self) -> dict[str, Any]:
        """All its checkpoints, packed for the page; float32, so that the page's network is the published one."""
        return packed(self.run.recipe.model, {step: self.run.weights(step) for step in self.steps})

    @cached_property
    def weights_text(self) -> str:
        """The same as JSON, in ASCII."""
        return json.dumps(self.weights(), separators=(",", ":"), allow_nan=False)


def shown_steps(run: Run) -> list[int]:
    """Those of its checkpoints that a reader gets: as many, evenly spread, as fit into ``MOST_BYTES``; two at least."""
    n_numbers = sum(math.prod(shape) for shape, _ in weight_shapes(run.recipe.model).values())
    return spread(run.steps, max(2, (MOST_BYTES - AROUND) // (4 * math.ceil(4 * n_numbers / 3) + AROUND_EACH)))


@dataclass(frozen=True, kw_only=True)
class Example:
    """A prompt to choose: words separated by spaces, and the answer where the task's form does not tell it."""

    label: str
    prompt: str
    answer: str | None = None


@dataclass(frozen=True, kw_only=True)
class PathStep:
    """One stop of the suggested path.

    Attributes:
        title, text: a sentence or two, worded from what the network says in this state.
        state: what differs from the opening.
        lit: moves that are spoken of.
        claims: ids of claims whose sentences follow, as their verdicts word them.
    """

    title: str
    text: str
    state: Mapping[str, Any] = field(default_factory=dict)
    lit: tuple[str, ...] = ()
    claims: tuple[str, ...] = ()

    def entry(self, told: Sequence[str]) -> dict[str, Any]:
        """The stop as the page knows it, with what is told of its claims."""
        return {"title": self.title, "text": self.text, "state": dict(self.state), "lit": list(self.lit), "told": told}


@dataclass(frozen=True, eq=False, kw_only=True)
class Exhibit:
    """Everything one explorer needs, checked when it is made: the opening and every stop of the path are computed.

    Attributes:
        name: id of its block in the page, ``explorer-...``.
        task: whose prompts are asked. Runs trained on another task must have the same vocabulary.
        shown: the runs, in the order of the menus.
        examples: at least one; the opening prompt unless the opening names another.
        opening: fields of the state; by default the first run at its last checkpoint.
        path: stops; the first is what a reader sees before touching anything.
        plan: the circuit that is looked for.
        told: claim -> its verdict in words; a claim of the path that has none is not spoken of.
        form: in which the reader is asked before anything tells; None: the network speaks at once.

    Raises:
        ExhibitError: nothing to show, two runs of one condition and seed, another vocabulary, a state that cannot be.
        FormError: a form that does not fit the task or the opening.
    """

    name: str
    task: TokenTask
    shown: tuple[ShownRun, ...]
    examples: tuple[Example, ...]
    opening: Mapping[str, Any] = field(default_factory=dict)
    path: tuple[PathStep, ...] = ()
    plan: Plan = field(default_factory=Plan)
    told: Mapping[str, str] = field(default_factory=dict)
    form: Reveal | None = None

    def __post_init__(self):
        if not NAME.fullmatch(self.name):
            raise ExhibitError(f"an explorer's name is lower-case words with dashes; got {self.name!r}")
        if not self.shown or not self.examples:
            raise ExhibitError(
                f"{self.name}: needs a run and an example; got {len(self.shown)} and {len(self.examples)}"
            )
        places = [(shown.condition, shown.run.recipe.init_seed) for shown in self.shown]
        if len(set(places)) < len(places):
            raise ExhibitError(f"{self.name}: two runs have the same condition and seed: {places}")
        for shown in self.shown:
            if not shown.run.steps:
                raise ExhibitError(f"{self.name}: the weights of run {shown.run.run_id} are not here")
            if shown.run.recipe.make_task().vocab != self.task.vocab:
                raise ExhibitError(f"{self.name}: run {shown.run.run_id} was trained on another vocabulary")
        known = {move.name for move in self.plan.moves}
        for stop in self.path:
            if wrong := sorted(set(stop.lit) - known):
                raise ExhibitError(f"{self.name}, {stop.title!r}: {unknown('move', wrong[0], known)}")
        self._check_states()

    def _check_states(self) -> None:
        for state in (self.start, *({**self.start, **stop.state} for stop in self.path)):
            self.check(state)
        if self.form:
            self.form.check(self.task, self.start["prompt"])

    @cached_property
    def start(self) -> dict[str, Any]:
        """The whole opening state."""
        first = self.shown[0].run
        defaults = {
            "run": first.run_id, "step": None, "prompt": self.examples[0].prompt, "source": "", "edits": [],
            "resample": 0, "other": None, "rule": "",
        }  # fmt: skip
        found = {**defaults, **self.opening}
        run = self.find(found["run"]).run
        return {**found, "step": run.steps[-1] if found["step"] is None else found["step"]}

    def find(self, run_id: str) -> ShownRun:
        """The run of that id; ExhibitError where it is not shown."""
        found = {shown.run.run_id: shown for shown in self.shown}
        if run_id not in found:
            raise ExhibitError(unknown("run", run_id, found))
        return found[run_id]

    def answer(self, prompt: str) -> str | None:
        """The answer of the example that has this prompt; None where there is none."""
        return next((one.answer for one in self.examples if one.prompt.split() == prompt.split()), None)

    @cached_property
    def first_frame(self) -> dict[str, Any]:
        """The state at the path's first stop; without a path the opening."""
        return {**self.start, **(self.path[0].state if self.path else {})}

    def reading(self, state: Mapping[str, Any]) -> Reading:
        """What the network of a state makes of its prompt."""
        return self._read(*(state[key] for key in ASKED), tuple(state["edits"]))

    @cached_property
    def _read(self) -> Callable[..., Reading]:
        """As ``reading``; of the last few states, among which are those of a still, once."""

        def read(run: str, step: int, prompt: str, source: str, resample: int, edits: tuple[str, ...]) -> Reading:  # noqa: PLR0913
            asked = {"step": step, "prompt": prompt, "source": source or None, "resample": resample, "edits": edits}
            return probe(self.find(run).run, answer=self.answer(prompt), **asked)

        return lru_cache(maxsize=2 * MOST_BESIDE)(read)

    def circuit(self, state: Mapping[str, Any]) -> Circuit:
        """What is drawn of a state's network on its prompt, with what was tested of it at that step."""
        shown, reading = self.find(state["run"]), self.reading(state)
        name = f"{shown.condition}, seed {shown.run.recipe.init_seed}, step {state['step']:,}"
        form, tests = matching(self.task.forms, reading.words), shown.tests.get(state["step"], {})
        circuit = circuit_on(form, reading, self.plan, tests, reading.target)
        return replace(circuit, name=name, note=shown.note if circuit.links else "")

    def beside(self, state: Mapping[str, Any]) -> tuple[Circuit, ...]:
        """The same prompt in the condition's first networks by seed; one not as far in training says its step."""
        condition, final = self.find(state["run"]).condition, self.find(state["run"]).run.final_step
        share = state["step"] / final if final else 1.0
        alike = sorted(
            (shown for shown in self.shown if shown.condition == condition),
            key=lambda shown: shown.run.recipe.init_seed,
        )
        found = []
        for shown in alike[:MOST_BESIDE]:
            step = shown.nearest(share)
            when = f", step {step:,}" if abs(step / shown.run.final_step - share) > AS_FAR else ""
            circuit = self.circuit({**state, "run": shown.run.run_id, "step": step, "edits": []})
            found.append(replace(circuit, name=f"seed {shown.run.recipe.init_seed}{when}"))
        return tuple(found)

    def verdicts(self, stop: PathStep) -> list[str]:
        """What a stop tells of claims."""
        return [self.told[claim] for claim in stop.claims if claim in self.told]

    def payload(self) -> dict[str, Any]:
        """What the page gets before any weights, as JSON literals."""
        first = self.first_frame
        return {
            "name": self.name,
            "task": page_task(self.task, self.examples, first["prompt"], self.reading(first).target),
            "runs": [shown.entry() for shown in self.shown],
            "opening": self.start,
            "path": [stop.entry(self.verdicts(stop)) for stop in self.path],
            "moves": [asdict(move) for move in self.plan.moves],
            "tones": dict(self.plan.tones),
            **({"form": self.form.payload(self.task)} if self.form else {}),
        }

    def check(self, state: Mapping[str, Any]) -> None:
        """Compute a state; errors as ``probe``, and ExhibitError for a run or a field that is not here."""
        if wrong := sorted(set(state) - set(STATE)):
            raise ExhibitError(f"{self.name}: {unknown('field of the state', wrong[0], STATE)}")
        other = state["other"]
        if other and not (isinstance(other, Mapping) and set(other) == set(PLACE)):
            raise ExhibitError(f"{self.name}: the other network is given by run and step; got {other!r}")
        rules = {birth.rule for shown in self.shown for birth in shown.births}
        if state["rule"] and state["rule"] not in rules:
            raise ExhibitError(f"{self.name}: {unknown('rule', state['rule'], rules - {''})}")
        for place in (state, *([other] if other else [])):
            shown = self.find(place["run"])
            if place["step"] not in shown.steps:
                here = f"{place['run']} here; there are {', '.join(map(str, shown.steps))}"
                raise ExhibitError(f"{self.name}: no step {place['step']} of {here}")
            asked = {key: state[key] for key in ("prompt", "edits", "resample")}
            probe(shown.run, step=place["step"], source=state["source"] or None, **asked)


def spread_examples(task: TokenTask, split: str, n_examples: int) -> tuple[Example, ...]:
    """A few rows of a split up to where an answer is wanted, as examples, with the answers that its rows want."""
    rows = task.few(split, n_examples)
    return tuple(
        Example(
            label=f"{split} {row}", prompt=task.decode(rows.tokens[row, :end]), answer=task.vocab[rows.answers[row]]
        )
        for row, end in enumerate((rows.roles["read_out"] + 1).tolist())
    )
