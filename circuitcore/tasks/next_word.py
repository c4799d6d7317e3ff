"""What the tasks that ask for the next word share: their rows, what can be asked of them, and their counterfactuals.

A row is ``<bos>`` and a context of words; wanted is the word that comes next. It may be a word that the context holds
already: then a network that retrieves can copy it from there.
"""

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from jaxtyping import Int
from torch import Tensor

from circuitcore.tasks.base import Batch, Interchange, TaskError
from circuitcore.tasks.forms import PromptForm, Slot
from circuitcore.tasks.token_task import TokenTask

BOS = 0
SPLITS = ("train", "val", "test", "ood")
BUCKETS = ("none", "1", "2-4", "5-8", "9+")
"""How many words back the target last stood; 1 is the read-out itself."""
BUCKET_STARTS = (1, 2, 5, 9)
PAIRS_PER_BASE = 2
LEAST_CONTEXT = 12  # a quarter of it is still a context


@dataclass(frozen=True, kw_only=True)
class NextWord(TokenTask):
    """A task of contexts and next words. A subclass gives ``vocab``, ``contexts``, ``chance`` and ``shortened``.

    Attributes:
        n_context: words before the one wanted.
        n_context_ood: the same in the split "ood", whose last positions are never trained on.

    Raises:
        TaskError: a context too short to be cut, or an "ood" context that is not longer.
    """

    n_context: int = 24
    n_context_ood: int = 40

    def __post_init__(self):
        if self.n_context < LEAST_CONTEXT:
            raise TaskError(f"n_context = {self.n_context}; must be at least {LEAST_CONTEXT}, to be cut to a quarter")
        if self.n_context_ood <= self.n_context:
            raise TaskError(f"n_context_ood = {self.n_context_ood}; must be more than n_context = {self.n_context}")

    @abstractmethod
    def contexts(self) -> Mapping[str, tuple[Int[Tensor, "row word"], Int[Tensor, " row"]]]:
        """Split -> (contexts, words wanted) as token ids; a function of the parameters alone."""

    @abstractmethod
    def shortened(self, batch: Batch, n_words: int) -> Int[Tensor, "row word"]:
        """Contexts of ``n_words`` words for the rows of ``batch``, which have more; the words wanted stay."""

    @property
    def splits(self) -> tuple[str, ...]:
        """The one trained on, two of the same length, and a longer one."""
        return SPLITS

    @property
    def max_length(self) -> int:
        """``<bos>`` and the longest context."""
        return 1 + self.n_context_ood

    @property
    def answers(self) -> tuple[int, ...]:
        """Every word; not ``<bos>``."""
        return tuple(range(BOS + 1, len(self.vocab)))

    @property
    def forms(self) -> tuple[PromptForm, ...]:
        """``<bos>`` and any words."""
        bos, words = self.vocab[BOS : BOS + 1], self.vocab[BOS + 1 :]
        return (PromptForm("words", (Slot("start", bos),), open_words=words, most=self.max_length),)

    @property
    def variables(self) -> Mapping[str, int]:
        """The word at the read-out; whether and how far back the target stands in the context; the target."""
        words = len(self.vocab)
        return {
            "previous_token": words,
            "target_seen_in_context": 2,
            "repeat_distance_bucket": len(BUCKETS),
            "target_token": words,
        }

    @property
    def family_lengths(self) -> Mapping[str, int]:
        """Family -> words of context.

        The source names its cuts (full, half, quarter, last 8, drop prefix) and not how much the last one drops; ours
        drops the first quarter.
        """
        n = self.n_context
        return {"full": n, "half": n // 2, "quarter": n // 4, "last_8": 8, "drop_prefix": n - n // 4}

    def make_splits(self) -> Mapping[str, Batch]:
        """All splits."""
        return {split: self._rows(contexts, wanted) for split, (contexts, wanted) in self.contexts().items()}

    def families(self, n_bases: int) -> Mapping[str, Batch]:
        """Every base row with its context cut to the lengths of ``family_lengths``."""
        bases = self.bases(n_bases)
        made = {}
        for family, n_words in self.family_lengths.items():
            whole = n_words == self.n_context
            contexts = bases.tokens[:, 1:] if whole else self.shortened(bases, n_words)
            made[family] = self._rows(contexts, bases.answers)
        return made

    def _rows(self, contexts: Int[Tensor, "row word"], wanted: Int[Tensor, " row"]) -> Batch:
        batch = render(contexts, wanted)
        return replace(batch, variables={name: batch.variables[name] for name in self.variables})

    def interchanges(self, n_bases: int) -> tuple[Interchange, ...]:
        """One per variable, named after it: test rows that differ in the variable and in the answer.

        Each base row is paired with the next ``PAIRS_PER_BASE`` test rows that qualify (after the last row comes the
        first). 32 bases make the source's 64 pairs; it drew them "from any prompts", ours are whole contexts.
        """
        bases, test = self.bases(n_bases), self.split("test")
        return tuple(_interchange(variable, bases, test) for variable in self.variables)

    def edge_tests(self, n_bases: int) -> tuple[Interchange, ...]:
        """None; the number of bases is checked all the same."""
        self.bases(n_bases)
        return ()


def render(contexts: Int[Tensor, "row word"], wanted: Int[Tensor, " row"]) -> Batch:
    """Contexts as token rows, with roles and variables.

    Only the read-out, which is the last position, is trained on and scored. The role ``last_copy`` is where the wanted
    word last stands, and 0 (``<bos>``) in rows whose context does not hold it.
    """
    n_rows, n_words = contexts.shape
    tokens = torch.cat([torch.full((n_rows, 1), BOS), contexts], 1)
    loss_mask = torch.zeros_like(tokens, dtype=torch.bool)
    loss_mask[:, -1] = True
    last_copy = ((tokens == wanted[:, None]) * torch.arange(n_words + 1)).amax(1)
    seen = last_copy > 0
    back = n_words + 1 - last_copy
    bucket = torch.bucketize(back, torch.tensor(BUCKET_STARTS), right=True)
    return Batch(
        tokens=tokens,
        targets=torch.cat([tokens[:, 1:], wanted[:, None]], 1),
        loss_mask=loss_mask,
        roles={"read_out": torch.full((n_rows,), n_words), "last_copy": last_copy},
        variables={
            "previous_token": tokens[:, -1].clone(),
            "target_seen_in_context": seen.long(),
            "repeat_distance_bucket": torch.where(seen, bucket, 0),
            "target_token": wanted.clone(),
        },
    )


def _interchange(variable: str, bases: Batch, test: Batch) -> Interchange:
    """Every base row with its sources; a source row takes the id of its base."""
    numbers = torch.arange(len(test))
    differs = (bases.variables[variable][:, None] != test.variables[variable]) & (
        bases.answers[:, None] != test.answers
    )
    after = (numbers - torch.arange(len(bases))[:, None]) % len(test)
    ranked = torch.where(differs, after, len(test)).sort(1)
    if len(test) < PAIRS_PER_BASE or (ranked.values[:, PAIRS_PER_BASE - 1] == len(test)).any():
        raise TaskError(f"{variable}: too few test rows with another class and answer")
    sources = ranked.indices[:, :PAIRS_PER_BASE].flatten()
    base = bases.rows(torch.arange(len(bases)).repeat_interleave(PAIRS_PER_BASE))
    source = replace(test.rows(sources), base=base.base)
    return Interchange(name=variable, base=base, source=source, expected={"source_answer": source.answers})
