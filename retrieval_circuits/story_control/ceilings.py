"""What a control can show at most, computed from its rows alone: no network is looked at."""

from collections.abc import Mapping

import pandas as pd
import torch
from jaxtyping import Bool, Int
from torch import Tensor

from circuitcore.metrics.scores.groups import worst_share
from circuitcore.tasks.next_word import NextWord
from circuitcore.tasks.story import words
from retrieval_circuits.story_control.readings import BEHAVIOUR, COPYING, GATE, PATCH, PIECES, ROUTING, THRESHOLDS

PROBE = "probe"


def ceilings(task: NextWord, n_bases: int, n_probe: int) -> pd.DataFrame:
    """The best score, and the best worst base prompt, that any network could have, under the source's definitions.

    A network is granted every word that it was trained on or that stands in the prompt, and no other; a probe every
    class that it was fitted on.

    Args:
        task: the story, or planted repeats.
        n_bases: base rows.
        n_probe: training rows that probes are fitted on.

    Returns:
        One row per ``piece`` and ``part`` (the variable, or ""): ``score``, ``gate`` (the worst base prompt's; missing
        for behaviour) and ``possible``: whether both can reach what the source asks for. Probes are none of the four
        pieces; the source dates them, too.
    """
    sweeps = list(task.families(n_bases).values())
    bases = torch.cat([batch.base for batch in sweeps])
    trained, val = task.split("train"), task.split("val")
    learnt = torch.cat([trained.tokens.unique(), trained.answers.unique()])
    found = [{"piece": BEHAVIOUR, "part": "", "score": _share(_known(val.answers, learnt, val.tokens))}]
    copied = torch.cat([batch.roles["last_copy"] > 0 for batch in sweeps])
    every_base = bool(torch.isin(bases, bases[copied]).all())  # one without a copy counts as 0
    found += [{"piece": piece, "part": "", "score": 1.0, "gate": float(every_base)} for piece in (ROUTING, COPYING)]
    for pairs in task.interchanges(n_bases):
        prompts = torch.cat([pairs.base.tokens, pairs.source.tokens], 1)
        known = _known(pairs.expected["source_answer"], learnt, prompts)
        found.append({"piece": PATCH, "part": pairs.name, **_score_and_gate(known, pairs.base.base)})
    for variable in task.variables:
        classes = torch.cat([batch.variables[variable] for batch in sweeps])
        known = torch.isin(classes, trained.variables[variable][:n_probe])
        found.append({"piece": PROBE, "part": variable, **_score_and_gate(known, bases)})
    table = pd.DataFrame(found)
    needed = table["piece"].map(THRESHOLDS | {PROBE: THRESHOLDS[PATCH]})
    return table.assign(possible=(table["score"] >= needed) & (table["gate"].isna() | (table["gate"] >= GATE)))


def possible_births(table: pd.DataFrame) -> int:
    """How many of the four pieces could be born; faithfulness could if that of any variable could."""
    return int(table[table["piece"].isin(PIECES)].groupby("piece")["possible"].any().sum())


def operator_chances(task: NextWord, n_bases: int) -> Mapping[str, float]:
    """What a head reaches in routing, copying and recency that looks at any position so far, or raises any word.

    Args:
        task: the story, or planted repeats.
        n_bases: base rows.
    """
    sweeps = list(task.families(n_bases).values())
    looked_at = torch.cat([batch.roles["read_out"] + 1 for batch in sweeps]).double()
    copied = torch.cat([batch.roles["last_copy"] > 0 for batch in sweeps])
    return {
        "routing": float((1 / looked_at[copied]).mean()),
        "copying": 1 / len(task.vocab),
        "recency": float((1 / looked_at).mean()),
    }


def text_facts(task: NextWord, n_bases: int, n_probe: int) -> Mapping[str, int | float | str]:
    """What is counted on the story, under the names of ``PUBLISHED_TEXT``."""
    splits = {name: task.split(name) for name in ("train", "val", "test")}
    trained = splits["train"].answers
    lead = torch.cat([splits["train"].tokens[0, 1:], trained])  # the words of the first context are never wanted
    base = task.bases(n_bases)
    fitted = splits["train"].rows(slice(0, n_probe)).variables
    unfitted = ~torch.isin(base.variables["previous_token"], fitted["previous_token"])
    unfitted |= ~torch.isin(base.variables["target_token"], fitted["target_token"])
    lacking = int((base.roles["last_copy"] == 0).sum())
    return {
        "tokens": len(words()),
        "types": len(set(words())),
        "val targets never in train": _share(~torch.isin(splits["val"].answers, lead)),
        "test targets never in train": _share(~torch.isin(splits["test"].answers, lead)),
        "val, always the commonest word": task.chance["val"],
        "test, always the commonest word": task.chance["test"],
        "base rows without an earlier copy": f"{lacking} of {n_bases}",
        "base rows with a word that the probe never saw": f"{int(unfitted.sum())} of {n_bases}",
    }


def _known(
    wanted: Int[Tensor, " row"], learnt: Int[Tensor, " word"], prompts: Int[Tensor, "row pos"]
) -> Bool[Tensor, " row"]:
    """Whether each wanted word was trained on or stands in its prompt."""
    return torch.isin(wanted, learnt) | (prompts == wanted[:, None]).any(1)


def _score_and_gate(known: Bool[Tensor, " row"], bases: Int[Tensor, " row"]) -> dict[str, float]:
    return {"score": _share(known), "gate": float(worst_share(known.double(), bases))}


def _share(hits: Bool[Tensor, " row"]) -> float:
    return float(hits.double().mean())
