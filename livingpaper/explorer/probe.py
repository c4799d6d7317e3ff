"""What a network makes of a prompt under edits: the numbers that the explorer shows, in Python.

"Copy as Python" gives ``print(probe("TASK-4f47b903cbfb", step=70350, prompt="<bos> Mara amber ; ... ->"))``;
``static/lab.js`` computes the same in the page.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Shaped
from torch import Tensor

from circuitcore.ground.environment import Folders
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import behavior
from circuitcore.metrics.scores.attribution import direct_logit_attribution
from circuitcore.models import ModelConfig, Output, Patch, compile_edits, forward
from circuitcore.models.edit_text import parse_edit
from circuitcore.models.edits import Cache, CutEdge, Edit, edited_site
from circuitcore.models.sites import ORDER
from circuitcore.models.transformer import Weights
from circuitcore.tasks.base import Batch
from circuitcore.tasks.forms import matching
from circuitcore.tasks.token_task import TokenTask
from circuitcore.training.errors import CheckpointError
from circuitcore.training.store.run import Run
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer.references import references

N_SHOWN = 5


@dataclass(frozen=True, kw_only=True)
class Question:
    """What a network is asked.

    Attributes:
        prompt: words separated by spaces.
        edits: made together, as texts (see ``parse_edit``); where two meet, the later one wins.
        source: a second prompt of as many words, from which patches take; read only where there is one.
        resample: number of the reference prompt from which "resample" takes; read only where there is such an edit.
        answer: the word wanted next, where the prompt itself does not tell it.
    """

    prompt: str
    edits: tuple[str, ...] = ()
    source: str | None = None
    resample: int = 0
    answer: str | None = None


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Reading:
    """What a network makes of a prompt. ``print`` shows the likeliest tokens and both margins.

    Attributes:
        words: of the prompt.
        vocab: word of every token, in the order of ``logits``.
        answers: words that can be an answer.
        target: the answer, as far as the prompt or the question tells it.
        logits: at every position.
        patterns: attention of each layer.
        attribution: part ("embed", "L0H1", "L0MLP") -> its share of the last position's logits; None where the stream
            is no sum of what the parts wrote (a post-norm model).
    """

    words: tuple[str, ...]
    vocab: tuple[str, ...]
    answers: tuple[str, ...]
    target: str | None
    logits: Float[Tensor, "pos vocab"]
    patterns: tuple[Float[Tensor, "head query key"], ...]
    attribution: Mapping[str, Float[Tensor, " vocab"]] | None

    @property
    def probabilities(self) -> Float[Tensor, " vocab"]:
        """Of every token as the next one after the prompt."""
        return self.logits[-1].softmax(-1)

    @property
    def likeliest(self) -> str:
        """The likeliest of all tokens."""
        return self._likeliest(self.vocab)

    @property
    def says(self) -> str:
        """The likeliest token and its probability, in words."""
        return f"{self.likeliest} (probability {self.probability_of(self.likeliest):.2f})"

    def probability_of(self, word: str) -> float:
        """Of one word as the next one after the prompt."""
        return self.probabilities[self.vocab.index(word)].item()

    @property
    def favoured(self) -> str:
        """What the margins are of: the target; without one, the likeliest of the answers."""
        return self.target or self._likeliest(self.answers)

    @property
    def runner_up(self) -> str:
        """The likeliest of all other tokens."""
        return self._likeliest([word for word in self.vocab if word != self.favoured])

    @property
    def runner_up_answer(self) -> str:
        """The likeliest of the other answers."""
        return self._likeliest([word for word in self.answers if word != self.favoured])

    @property
    def margin(self) -> float:
        """Logit of ``favoured`` minus that of ``runner_up``, after the prompt: the margin of the tables."""
        return self._margin_over(self.vocab)

    @property
    def margin_over_answer_words(self) -> float:
        """Logit of ``favoured`` minus that of ``runner_up_answer``; at least the margin."""
        return self._margin_over(self.answers)

    def __repr__(self) -> str:
        tokens = self.probabilities.argsort(descending=True)[:N_SHOWN].tolist()
        width = max(5, *(len(self.vocab[token]) for token in tokens))
        lines = [f"{'token':<{width}}  probability    logit"]
        for token in tokens:
            p, logit = self.probabilities[token], self.logits[-1, token]
            lines.append(f"{self.vocab[token]:<{width}}  {p:11.4f}  {logit:7.3f}")
        return "\n".join(
            [
                *lines,
                f"margin: {self.margin:.4f} (over {self.runner_up})",
                f"margin over answer words: {self.margin_over_answer_words:.4f} (over {self.runner_up_answer})",
            ]
        )

    def _margin_over(self, words: Sequence[str]) -> float:
        tokens = {word: token for token, word in enumerate(self.vocab)}
        among = [tokens[self.favoured], *(tokens[word] for word in words if word != self.favoured)]
        return behavior.margin(self.logits[-1:, among], torch.tensor([0])).item()

    def _logit(self, word: str) -> float:
        return self.logits[-1, self.vocab.index(word)].item()

    def _likeliest(self, words: Sequence[str]) -> str:
        return max(words, key=self._logit)


def probe(  # noqa: PLR0913 - the fields of the explorer's state
    run: Run | str,
    *,
    step: int | None = None,
    prompt: str,
    edits: Sequence[str] = (),
    source: str | None = None,
    resample: int = 0,
    answer: str | None = None,
) -> Reading:
    """Ask a trained network.

    Args:
        run: a run, or the id of one in ``runs`` or ``published``.
        step: of a checkpoint whose weights are here; by default the last.
        prompt: as in ``Question``, like the arguments after it.
        edits: texts.
        source: a second prompt.
        resample: a number.
        answer: a word.

    Raises:
        StoreError: no such run, or no weights at that step; names those that are here.
        PromptError: a prompt or source that the task does not have.
        ValueError: as ``read``; edits that are one text.
    """
    if isinstance(edits, str):
        raise ValueError(f"edits = {edits!r}; allowed: a list of texts, one an edit")
    found = find_run(run)
    if not found.steps:
        raise CheckpointError(f"{found.run_id}: none of its weights are here; train the run again for them")
    at = found.steps[-1] if step is None else step
    if at not in found.steps:
        raise CheckpointError(
            f"{found.run_id}: no weights at step {at!r}; there are {', '.join(map(str, found.steps))}"
        )
    question = Question(prompt=prompt, edits=tuple(edits), source=source, resample=resample, answer=answer)
    return read(found.recipe.model, found.weights(at), found.recipe.make_task(), question)


def find_run(run: Run | str) -> Run:
    """A run itself, or the finished one of that id: from ``runs``, else from ``published``.

    Raises:
        StoreError: there is none; names the close ones.
    """
    if isinstance(run, Run):
        return run
    folders = Folders.from_environment()
    return RunStore(folders.runs, folders.published).get(run)


def read(config: ModelConfig, weights: Weights, task: TokenTask, question: Question) -> Reading:
    """Ask one network; in the precision of its weights.

    Raises:
        PromptError: a prompt or source that the task does not have.
        ValueError: an edit that cannot be read or made, a position outside the prompt, a second prompt that is missing
            or of another length, no such reference prompt, an answer that is no word, a model that reads vectors.
    """
    if config.d_in:
        raise ValueError(f"prompts are words, but this model reads vectors of {config.d_in} numbers")
    words = tuple(question.prompt.split())
    form = matching(task.forms, words)
    if question.answer is not None and question.answer not in task.vocab:
        raise ValueError(f"the answer '{question.answer}' is no word of this task")
    edits = [parse_edit(text) for text in question.edits]
    sources = _sources(config, weights, task, question, edits)
    output = edited_pass(config, weights, task.encode(question.prompt)[None], edits, sources)
    n_more = config.d_vocab - len(task.vocab)
    return Reading(
        words=words,
        vocab=(*task.vocab, *(f"<unused {number}>" for number in range(n_more))),
        answers=tuple(task.vocab[token] for token in task.answers),
        target=form.answer(words) or question.answer,
        logits=output.logits[0],
        patterns=tuple(output.cache[f"pattern.{layer}"][0] for layer in range(config.n_layers)),
        attribution=attribution(config, weights, output.cache) if config.norm_position == "pre" else None,
    )


def edited_pass(
    config: ModelConfig,
    weights: Weights,
    inputs: Shaped[Tensor, "1 pos *d_in"],
    edits: Sequence[Edit],
    sources: Mapping[str, Cache],
) -> Output:
    """One prompt under edits whose positions are numbers: logits ``[1 pos vocab]``, and every site ``[1 ...]``.

    Raises:
        ValueError: a position or part that is not there, a patch from anything but "source", errors of ``resolve``.
    """
    keys = _sites(config)
    with torch.no_grad():
        clean = forward(config, weights, inputs, record=keys)
        if not edits:
            return clean
        n_pos = inputs.shape[1]
        for edit in edits:
            _check(edit, n_pos, config.n_heads, clean.cache)
        roles = {str(position): torch.tensor([position]) for position in range(n_pos)}
        plan = compile_edits([edits], roles, sources, clean.cache)
        return forward(config, weights, inputs, plan, keys).of_one_edit()


def attribution(config: ModelConfig, weights: Weights, cache: Cache) -> dict[str, Float[Tensor, " vocab"]]:
    """Part -> its share of the last position's logits, from the sites of a pass over one prompt.

    Raises:
        ValueError: a post-norm model.
    """
    n_pos = cache["resid_pre.0"].shape[-2]
    row = torch.zeros((1, n_pos), dtype=torch.int64)
    batch = Batch(tokens=row, targets=row, loss_mask=row.bool(), roles={"read_out": torch.tensor([n_pos - 1])})
    network = Network(config, {name: tensor[None] for name, tensor in weights.items()})
    parts, shares = direct_logit_attribution(network, batch, {key: value[None] for key, value in cache.items()})
    return dict(zip(parts, shares[0, :, 0], strict=True))


def _sources(
    config: ModelConfig, weights: Weights, task: TokenTask, question: Question, edits: Sequence[Edit]
) -> dict[str, Cache]:
    """The activations that the edits take their values from, by name; only those that some edit uses."""
    kinds = {"source" if isinstance(edit, Patch) else edit.how for edit in edits if not isinstance(edit, CutEdge)}
    n_tokens, keys, sources = len(question.prompt.split()), _sites(config), {}

    def cache_of(tokens: Tensor) -> Cache:
        with torch.no_grad():
            return forward(config, weights, tokens, record=keys).cache

    if "mean" in kinds:
        rows = cache_of(references(task, n_tokens))
        sources["mean"] = {key: value.mean(0, keepdim=True) for key, value in rows.items()}
    if "resample" in kinds:
        rows = references(task, n_tokens)
        if not 0 <= question.resample < len(rows):
            raise ValueError(f"reference prompt {question.resample}: there are 0 to {len(rows) - 1}")
        sources["resample"] = cache_of(rows[question.resample][None])
    if "source" in kinds:
        sources["source"] = cache_of(_second(task, question.source, n_tokens))
    return sources


def _second(task: TokenTask, text: str | None, n_tokens: int) -> Tensor:
    """Tokens ``[1 pos]`` of the second prompt."""
    if not (text and text.strip()):
        raise ValueError("a patch needs a second prompt to take the activation from")
    words = text.split()
    matching(task.forms, words)
    if len(words) != n_tokens:
        raise ValueError(f"the second prompt has {len(words)} tokens, the first {n_tokens}; they must have as many")
    return task.encode(text)[None]


def _sites(config: ModelConfig) -> list[str]:
    """Every site of the decoder."""
    names = [name for name in ORDER if name != "resid_final" and not (config.mlp == "none" and "mlp" in name)]
    every = [f"{name}.{layer}" for layer in range(config.n_layers) for name in names]
    return [*every, f"resid_final.{config.n_layers - 1}"]


def _check(edit: Edit, n_pos: int, n_heads: int, clean: Cache) -> None:
    """Refuse what the page refuses, in its words."""
    words = [edit.query, edit.key] if isinstance(edit, CutEdge) else [edit.positions]
    is_cut = isinstance(edit, CutEdge)
    for word in words:
        is_position = word.isdecimal() and word == str(int(word)) and int(word) < n_pos
        if not (is_position or (word == "all" and not is_cut)):
            raise ValueError(f"{edit}: no position {word}; the prompt has positions 0..{n_pos - 1}")
    if is_cut and int(edit.key) > int(edit.query):
        raise ValueError(f"{edit}: no such edge; a position attends to itself and to those before it")
    if isinstance(edit, Patch) and edit.source != "source":
        raise ValueError(f"{edit}: a patch takes from the second prompt, <-source")
    site = edited_site(edit)
    if site.key not in clean or (site.head is not None and site.head >= n_heads):
        part = f"{edit.head}:{edit.query}->{edit.key}" if is_cut else site
        raise ValueError(f"no such part to edit: {part}")
