"""How far a sweep is, as text for a terminal and as a page that needs nothing else: tables, bars drawn by CSS."""

from collections.abc import Iterable, Mapping
from datetime import datetime
from html import escape

from circuitcore.training.sweeps.status import (
    STATES,
    RunStatus,
    SeedStatus,
    State,
    SweepStatus,
    checkpoints,
    counted,
)
from livingpaper.commands.forecast import Forecasts

STYLE = """
:root { color-scheme: light dark; --text: #1a1a1a; --quiet: #595959; --page: #fff; --line: #d4d4d4;
  --done: #009e73; --running: #0072b2; --failed: #d55e00; --waiting: #e2e2e2; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e8e8e8; --quiet: #a8a8a8; --page: #16181b; --line: #3c4046; --running: #56b4e9;
    --waiting: #33373d; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--text); background: var(--page);
  max-width: 52rem; margin: 0 auto; padding: 1rem; }
h1 { font-size: 1.4rem; margin: 0; } h2 { font-size: 1.1rem; margin: 2rem 0 .25rem; }
.quiet { color: var(--quiet); margin: .25rem 0; } .outlook { font-weight: 600; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { text-align: left; vertical-align: top; padding: .4rem .5rem .4rem 0; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
th { font-weight: 600; } thead th { border-top: 0; color: var(--quiet); font-size: .85rem; overflow-wrap: normal; }
.bar { display: flex; height: .6rem; margin: .35rem 0; background: var(--waiting); border-radius: .2rem;
  overflow: hidden; }
.bar span, .key i { background: var(--waiting); }
.bar .done, .key .done { background: var(--done); } .bar .running, .key .running { background: var(--running); }
.bar .failed, .key .failed { background: var(--failed); }
.key span { white-space: nowrap; margin-right: 1rem; }
.key i { display: inline-block; width: .8rem; height: .8rem; border-radius: .2rem; margin-right: .3rem; }
@media (max-width: 30rem) { body { font-size: 14px; padding: .75rem; } }
"""


def status_lines(status: SweepStatus, from_nothing: Forecasts) -> list[str]:
    """The same as the page in lines of text: a table of arms, what runs, what failed, and when it should end."""
    rows = [("arm", *STATES, "checkpoints", "ends in", "from nothing")]
    for arm, runs in status.arms.items():
        rows.append((arm, *_numbers(runs), checkpoints(runs), status.ends_in(runs), from_nothing.each[arm]))
    everything = status.runs
    rows.append(
        (
            "all, each run once",
            *_numbers(everything),
            checkpoints(everything),
            status.ends_in(everything),
            from_nothing.runs,
        )
    )
    for name, seeds in status.experiments.items():
        rows.append((f"experiment {name}", *_numbers(seeds), "-", "-", from_nothing.each[name]))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    lines += [f"running  {run.name}: {progress(run)}" for run in status.in_state("running")]
    lines += [f"failed   {run.name}: {run.error}" for run in _failed(status)]
    return [*lines, status.outlook, _whole(from_nothing)]


def _whole(from_nothing: Forecasts) -> str:
    return f"From nothing, all of it: {from_nothing.whole} on this machine."


def progress(run: RunStatus) -> str:
    """``1,200 of 84,420 steps, 350 steps/s``."""
    pace = f", {1 / run.pace:,.0f} steps/s" if run.pace else ""
    return f"{run.steps:,} of {run.n_steps:,} steps{pace}"


def status_page(title: str, command: str, status: SweepStatus, from_nothing: Forecasts, written: datetime) -> str:
    """One HTML text that loads nothing, says when it was written, and follows the reader's light or dark theme.

    Args:
        title: what the sweep is of.
        command: what writes the page again.
        status: what it shows.
        from_nothing: how long arms and experiments take here if nothing of them is there.
        written: when that was.
    """
    arms = [
        (
            escape(arm) + _runs_bar(runs),
            _in_words(runs),
            checkpoints(runs),
            status.ends_in(runs),
            from_nothing.each[arm],
        )
        for arm, runs in status.arms.items()
    ]
    running = [(escape(run.name) + _steps_bar(run), progress(run)) for run in status.in_state("running")]
    failed = [(escape(run.name), escape(run.error or "")) for run in _failed(status)]
    experiments = [
        (escape(name) + _runs_bar(seeds), _in_words(seeds), from_nothing.each[name])
        for name, seeds in status.experiments.items()
    ]
    everything = status.runs
    steps, n_steps = sum(run.steps for run in everything), sum(run.n_steps for run in everything)
    body = [
        f"<h1>{escape(title)}</h1>",
        f'<p class="quiet">Written {written:%Y-%m-%d %H:%M:%S %Z}. This page does not change by itself: '
        f"<code>{escape(command)}</code> writes it again.</p>",
        f'<p class="outlook">{escape(status.outlook)}</p>',
        _runs_bar(everything),
        _key(everything),
        f'<p class="quiet">{len(everything)} runs; {steps:,} of {n_steps:,} steps; '
        f"{checkpoints(everything)} checkpoints. {escape(_whole(from_nothing))}</p>",
        _table("Arms", ("arm", "runs", "checkpoints", "ends in", "from nothing"), arms),
        _table("Experiments", ("experiment", "tables", "from nothing"), experiments),
        _table("Running", ("run", "progress"), running),
        _table("Failed", ("run", "what stopped it"), failed),
    ]
    head = (
        '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{STYLE}</style>"
    )
    main = "\n".join(part for part in body if part)
    return f'<!DOCTYPE html>\n<html lang="en">\n<head>{head}</head>\n<body><main>\n{main}\n</main></body>\n</html>\n'


def _failed(status: SweepStatus) -> list[RunStatus | SeedStatus]:
    return [*status.in_state("failed"), *(seed for seed in status.seeds if seed.state == "failed")]


def _numbers(runs: Iterable[RunStatus | SeedStatus]) -> list[str]:
    counts = counted(runs)
    return [str(counts[state]) for state in STATES]


def _in_words(runs: Iterable[RunStatus | SeedStatus]) -> str:
    counts = counted(runs)
    return ", ".join(f"{counts[state]} {state}" for state in STATES if counts[state]) or "none"


def _runs_bar(runs: tuple[RunStatus | SeedStatus, ...]) -> str:
    counts = counted(runs)
    return _bar({state: count / len(runs) for state in STATES if (count := counts[state])}, _in_words(runs))


def _steps_bar(run: RunStatus) -> str:
    share = run.steps / run.n_steps
    return _bar({"running": share}, f"{100 * share:.0f} per cent of its steps")


def _bar(shares: Mapping[State, float], label: str) -> str:
    spans = "".join(
        f'<span class="{state}" style="width:{100 * share:.2f}%"></span>' for state, share in shares.items()
    )
    return f'<div class="bar" role="img" aria-label="{label}">{spans}</div>'


def _key(runs: tuple[RunStatus, ...]) -> str:
    counts = counted(runs)
    parts = (f'<span><i class="{state}"></i>{counts[state]} {state}</span>' for state in STATES)
    return f'<p class="key">{" ".join(parts)}</p>'


def _table(title: str, columns: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table whose cells are HTML already, the first of each row its heading; nothing for no rows."""
    if not rows:
        return ""
    head = "".join(f'<th scope="col">{column}</th>' for column in columns)
    body = "\n".join(
        f'<tr><th scope="row">{first}</th>{"".join(f"<td>{cell}</td>" for cell in rest)}</tr>' for first, *rest in rows
    )
    return f"<h2>{title}</h2>\n<table><thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody></table>"
