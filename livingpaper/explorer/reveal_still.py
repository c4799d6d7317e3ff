"""The opening of a revealing form as plain HTML, for paper and for readers without JavaScript."""

import html
from collections.abc import Iterable

from circuitcore.tasks.token_task import TokenTask
from livingpaper.explorer.probe import Reading
from livingpaper.explorer.reveal import Reveal


def share(p: float) -> str:
    """A share in three digits, never a rounded 0 or 1; as ``share`` of ``static/reveal_rules.js``."""
    if 0 < p < 0.0005:
        return "<0.001"
    return ">0.999" if 0.9995 <= p < 1 else f"{p:.3f}"


def said_of(reading: Reading, size: int) -> tuple[float, ...]:
    """Probabilities of the words "1" to V among each other."""
    tokens = [reading.vocab.index(str(value)) for value in range(1, size + 1)]
    return tuple(reading.logits[-1, tokens].softmax(-1).tolist())


def asked_html(form: Reveal, task: TokenTask) -> str:
    """The rules, and the opening in words."""
    key, value = form.names(task)
    x, known = form.order[-1], dict(form.pairs)
    asked = f"Asked: {key} = {x}{' again' if x in known else ''}: which {value}?"
    shown = ", ".join(f"{key} = {one} → {value} = {other}" for one, other in form.pairs)
    opening = f"Shown: {shown}. {asked}" if shown else asked
    return f"<p>{_text(form.rules(task))}</p><p>{_text(opening).replace(' = ', '&nbsp;=&nbsp;')}</p>"


def tables_html(form: Reveal, task: TokenTask, reading: Reading, network: str) -> str:
    """What is possible beside what the network says, and where it looks. ``network``: which it is, in words."""
    key, value = form.names(task)
    heads = {
        f"L{layer}H{head}": pattern[-1]
        for layer, patterns in enumerate(reading.patterns)
        for head, pattern in enumerate(patterns)
    }
    read = [f"{name} = {word}" for name, word in zip((key, value) * len(reading.words), reading.words, strict=False)]
    looks = ((token, *(_cell(row[at].item()) for row in heads.values())) for at, token in enumerate(read))
    said = zip(form.posterior, said_of(reading, len(form.permutation)), strict=True)
    answers = (
        (f"{value} = {one}", _bar("exact", exact), _bar("bar", network))
        for one, (exact, network) in enumerate(said, start=1)
    )
    caption = f"Probability of each {value}. Network: {network}."
    of_both = _table(caption, (value, "exact posterior", "network"), answers)
    return (
        f'<div class="explorer-tables explorer-tells">{of_both}'
        f"{_table('Attention of the last position.', ('position', *heads), looks)}</div>"
    )


def _text(words: str) -> str:
    return html.escape(words)


def _cell(value: float) -> str:
    return f"<td>{_text(share(value))}</td>"


def _bar(name: str, value: float) -> str:
    bar = f'<i class="explorer-bar explorer-{name}" style="width:{100 * value:.1f}%"></i>'
    return f'<td>{_text(share(value))}<span class="explorer-share">{bar}</span></td>'


def _table(caption: str, names: Iterable[str], rows: Iterable[tuple[str, ...]]) -> str:
    head = "".join(f'<th scope="col">{name}</th>' for name in names)
    body = "".join(f'<tr><th scope="row">{name}</th>{"".join(cells)}</tr>' for name, *cells in rows)
    return f"<table><caption>{_text(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
