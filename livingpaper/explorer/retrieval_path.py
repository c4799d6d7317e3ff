"""A path through a network that looks values up: what it does, when it came, what breaks it, what moves its answer.

Every sentence is worded from what the network says in that state.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.forms import PromptForm, matching
from circuitcore.training.store.run import Run
from livingpaper.explorer.exhibit import ExhibitError, PathStep
from livingpaper.explorer.probe import Reading, probe
from livingpaper.explorer.shown_run import shown_steps

COMPARED = "Compare."


@dataclass(frozen=True, eq=False)
class Lookup:
    """One prompt that asks for the value beside a key, and one run that is asked.

    Attributes:
        run: with weights at its last step.
        prompt: of a task whose forms have a ``lookup``.
    """

    run: Run
    prompt: str

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The tokens."""
        return tuple(self.prompt.split())

    @cached_property
    def form(self) -> PromptForm:
        """Of the prompt."""
        return matching(self.run.recipe.make_task().forms, self.words)

    @property
    def lookup(self) -> tuple[int, tuple[tuple[int, int], ...]]:
        """Positions of the query, and of every key and its value."""
        return self.form.lookup

    @property
    def key(self) -> str:
        """The word that is asked for."""
        return self.words[self.lookup[0]]

    @property
    def value_position(self) -> int:
        """Where the answer stands."""
        return self.form.asked(self.words)[0][1]

    @cached_property
    def other(self) -> "Lookup":
        """The same pairs, asked for another key."""
        query, pairs = self.lookup
        another = next(self.words[key] for key, _ in pairs if self.words[key] != self.key)
        words = [another if at == query else word for at, word in enumerate(self.words)]
        return Lookup(self.run, " ".join(words))

    @cached_property
    def head(self) -> tuple[int, int]:
        """Layer and index of the head that reads the answer most at the last position, at the end of training."""
        found = {
            (layer, head): pattern[-1, self.value_position].item()
            for layer, patterns in enumerate(self.plain.patterns)
            for head, pattern in enumerate(patterns)
        }
        return max(found, key=found.get)

    @cached_property
    def early(self) -> int:
        """The last shown step at which the answer is less likely than not; the first where there is none."""
        steps = shown_steps(self.run)
        unsure = [step for step in steps if self.share(self.read(step=step)) < 0.5]
        return unsure[-1] if unsure else steps[0]

    @cached_property
    def plain(self) -> Reading:
        """The prompt's reading at the end of training."""
        return self.read()

    def read(self, **state: object) -> Reading:
        """The prompt's reading in a state."""
        return probe(self.run, prompt=self.prompt, **{"step": self.run.steps[-1], **state})

    def share(self, reading: Reading) -> float:
        """Probability of the answer."""
        return reading.probability_of(self.words[self.value_position])


def retrieval_path(
    runs: Sequence[Run], prompt: str, *, lit: tuple[str, ...] = (), claims: Mapping[str, tuple[str, ...]] | None = None
) -> tuple[PathStep, ...]:
    """Five stops, and a sixth that compares two runs where there are as many.

    Args:
        runs: the first is taken apart, the second stands beside it at the end.
        prompt: as in ``Lookup``.
        lit: moves that the first stop speaks of.
        claims: title of a stop -> ids of claims that are told there.

    Raises:
        ExhibitError: claims of a stop that is not there.
    """
    asked, claims = Lookup(runs[0], prompt), claims or {}
    stops = [*_taken_apart(asked, lit), *(_compared(asked.run, other) for other in runs[1:2])]
    titles = {COMPARED, *(stop.title for stop in stops)}  # of one run alone there is nothing to compare
    if wrong := sorted(set(claims) - titles):
        raise ExhibitError(unknown("stop", wrong[0], titles))
    return tuple(replace(stop, claims=claims.get(stop.title, ())) for stop in stops)


def _taken_apart(asked: Lookup, lit: tuple[str, ...]) -> list[PathStep]:
    last, place = len(asked.words) - 1, asked.value_position
    answer, name, before = asked.words[place], "L{}H{}".format(*asked.head), asked.read(step=asked.early)
    heads = [f"L{asked.head[0]}H{head}" for head in range(asked.run.recipe.model.n_heads)]
    edits = {
        "zero": [f"zero({head})@all" for head in heads],
        "cut": [f"cut({head}:{last}->{place})" for head in heads],
        "patch": [f"patch({head}.q<-source)@{last}" for head in heads],
    }
    source = asked.other.prompt
    alone, broken = asked.read(edits=[f"zero({name})@all"]), asked.read(edits=edits["zero"])
    cut = asked.read(edits=edits["cut"])
    moved = asked.read(edits=edits["patch"], source=source)
    goal = asked.other.words[asked.other.value_position]
    return [
        PathStep(
            title="It works.",
            text=f"Asked for {asked.key}, the network says {asked.plain.says}. At the last position head {name} reads "
            f"{answer} with attention {_attention(asked, asked.plain)}.",
            lit=lit,
        ),
        PathStep(
            title="See it appear.",
            text=f"At step {asked.early:,} it says {before.says}, and {name} reads {answer} with attention "
            f"{_attention(asked, before)}. Drag the slider, or press Play.",
            state={"step": asked.early},
        ),
        PathStep(
            title="Switch heads off.",
            text=f"With {name} set to zero it says {alone.says}; with every head of layer {asked.head[0]}, as here, "
            f"{broken.says}.",
            state={"edits": edits["zero"]},
        ),
        PathStep(
            title="Cut what they read.",
            text=f"The heads of layer {asked.head[0]} are back, but may not read {answer} from the last position. "
            f"Nothing else is changed. The network says {cut.says}; {answer} has {asked.share(cut):.2f}.",
            state={"edits": edits["cut"]},
        ),
        PathStep(
            title="Move the answer.",
            text=f"Their queries at the last position come from the second prompt, which asks for {asked.other.key}. "
            f"The network says {moved.says}; the second prompt's own answer is {goal}.",
            state={"edits": edits["patch"], "source": source},
        ),
    ]


def _compared(run: Run, other: Run) -> PathStep:
    return PathStep(
        title=COMPARED,
        text=f"Seed {run.recipe.init_seed} beside seed {other.recipe.init_seed}, both at their last checkpoint. Which "
        "head does the reading is up to the seed.",
        state={"other": {"run": other.run_id, "step": other.steps[-1]}},
    )


def _attention(asked: Lookup, reading: Reading) -> str:
    layer, head = asked.head
    return f"{reading.patterns[layer][head][-1, asked.value_position].item():.2f}"
