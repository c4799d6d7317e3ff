"""The explorer's arithmetic in Chromium against ``probe``: the published networks, and every kind of architecture.

The page keeps weights and activations as float32 and adds up in float64. Against Python in float64 only the rounding of
activations is left. Python in float32 also adds up in float32, in an order of its own, so it is further away from both.
"""

import random
from dataclasses import dataclass, field

import pytest
import torch
from conftest import page_with
from test_game import VARIANTS, a_network

from circuitcore.ground.environment import Folders
from circuitcore.models import forward
from circuitcore.models.edit_text import parse_edit
from circuitcore.models.sites import HEAD_SITES
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer.probe import Question, attribution, edited_pass, read
from livingpaper.explorer.references import references
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import STATIC

N_CASES, N_RANDOM, N_ROWS, N_PROMPTS = 120, 60, 5, 2000
EXACT = 1e-5
"""Largest gap to Python in float64: of logits and shares relative to the largest logit (at least 1), and of patterns.

Seen: logits 8e-7 and patterns 1e-6 (published networks), 1e-7 and 1e-7 (random ones).
"""
SINGLE = 2e-5
"""The same to Python in float32. Seen: logits 2e-6 and patterns 5e-6 (published networks), 3e-7 and 2e-7 (random
ones); the order of its sums is the machine's, hence the room.
"""
TIE = 1e-4
"""Logits closer than this may swap places."""
READ = """([packed, ids, edits, rows, resample, source]) => {
    const model = circuitDecoder.unpack(packed, 0), run = (ids, edits = {}) => circuitEdits.forward(model, ids, edits);
    const parsed = edits.map(circuitEdits.parse), uses = kind => parsed.some(edit => edit.kind === kind), caches = {};
    if (uses('mean')) caches.mean = circuitEdits.mean(rows.map(row => run(row).cache));
    if (uses('resample')) caches.resample = run(rows[resample]).cache;
    if (uses('patch')) caches.source = run(source).cache;
    const result = run(ids, circuitEdits.compile(edits, ids.length, caches)), { config } = model, shares = {};
    const layers = Array.from({ length: config.n_layers }, (_, layer) => layer);
    if (config.norm_position === 'pre') {
        for (const { part, shares: own } of circuitAttribution.shares(model, result, ids.length - 1)) shares[part] = [...own];
    }
    const patterns = layers.map(layer => [...result.cache[`pattern.${layer}`]]);
    const again = ({ kind, site, layer, head, source, positions, query, key }) => {
        const part = `L${layer}${head === null ? '' : `H${head}`}`;
        const what = kind === 'patch' ? `.${site}<-${source}` : head === null ? 'MLP' : '';
        return kind === 'cut' ? `cut(${part}:${query}->${key})` : `${kind}(${part}${what})@${positions}`;
    };
    return { logits: [...result.logits], patterns, shares, texts: parsed.map(again) };
}"""  # noqa: E501


@dataclass
class Gaps:
    """The largest differences between the page and Python, of one kind of network."""

    logits: float = 0.0
    relative: float = 0.0
    patterns: float = 0.0
    shares: float = 0.0
    flips: int = 0
    n: int = 0
    names: set = field(default_factory=set)

    def add(self, page, logits, patterns, shares):
        scale = max(1.0, logits.abs().max().item())
        found = torch.tensor(page["logits"], dtype=torch.float64).reshape(logits.shape)
        gap = (found - logits).abs().max().item()
        self.logits, self.relative = max(self.logits, gap), max(self.relative, gap / scale)
        for own, pattern in zip(page["patterns"], patterns, strict=True):
            own = torch.tensor(own, dtype=torch.float64).reshape(pattern.shape)
            self.patterns = max(self.patterns, (own - pattern).abs().max().item())
        assert list(page["shares"]) == list(shares)
        for part, share in shares.items():
            own = torch.tensor(page["shares"][part], dtype=torch.float64)
            self.shares = max(self.shares, (own - share).abs().max().item() / max(scale, share.abs().max().item()))
        top = logits.topk(2).values
        clear = top[:, 0] - top[:, 1] > TIE
        self.flips += int((found.argmax(-1) != logits.argmax(-1))[clear].sum())
        self.n += 1

    def assert_within(self, tolerance):
        assert max(self.relative, self.shares) <= tolerance
        assert self.patterns <= tolerance
        assert self.flips == 0


@pytest.fixture(scope="module")
def blank(browser):
    """An empty page with the forward pass and the edits in it."""
    yield from page_with(browser, *(STATIC / script for script in ("decoder.js", "attribution.js", "edits.js")))


