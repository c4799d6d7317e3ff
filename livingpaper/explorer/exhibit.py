"""What an explorer shows: runs, prompts, and a path for the reader."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.forms import matching
from circuitcore.tasks.token_task import TokenTask
from livingpaper.explorer.moves import Plan, circuit_on
from livingpaper.explorer.page_task import page_task
from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.reveal import Reveal
from livingpaper.explorer.shown_run import MOST_BESIDE, ShownRun, beside
from livingpaper.figures.circuit import Circuit

NAME = re.compile(r"[a-z]+(-[a-z0-9]+)+")
PLACE = ("run", "step")
ASKED = (*PLACE, "prompt", "source", "resample")
STATE = (*PLACE, "prompt", "source", "edits", "resample", "other", "rule")


class ExhibitError(ValueError):
    """An explorer that could not show what it is asked to; the message says what does not fit."""


def refuse_fields(whose: str, state: Iterable[str], known: Sequence[str]) -> None:
    """ExhibitError for a field of a state that is not known, such as a misspelt one, which a widget would drop."""
    if wrong := sorted(set(state) - set(known)):
        raise ExhibitError(f"{whose}: {unknown('field of the state', wrong[0], known)}")


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
        is_told = circuit.links or not self.plan.moves  # where moves are looked for, a note speaks of their tests
        return replace(circuit, name=name, note=shown.note if is_told else "")

    def beside(self, state: Mapping[str, Any]) -> tuple[Circuit, ...]:
        """The same prompt in the condition's first networks by seed; one not as far in training says its step."""
        found = []
        for one, step, name in beside(self.shown, self.find(state["run"]), state["step"]):
            circuit = self.circuit({**state, "run": one.run.run_id, "step": step, "edits": []})
            found.append(replace(circuit, name=name))
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
        refuse_fields(self.name, state, STATE)
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
