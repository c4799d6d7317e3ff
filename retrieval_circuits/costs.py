"""What the library costs beside its peers, as the bench published it: tables and sentences, from one file a machine.

``python3 paper.py bench --out published/bench/results.json`` writes the file that the page is about; any other file in
that folder is another machine's, which the page sets beside it. Nothing here measures anything.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from circuitcore.ground import provenance
from circuitcore.ground.environment import Folders
from circuitcore.training.store.run_store import RunStore
from circuitcore.training.store.sealed import read_record
from livingpaper.claims.view import View

RESULTS = "bench/results.json"
OURS, FALLBACK, EAGER, LENS = "native", "torch", "eager", "lens"
LABELS = {EAGER: "eager torch", LENS: "TransformerLens", FALLBACK: "our fallback", OURS: "ours, native"}
SUBJECTS = {FALLBACK: "Our fallback", OURS: "Our native design"}
UNKNOWN = "(not measured)"
MACHINE = {
    "cores": "cores", "vector_instructions": "vector instructions", "system": "system",
    "compiler": "compiler", "blas": "BLAS behind torch", "python": "Python", "torch": "torch", "numpy": "numpy",
    "transformer-lens": "TransformerLens", "circuitcore": "circuitcore",
}  # fmt: skip

RATES = {"fma": "multiply-adds on registers", "torch_matmul": "torch's best matrix product"}


class CostsError(LookupError):
    """There is no published measurement that a page could show; says how to make one."""


@dataclass(frozen=True)
class Costs:
    """A published measurement.

    Attributes:
        record: what the bench wrote.
        published: the folder of the published runs.
        elsewhere: the same of other machines.
    """

    record: Mapping[str, Any]
    published: Path
    elsewhere: tuple["Costs", ...] = ()

    @property
    def processor(self) -> str:
        """What it was measured on."""
        return self.record["machine"]["processor"]

    def value(self, workload: str, design: str, quantity: str) -> Any:
        """One measured quantity; None where it was not measured."""
        for row in self.record["rows"]:
            if (row["workload"], row["design"]) == (workload, design):
                return row["extra"].get(quantity, row.get(quantity))
        return None

    def titles(self) -> dict[str, str]:
        """The workloads that were measured, in words."""
        return {row["workload"]: row["title"] for row in self.record["rows"]}

    def ratios(self) -> View:
        """How many times as fast as eager torch each design is, for ``figures.ratios``."""
        goals = {
            goal["workload"]: goal["least"] for goal in self.record["goals"] if goal["quantity"] == "ratio_to_eager"
        }
        rows = [
            {
                "group": row["title"],
                "series": LABELS[row["design"]],
                "value": row["ratio_to_eager"],
                "low": row["ratio_spread"][0],
                "high": row["ratio_spread"][1],
                "goal": goals.get(row["workload"]),
            }
            for row in self.record["rows"]
            if row["ratio_to_eager"] is not None and row["design"] != EAGER
        ]
        table = pd.DataFrame(rows, columns=["group", "series", "value", "low", "high", "goal"])
        asked = table[table["series"] == LABELS[OURS]].dropna(subset=["goal"])
        note = (
            f"Medians of {self.record['method']['rounds']} rounds; bars from the smallest to the largest round. Of the "
            f"{len(asked)} goals drawn, set in advance, {(asked['value'] >= asked['goal']).sum()} are reached; the "
            "table has all"
        )
        return View(table, "times as fast as eager torch, per CPU second", "", note=note)

    def times(self) -> pd.DataFrame:
        """CPU milliseconds of one unit by workload and design, and our share of the peak; W6 and W7 stand apart."""
        rows = []
        for name in self._timed_alone():
            row = {"CPU milliseconds": f"{self.titles()[name]}, a {self.value(name, EAGER, 'per')}"}
            row |= {LABELS[design]: _rounded(self.value(name, design, "cpu_ms_per_step")) for design in LABELS}
            rows.append(row | {"share of peak": _percent(self.value(name, OURS, "share_of_peak"))})
        return pd.DataFrame(rows)

    def goals(self) -> pd.DataFrame:
        """What was to be reached; what native reaches, here, at the peak and elsewhere; what the fallback reaches."""
        words = {True: "reached", False: "not reached", None: "not measured"}
        elsewhere = {
            f"native on {other.processor}": {goal["words"]: _reached(goal) for goal in other.record["goals"]}
            for other in self.elsewhere
        }
        rows = []
        for goal in self.record["goals"]:
            quantity = goal["quantity"]
            fallback = self.value(goal["workload"], FALLBACK, quantity)
            side = "≤" if quantity == "minutes" else "≥"
            rows.append(
                {
                    "what": goal["words"],
                    "goal": f"{side}\N{NO-BREAK SPACE}{_figure(goal['least'], quantity)}",
                    "native": _reached(goal),
                    "verdict": words[goal["met"]],
                    "at the peak": _figure(self._limit(goal), quantity),
                    "fallback": _figure(fallback, quantity),
                }
                | {column: reached.get(goal["words"], "–") for column, reached in elsewhere.items()}
            )
        return pd.DataFrame(rows)

    def _limit(self, goal: Mapping[str, Any]) -> float | None:
        """What a step that does the same products at the core's peak would reach of a ratio."""
        share = self.value(goal["workload"], OURS, "share_of_peak")
        known = goal["quantity"].startswith("ratio") and share and goal["reached"] is not None
        return goal["reached"] / share if known else None

    def machine(self) -> pd.DataFrame:
        """What it was measured on and with, a column a machine."""
        found = {"what": [*MACHINE.values(), *RATES.values()]}
        for one in (self, *self.elsewhere):
            machine, peak = one.record["machine"], one.record["peak_gflops"]
            rates = [f"{peak[key]['median']:.0f} GFLOP/s on one core" if peak[key] else UNKNOWN for key in RATES]
            found[one.processor] = [*(str(machine.get(key, UNKNOWN)) for key in MACHINE), *rates]
        return pd.DataFrame(found)

    def numbers(self) -> dict[str, str]:
        """Every number and every sentence of the page that depends on what was measured."""
        matrix = "W6"
        return {
            "rounds": str(self.record["method"]["rounds"]),
            "processor": self.processor,
            "versions": self._versions(),
            "torch_share": self._torch_share(),
            "torch_blas": self.record["machine"]["blas"],
            "goals_met": self._goals_met(),
            "goals_all": str(len(self.record["goals"])),
            "elsewhere": self._elsewhere(),
            "slower": self._slower(),
            "left_out": self._left_out(),
            "matrix_minutes": _in_words(self.value(matrix, OURS, "minutes"), "{:.1f}"),
            "matrix_cpu_minutes": _in_words(self.value(matrix, OURS, "cpu_minutes"), "{:.1f}"),
            "matrix_fallback_minutes": _in_words(self.value(matrix, FALLBACK, "minutes"), "{:.1f}"),
            "matrix_peer_minutes": _in_words(self._peer_minutes(), "{:.0f}"),
            "matrix_how": self._how_long(),
        } | self._book()

    def _versions(self) -> str:
        """Which version was timed where, beside the one that this book is made with."""
        timed = [f"{one.record['machine']['circuitcore']} on {one.processor}" for one in (self, *self.elsewhere)]
        now = provenance.versions()["circuitcore"]
        return f"The version timed was {' and '.join(timed)}; this book is made with version {now}."

    def _torch_share(self) -> str:
        """Torch's best product as a share of what the core can do."""
        peak = self.record["peak_gflops"]
        known = peak["fma"] and peak["torch_matmul"]
        return _percent(peak["torch_matmul"]["median"] / peak["fma"]["median"]) if known else UNKNOWN

    def _goals_met(self) -> str:
        return str([goal["met"] for goal in self.record["goals"]].count(True))

    def _elsewhere(self) -> str:
        """How torch and the goals fared on the other machines."""
        sentences = [
            f"On {other.processor} torch's best product reaches {other._torch_share()} of that, and "
            f"{other._goals_met()} goals were reached (by circuitcore {other.record['machine']['circuitcore']})."
            for other in self.elsewhere
        ]
        return " ".join(sentences) or "No other machine was measured."

    def _slower(self) -> str:
        sentences = []
        for design in (FALLBACK, OURS):
            ratios = {self.titles()[name]: self.value(name, design, "ratio_to_eager") for name in self._timed_alone()}
            slow = [f"{title} ({ratio:.2f})" for title, ratio in ratios.items() if ratio is not None and ratio < 1]
            if slow:
                sentences.append(f"{SUBJECTS[design]} is slower than eager torch (times as fast) on {'; '.join(slow)}.")
        return " ".join(sentences) or "Nothing of ours is slower than eager torch."

    def _left_out(self) -> str:
        found = [
            f"{LABELS[row['design']]} on {row['title']} ({row['status']})"
            for row in self.record["rows"]
            if row["status"] != "measured" and row["workload"] in self._timed_alone()
        ]
        return f"Without a ratio: {'; '.join(found)}." if found else "Every design was measured at every workload."

    def _timed_alone(self) -> list[str]:
        """The workloads that take one core: eager torch was timed at them."""
        return [row["workload"] for row in self.record["rows"] if row["design"] == EAGER and row["cpu_ms_per_step"]]

    def _peer_minutes(self) -> float | None:
        """The six runs with eager torch's step and TransformerLens' battery on as many cores, from their parts."""
        step, battery = self.value("W1", EAGER, "cpu_ms_per_step"), self.value("W5", LENS, "cpu_ms_per_step")
        extent = [self.value("W6", FALLBACK, name) for name in ("runs", "epochs", "steps_per_epoch", "cores")]
        if None in (step, battery, *extent):
            return None
        runs, epochs, steps, cores = extent
        return runs * epochs * (steps * step + battery) / 60_000 / cores

    def _how_long(self) -> str:
        """Which of the six-run figures were measured whole, and which are extrapolated."""
        sentences = []
        for design, subject in ((OURS, "The native figure"), (FALLBACK, "The fallback's")):
            done, all_ = (self.value("W6", design, name) for name in ("epochs_measured", "epochs"))
            if done is not None:
                whole = "was measured whole" if done == all_ else f"is extrapolated from {done} of {all_} epochs a run"
                sentences.append(f"{subject} {whole}.")
        return " ".join(sentences) or "Neither was measured."

    def _book(self) -> dict[str, str]:
        """The published runs: how many, and how long they were trained."""
        ledgers = [run.ledger for run in RunStore(self.published, None).runs() if run.ledger.trained]
        steps = sum(ledger.entries[-1].step for ledger in ledgers)
        return {
            "book_runs": str(len(ledgers)),
            "book_steps": f"{steps / 1e6:.1f} million",  # a comma would make the page take it for a pair
            "book_checkpoints": str(sum(len(ledger.entries) for ledger in ledgers)),
        }