def random_edit(dice, config, n_pos):
    """One edit of any kind, as text; a cut only of a query with keys to spare."""
    layer, head = dice.randrange(config.n_layers), dice.randrange(config.n_heads)
    at = dice.choice(["all", dice.randrange(n_pos)])
    kind = dice.choice(["zero", "mean", "resample", "patch", *(["cut"] if n_pos > 3 else [])])
    if kind == "cut":
        query = dice.randrange(3, n_pos)
        return f"cut(L{layer}H{head}:{query}->{dice.randrange(query + 1)})"
    has_mlp = config.mlp != "none"
    if kind == "patch":
        streams = ["resid_pre", "resid_mid", "resid_post", *(["mlp_out", "mlp_post"] if has_mlp else [])]
        name = dice.choice([*HEAD_SITES, *streams, "resid_final"])
        of_head = f"H{head}" if name in HEAD_SITES and dice.random() < 0.7 else ""
        return f"patch(L{config.n_layers - 1 if name == 'resid_final' else layer}{of_head}.{name}<-source)@{at}"
    return f"{kind}(L{layer}{dice.choice([f'H{head}', 'MLP']) if has_mlp else f'H{head}'})@{at}"


def random_edits(dice, config, n_pos):
    return [random_edit(dice, config, n_pos) for _ in range(dice.randrange(4))]


def is_prompt(task, words):
    return any(form.has_length(len(words)) and form.fault(words) is None for form in task.forms)


def two_prompts(dice, task):
    """Two rows of one split, or how they begin where that makes prompts too."""
    tokens = task.few(dice.choice(task.splits), N_PROMPTS).tokens
    rows = [task.decode(tokens[dice.randrange(len(tokens))]).split() for _ in range(2)]
    lengths = [n for n in range(1, tokens.shape[1] + 1) if all(is_prompt(task, row[:n]) for row in rows)]
    n_words = dice.choice(lengths)
    return [" ".join(row[:n_words]) for row in rows]


def published_cases():
    """(run, step, question), every run in turn."""
    dice = random.Random(6)
    runs = [run for run in RunStore(Folders.from_environment().published, None).runs() if run.steps]
    # Networks that read rows of vectors have no prompts; `test_hops.py` holds those to the library.
    runs = [run for run in runs if run.recipe.model.d_in == 0]
    for number in range(N_CASES):
        run = runs[number % len(runs)]
        prompt, source = two_prompts(dice, run.recipe.make_task())
        edits = tuple(random_edits(dice, run.recipe.model, len(prompt.split())))
        yield (
            run,
            dice.choice(run.steps),
            Question(prompt=prompt, edits=edits, source=source, resample=dice.randrange(32)),
        )


def measured(blank):
    """Chapter -> the gaps to Python in float64 and in float32, over all cases."""
    found = {}
    for run, step, question in published_cases():
        config, task, weights = run.recipe.model, run.recipe.make_task(), run.weights(step)
        ids, source = (task.encode(text).tolist() for text in (question.prompt, question.source))
        rows = references(task, len(ids)).tolist()
        model = packed(config, {step: weights})
        page = blank.evaluate(READ, [model, ids, list(question.edits), rows, question.resample, source])
        assert page["texts"] == list(question.edits)
        gaps = found.setdefault(run.recipe.task, (Gaps(), Gaps()))
        for gap, precision in zip(gaps, (torch.float64, torch.float32), strict=True):
            reading = read(config, {name: w.to(precision) for name, w in weights.items()}, task, question)
            gap.add(page, reading.logits, reading.patterns, reading.attribution or {})
            gap.names.add(run.run_id)
    return found


def random_cases():
    """(config, weights, inputs [1 pos ...], other rows, edits, number of the row that "resample" takes)."""
    dice, generator = random.Random(7), torch.Generator().manual_seed(7)
    for number in range(N_RANDOM):
        config, weights, inputs = a_network(VARIANTS[number % len(VARIANTS)])
        shape = (N_ROWS, *inputs.shape[1:])
        rows = torch.randn(shape, generator=generator) if config.d_in else None
        rows = torch.randint(config.d_vocab, shape, generator=generator) if rows is None else rows
        yield config, weights, inputs, rows, random_edits(dice, config, inputs.shape[1]), dice.randrange(N_ROWS)


def in_python(config, weights, inputs, rows, edits, resample):  # noqa: PLR0913 - what the page is asked
    """Logits ``[pos vocab]``, patterns and shares; "source" is the first of the rows."""
    activations = edited_pass(config, weights, rows[:1], [], {}).cache
    every = [edited_pass(config, weights, row[None], [], {}).cache for row in rows]
    mean = {key: torch.stack([cache[key] for cache in every]).mean(0) for key in activations}
    sources = {"mean": mean, "resample": every[resample], "source": activations}
    output = edited_pass(config, weights, inputs, [parse_edit(text) for text in edits], sources)
    patterns = [output.cache[f"pattern.{layer}"][0] for layer in range(config.n_layers)]
    shares = attribution(config, weights, output.cache) if config.norm_position == "pre" else {}
    return output.logits[0], patterns, shares


