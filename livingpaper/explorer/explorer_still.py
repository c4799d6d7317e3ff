"""The explorer's opening as plain HTML, for paper and for readers without JavaScript."""

import html

from livingpaper.explorer.exhibit import Exhibit
from livingpaper.explorer.game_still import share
from livingpaper.explorer.probe import Reading, probe

MOST_ANSWERS = 6


def still_html(exhibit: Exhibit) -> str:
    """What the first stop says, the prompt, and what the network makes of it, as tables."""
    state = {**exhibit.start, **(exhibit.path[0].state if exhibit.path else {})}
    shown = exhibit.find(state["run"])
    asked = {key: state[key] for key in ("step", "prompt", "edits", "resample")}
    reading = probe(shown.run, source=state["source"] or None, answer=exhibit.answer(state["prompt"]), **asked)
    words = (
        f"<p><strong>{_text(exhibit.path[0].title)}</strong> {_text(exhibit.path[0].text)}</p>" if exhibit.path else ""
    )
    place = f"{shown.condition}, seed {shown.run.recipe.init_seed}, step {state['step']:,}"
    edits = f" Edits: {_text(', '.join(state['edits']))}." if state["edits"] else ""
    prompt = f"<code>{_text(state['prompt'])}</code>"
    return (
        f'<div class="explorer-still">{words}<p>{_text(place)}. Prompt: {prompt}.{edits}</p>'
        f'<div class="explorer-tables">{_answers(reading, reading.vocab)}{_attention(reading)}</div>'
        '<p class="explorer-without">This is the opening. With JavaScript every checkpoint can be used here.</p></div>'
    )


def _text(words: object) -> str:
    return html.escape(str(words))


def _answers(reading: Reading, vocab: tuple[str, ...]) -> str:
    order = reading.probabilities.argsort(descending=True).tolist()[:MOST_ANSWERS]
    if reading.target and (target := vocab.index(reading.target)) not in order:
        order[-1] = target
    rows = "".join(_answer(reading, token, vocab[token]) for token in order)
    head = "".join(f'<th scope="col">{name}</th>' for name in ("token", "probability", ""))
    return f"<table><caption>The next token.</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"


def _answer(reading: Reading, token: int, word: str) -> str:
    p = reading.probabilities[token].item()
    right = ' <span class="explorer-right">answer</span>' if word == reading.target else ""
    bar = f'<span><i class="explorer-bar" style="width:{100 * p:.1f}%"></i></span>'
    return (
        f'<tr><th scope="row">{_text(word)}{right}</th><td class="explorer-track">{bar}</td>'
        f'<td class="explorer-number">{_text(share(p))}</td></tr>'
    )


def _attention(reading: Reading) -> str:
    heads = [
        (f"L{layer}H{head}", pattern[-1])
        for layer, found in enumerate(reading.patterns)
        for head, pattern in enumerate(found)
    ]
    rows = "".join(
        f'<tr><th scope="row">{_text(word)}</th>'
        + "".join(f'<td class="explorer-number">{_text(share(row[place].item()))}</td>' for _, row in heads)
        + "</tr>"
        for place, word in enumerate(reading.words)
    )
    head = "".join(f'<th scope="col">{name}</th>' for name in ("position", *(name for name, _ in heads)))
    caption = "Attention of the last position."
    return f"<table><caption>{caption}</caption><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