def published_costs(folder: Path | None = None) -> Costs:
    """The measurement shipped with the book, and those of other machines beside it.

    Args:
        folder: of the published runs; None for the project's.

    Raises:
        CostsError: there is none, or one is a smoke run's, whose numbers mean nothing.
        StoreError: one cannot be read.
    """
    folder = folder or Folders.from_environment().published
    path = folder / RESULTS
    others = sorted(other for other in path.parent.glob("*.json") if other != path)
    return Costs(_read(path, folder), folder, tuple(Costs(_read(other, folder), folder) for other in others))


def _read(path: Path, folder: Path) -> dict[str, Any]:
    record = read_record(folder, path.relative_to(folder).with_suffix("").as_posix())
    remedy = f"run: python3 paper.py bench --out {'/'.join(path.parts[-3:])}"
    if record is None:
        raise CostsError(f"{path} is missing; {remedy}")
    if record["method"]["smoke"]:
        raise CostsError(f"{path} is of a smoke run, whose numbers mean nothing; {remedy}")
    return record


def _figure(value: float | int | None, quantity: str) -> str:
    """A value in the words of its quantity."""
    if value is None:
        return "–"
    if quantity == "share_of_peak":
        return f"{value:.0%}"
    return f"{value:.3g} min" if quantity == "minutes" else f"{value:.3g}×"


def _reached(goal: Mapping[str, Any]) -> str:
    """What was reached; with four digits where fewer would read like the goal that was missed."""
    short, quantity = _figure(goal["reached"], goal["quantity"]), goal["quantity"]
    if goal["met"] is not False or short != _figure(goal["least"], quantity):
        return short
    scale, unit = (100, "%") if quantity == "share_of_peak" else (1, " min" if quantity == "minutes" else "×")
    return f"{goal['reached'] * scale:.4g}{unit}"


def _rounded(value: float | None) -> float | None:
    """Three significant digits, so that a table prints 1,350 and not a power of ten."""
    return None if value is None else float(f"{value:.3g}")


def _percent(share: float | None) -> str | None:
    return None if share is None else f"{share:.0%}"


def _in_words(value: float | int | None, form: str) -> str:
    return UNKNOWN if value is None else form.format(value)