def test_the_page_reads_published_networks_as_probe_does(blank):
    found = measured(blank)
    assert sum(exact.n for exact, _ in found.values()) == N_CASES
    for exact, single in found.values():
        exact.assert_within(EXACT)
        single.assert_within(SINGLE)


def test_the_page_computes_every_architecture_under_edits_as_python_does(blank):
    exact, single = Gaps(), Gaps()
    for config, weights, inputs, rows, edits, resample in random_cases():
        model = packed(config, {0: weights})
        asked = [model, inputs[0].tolist(), edits, rows.tolist(), resample, rows[0].tolist()]
        page = blank.evaluate(READ, asked)
        for gaps, precision in ((exact, torch.float64), (single, torch.float32)):
            exactly = {name: w.to(precision) for name, w in weights.items()}
            seen = [x.to(precision) if config.d_in else x for x in (inputs, rows)]
            gaps.add(page, *in_python(config, exactly, *seen, edits, resample))
    assert exact.n == N_RANDOM
    exact.assert_within(EXACT)
    single.assert_within(SINGLE)


@pytest.mark.parametrize("variant", VARIANTS, ids=str)
def test_the_shares_of_all_parts_sum_to_the_logits(blank, variant):
    """Less what no part wrote: biases of attention and unembedding, and the final norm's shift, here all zero."""
    config, weights, inputs = a_network(variant)
    unwritten = ("b_O", "ln_final.b", "b_U")
    weights = {name: torch.zeros_like(w) if name.endswith(unwritten) else w for name, w in weights.items()}
    asked = [packed(config, {0: weights}), inputs[0].tolist(), [], [], 0, []]
    page = blank.evaluate(READ, asked)
    if config.norm_position == "post":
        assert page["shares"] == {}
        with pytest.raises(Exception, match="needs a pre-norm residual stream; this model is post-norm"):
            blank.evaluate(
                "([packed]) => circuitAttribution.shares(circuitDecoder.unpack(packed, 0), { cache: {} }, 0)", asked
            )
        return
    last = torch.tensor(page["logits"])[-config.d_vocab :]
    assert torch.allclose(torch.tensor(list(page["shares"].values())).sum(0), last, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "edit",
    [
        *("", "zero(L0)@all", "zero(L0H0)@", "zero(L01H0)@all", "zero(L0H0)@all\n", "patch(L0.z)@all", "cut(L0H0:1)"),
        *("zero(L0H0)@9", "mean(L0H0)@03", "zero(L0H0)@read_out", "cut(L0H0:9->1)", "cut(L0H0:all->1)"),
        *("cut(L0H0:1->2)", "cut(L0H0:0->0)", "cut(L0H2:2->1)", "cut(L2H0:2->1)", "zero(L2H0)@all", "mean(L0H2)@1"),
        *("resample(L2MLP)@1", "patch(L0.resid_final<-source)@1", "patch(L7.z<-source)@1", "patch(L0H5.q<-source)@1"),
        *("patch(L0.pattern<-source)@all", "patch(L0.resid<-source)@1", "patch(L0H1.mlp_out<-source)@1"),
        "patch(L0.z<-mean)@all",
    ],
)
def test_the_page_refuses_an_edit_with_pythons_sentence(blank, edit):
    config, weights, inputs = a_network({})
    with pytest.raises(ValueError) as python:
        in_python(config, weights, inputs, inputs, [edit], 0)
    tokens = inputs[0].tolist()
    script = f"asked => {{ try {{ ({READ})(asked); }} catch (error) {{ return error.message; }} }}"
    asked = [packed(config, {0: weights}), tokens, [edit], [tokens], 0, tokens]
    assert blank.evaluate(script, asked) == str(python.value)


def test_an_edit_is_not_made_twice(blank):
    """Values that are put in are read, and sites that share an array are not changed together."""
    config, weights, inputs = a_network({"mlp": "none"})
    script = """([packed, ids]) => {
        const model = circuitDecoder.unpack(packed, 0), clean = circuitDecoder.forward(model, ids).cache;
        const before = [...clean['resid_post.0']], value = Float32Array.from(before, () => 1);
        const puts = [{ site: 'resid_post', layer: 0, head: null, positions: [2], value }];
        const { cache } = circuitEdits.forward(model, ids, { puts });
        const again = circuitDecoder.forward(model, ids).cache;
        return [value.every(x => x === 1), cache['resid_mid.0'].every((x, i) => x === clean['resid_mid.0'][i]),
            before.every((x, i) => x === again['resid_post.0'][i]), [...cache['resid_post.0']]];
    }"""
    *untouched, edited = blank.evaluate(script, [packed(config, {0: weights}), inputs[0].tolist()])
    assert untouched == [True, True, True]
    clean = forward(config, weights, inputs, record=["resid_post.0"]).cache["resid_post.0"][0]
    clean[2] = 1
    assert torch.allclose(torch.tensor(edited).reshape(clean.shape), clean, atol=1e-5)
