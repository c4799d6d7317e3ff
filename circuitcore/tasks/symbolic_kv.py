"""Symbolic key-value retrieval: read the value paired with the queried key from the prompt.

The task of the published study "Retrieval Motif Emergence in Small Transformers" (its split sizes,
alphabet and prompt format are the defaults). Its generator is lost; ``sampling="published"`` draws
rows the way its files look, ``sampling="disjoint"`` the way they should have been drawn.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from circuitcore.ground.spelling import unknown
from circuitcore.tasks.base import TaskError
from circuitcore.tasks.kv_prompts import SPECIALS, KVAlphabet, KVPrompts
from circuitcore.tasks.kv_sampling import random_bits, sample_disjoint, sample_independent
from circuitcore.tasks.kv_task import KVTask, Targets
from circuitcore.tasks.limits import refuse_sizes

Sampling = Literal["disjoint", "published"]


@dataclass(frozen=True, kw_only=True)
class SymbolicKV(KVTask):
    """Prompts such as ``<bos> K3 V4 ; K1 V7 ; K5 V0 ; Q K5 ->``, answered by ``V0``.

    Splits "train", "val" and "test" have ``n_pairs`` pairs, "ood" has ``n_pairs_ood``.

    Attributes:
        n_keys: keys K0, K1, ...; distinct within a prompt.
        n_values: values V0, V1, ...; distinct within a prompt.
        sampling: "disjoint": no two rows, of one split or of two, share both their set of pairs
            and the queried key, whatever the order of the pairs; row i of a split asks for slot
            i mod pairs. "published": rows and slots independent and uniform, nothing rejected.

    Raises:
        TaskError: parameters that no data set can meet, with the numbers.
    """

    name: ClassVar[str] = "symbolic_kv"

    n_keys: int = 8
    n_values: int = 8
    n_pairs: int = 3
    n_pairs_ood: int = 4
    n_train: int = 5000
    n_val: int = 500
    n_test: int = 500
    n_ood: int = 500
    sampling: Sampling = "disjoint"

    def __post_init__(self):
        for key, allowed in {"sampling": get_args(Sampling), "targets": get_args(Targets)}.items():
            if getattr(self, key) not in allowed:
                raise TaskError(unknown(key, str(getattr(self, key)), allowed))
        refuse_sizes(
            {name: getattr(self, name) for name in ("n_train", "n_val", "n_test", "n_ood")},
            words={"n_keys": self.n_keys, "n_values": self.n_values},
            length={"n_pairs_ood": self.max_length},
        )
        distinct = f"a prompt of {self.n_pairs_ood} pairs holds as many different ones"
        least = {
            "n_pairs": (2, "with one pair there is nothing to choose from"),
            "n_pairs_ood": (self.n_pairs + 1, f"the split ood has more pairs than n_pairs = {self.n_pairs}"),
            "n_keys": (self.n_pairs_ood, distinct),
            "n_values": (self.n_pairs_ood, distinct),
            "generator_seed": (0, "seeds are not negative"),
        }
        least |= dict.fromkeys(("n_train", "n_val", "n_test", "n_ood"), (1, "no split is empty"))
        for key, (smallest, why) in least.items():
            if getattr(self, key) < smallest:
                raise TaskError(f"{key} = {getattr(self, key)}; must be at least {smallest}: {why}")
        if self.sampling == "disjoint":
            in_length = self.n_train + self.n_val + self.n_test
            self._refuse_too_many(self.n_pairs, "n_train + n_val + n_test", in_length)
            self._refuse_too_many(self.n_pairs_ood, "n_ood", self.n_ood)

    def _refuse_too_many(self, n_pairs: int, which: str, n_rows: int) -> None:
        available = self.alphabet.n_questions(n_pairs)
        if n_rows > available:
            raise TaskError(
                f"{which} = {n_rows} rows; with {self.n_keys} keys, {self.n_values} values and {n_pairs} "
                f"pairs there are only {available} different (set of pairs, query)"
            )

    @property
    def alphabet(self) -> KVAlphabet:
        """Number of keys and values, and where their token ids start."""
        return KVAlphabet(n_keys=self.n_keys, n_values=self.n_values)

    @property
    def vocab(self) -> tuple[str, ...]:
        """Specials ``<bos> ; Q ->``, then keys, then values."""
        keys = tuple(f"K{key}" for key in range(self.n_keys))
        return SPECIALS + keys + tuple(f"V{value}" for value in range(self.n_values))

    @property
    def pairs(self) -> Mapping[str, int]:
        """Three splits of one length, and one with more pairs and positions never trained on."""
        return {**dict.fromkeys(("train", "val", "test"), self.n_pairs), "ood": self.n_pairs_ood}

    @property
    def longer(self) -> str:
        """The split with more pairs."""
        return "ood"

    def prompts(self) -> Mapping[str, KVPrompts]:
        """All four splits."""
        bits = random_bits(self.generator_seed, self.sampling)
        draw = sample_disjoint if self.sampling == "disjoint" else sample_independent
        # Questions with different numbers of pairs cannot coincide, so "ood" is drawn by itself.
        in_length = draw(self.alphabet, self.n_pairs, (self.n_train, self.n_val, self.n_test), bits)
        longer = draw(self.alphabet, self.n_pairs_ood, (self.n_ood,), bits)
        return dict(zip(self.splits, in_length + longer, strict=True))
