"""Edited answers that reuse the clean pass, against brute force: one prompt, one intervention, a whole second decoder.

Rows are read out at different positions, in some cases at the first, so that an edit reaches some rows and not others.
"""

import functools
import itertools
import random

import pytest
import reference
import torch
from given_run import untrained
from structural import structural, structurally_zero

from circuitcore.metrics import edited
from circuitcore.metrics.network import Network
from circuitcore.metrics.scores import interchange
from circuitcore.models import Ablate, CutEdge, Head, Mlp, ModelConfig, Patch, Site, compile_edits, forward
from circuitcore.models.edits import resolve
from circuitcore.models.plan import plan
from circuitcore.models.reach import Onset, onset
from circuitcore.models.sites import HEAD_SITES, STREAM_SITES, stage
from circuitcore.models.window import Window
from circuitcore.tasks import Batch, make_task

CLOSE = {"rtol": 1e-9, "atol": 1e-9}
VARIANTS = {
    "as is": {},
    "one layer": {"n_layers": 1},
    "three layers": {"n_layers": 3, "positions": "learned", "norm": "layer", "mlp": "gelu", "bias": "all"},
    "post-norm": {"n_layers": 3, "norm_position": "post", "mlp": "relu", "tied": False},
    "attention only": {"n_layers": 3, "norm": "none", "mlp": "none", "positions": "none", "tied": False},
    "untied": {"norm": "layer", "norm_position": "post", "bias": "all", "tied": False},
}
N_POS = 6
READ_OUTS = {"from the first": (4, 0, 5, 2, 3), "late": (4, 3, 5, 3, 4), "alike": (4, 4, 4, 4, 4)}
ROLES = {
    "first": (0, 0, 0, 0, 0),
    "second": (1, 1, 1, 1, 1),
    "late": (5, 5, 4, 5, 5),
    "somewhere": (2, 3, 1, 4, 0),
    "several": ((1, 3), (2, 5), (1, 2), (3, 4), (2, 3)),
}
PLACES = ("all", "read_out", *ROLES)
CUT_KEYS = ("second", "late", "several")  # never the first key: no query is left blind


class Given:
    """Two checkpoints of an architecture, five rows, and another five as sources."""

    def __init__(self, words, read_out):
        self.read_out, self.roles = read_out, ROLES | {"read_out": read_out}
        self.config = ModelConfig(d_vocab=11, n_ctx=8, n_heads=3, d_model=10, d_head=4, d_mlp=7, **words)
        self.both = [untrained(self.config, seed) for seed in (0, 1)]
        self.net = Network(self.config, {name: torch.stack([w[name] for w in self.both]) for name in self.both[0]})
        self.batch, self.other = (prompts(seed, self.roles) for seed in (0, 1))
        absent = ("mlp_out", "mlp_post") if self.config.mlp == "none" else ()
        self.sites = [
            Site(name, layer, head)
            for layer in range(self.config.n_layers)
            for name in STREAM_SITES + HEAD_SITES
            if name not in absent and (name != "resid_final" or layer == self.config.n_layers - 1)
            for head in ((None, 2) if name in HEAD_SITES else (None,))
        ]
        other = self.net.run(self.other, sorted({site.key for site in self.sites})).cache
        self.sources = {"other": other, "mean": {key: value.mean(1, keepdim=True) for key, value in other.items()}}
        self.inside = functools.cache(lambda prompt: reference.run(self.config, self.both[1], prompt)[1])

    def answers(self, interventions):
        return self.net.answers_under(self.batch, interventions, self.sources)

    def structural(self, interventions):
        return structural(self.config, self.net.weights, self.batch, interventions, self.sources)

    def by_brute_force(self, edits, row):
        """Logits of checkpoint 1 at the read-out of one row, and every vector inside."""
        changes = {}
        for edit in edits:
            changes |= self.changes(edit, row)
        logits, inside = reference.run(self.config, self.both[1], self.batch.tokens[row].tolist(), changes)
        return logits[self.read_out[row]], inside

    def changes(self, edit, row):
        if isinstance(edit, CutEdge):
            gone = torch.tensor(-torch.inf, dtype=torch.float64)
            edges = [(query, key) for query in self.positions(edit.query, row) for key in self.positions(edit.key, row)]
            return {("edge", *edit.head, edge): gone for edge in edges}
        if isinstance(edit, Patch):
            site, at, source = edit.site, edit.positions, edit.source
        else:
            part, at, source = edit.part, edit.positions, edit.how
            site = Site("z", *part) if isinstance(part, Head) else Site("mlp_out", part.layer)
        heads = [site.head] if site.head is not None or site.name in STREAM_SITES else range(self.config.n_heads)
        places = [(site.name, site.layer, head, position) for head in heads for position in self.positions(at, row)]
        return {place: self.value(place, source, row) for place in places}

    def value(self, place, source, row):
        rows = [self.inside(tuple(prompt)) for prompt in self.other.tokens.tolist()]
        if source == "mean":
            return sum(inside[place] for inside in rows) / len(rows)
        return torch.zeros_like(rows[row][place]) if source == "zero" else rows[row][place]

    def positions(self, role, row):
        at = range(N_POS) if role == "all" else self.roles[role][row]
        return [at] if isinstance(at, int) else list(at)


def prompts(seed, roles):
    tokens = torch.randint(11, (5, N_POS), generator=torch.Generator().manual_seed(seed))
    roles = {name: torch.tensor(positions) for name, positions in roles.items()}
    return Batch(tokens=tokens, targets=tokens, loss_mask=tokens >= 0, roles=roles)


@functools.cache
def given(name, read_out="alike"):
    return Given(VARIANTS[name], READ_OUTS[read_out])


@pytest.fixture(params=itertools.product(VARIANTS, READ_OUTS), ids=", read out ".join)
def case(request):
    return given(*request.param)


def any_edit(case, draw):
    """One edit of any kind at any place."""
    kind, layer = draw.random(), draw.randrange(case.config.n_layers)
    if kind < 0.6:
        return Patch(draw.choice(case.sites), draw.choice(PLACES), draw.choice(("other", "mean")))
    head = Head(layer, draw.randrange(3))
    if kind < 0.8:
        part = Mlp(layer) if case.config.mlp != "none" and draw.random() < 0.5 else head
        return Ablate(part, draw.choice(("zero", "mean")), draw.choice(PLACES))
    return CutEdge(head, draw.choice(PLACES), draw.choice(CUT_KEYS))


def test_random_interventions_are_what_brute_force_says(case):
    """Up to four edits anywhere; where two overlap the later one wins. Each intervention on one of the rows."""
    draw = random.Random(f"{case.config} {case.read_out}")
    interventions = [tuple(any_edit(case, draw) for _ in range(draw.randrange(5))) for _ in range(30)]
    found, last = case.answers(interventions), case.config.n_layers - 1
    for number, edits in enumerate(interventions):
        row = number % len(case.read_out)
        logits, inside = case.by_brute_force(edits, row)
        named = f"row {row}: {', '.join(map(str, edits))}"
        torch.testing.assert_close(found.logits[number, 1, row], logits, **CLOSE, msg=named)
        for head in range(3):
            seen = [inside.get(("pattern", last, head, (case.read_out[row], key)), 0.0) for key in range(N_POS)]
            pattern = torch.tensor([float(value) for value in seen], dtype=torch.float64)
            torch.testing.assert_close(found.pattern[number, 1, row, head], pattern, **CLOSE, msg=named)


def one_at_a_time(case):
    """Every site at every place, every cut; seven places to a site."""
    patches = [(Patch(site, place, "other"),) for site in case.sites for place in PLACES]
    heads = [Head(layer, 1) for layer in range(case.config.n_layers)]
    return patches + [(CutEdge(head, query, key),) for head in heads for query in PLACES for key in CUT_KEYS]


@pytest.mark.parametrize(("name", "read_out"), tuple(itertools.product(["as is", "one layer"], READ_OUTS)))
def test_structural_is_exactly_what_brute_force_cannot_move(name, read_out):
    """Zero to the last bit where it is said to be, and something in at least one row everywhere else.

    All of them where rows are read out from the first position on; else one in three, of all sites and of all places.
    """
    case, rows = given(name, read_out), range(5)
    interventions = one_at_a_time(case)[:: 1 if read_out == "from the first" else 3]
    found, unseen = case.answers(interventions), case.structural(interventions)
    clean = [case.by_brute_force((), row)[0] for row in rows]
    reused = case.answers([()]).logits[0]
    for edits, logits, zero in zip(interventions, found.logits, unseen, strict=True):
        moved = any(not torch.equal(case.by_brute_force(edits, row)[0], clean[row]) for row in rows)
        assert zero != moved, str(edits[0])
        assert torch.equal(logits, reused) == zero, str(edits[0])
    assert 0 < sum(unseen) < len(interventions)


@pytest.mark.parametrize("name", VARIANTS)
def test_structural_needs_every_edit_to_be_out_of_sight(name):
    case = given(name)
    last = case.config.n_layers - 1
    unseen, seen = Ablate(Head(last, 0), "zero", "second"), Ablate(Head(last, 0), "zero", "read_out")
    asked = [(unseen,), (unseen, unseen), (unseen, seen), (seen,), ()]
    found = case.answers(asked)
    assert case.structural(asked) == (True, True, False, False, False)
    assert torch.equal(found.logits[2], found.logits[3])
    assert torch.equal(found.logits[0], found.logits[4])  # no edits at all: the clean answers, and no claim


def test_nothing_is_run_for_what_cannot_be_seen(monkeypatch):
    case, passes = given("as is"), []
    monkeypatch.setattr(edited, "forward", lambda *args, **words: passes.append(args) or forward(*args, **words))
    unseen = [(Patch(Site("resid_final", 1), "late", "other"), Ablate(Head(1, 0), "zero", "second"))]
    several = [(Ablate(Head(1, head), "zero", "read_out"),) for head in range(3)]
    batch = case.batch.rows(torch.tensor([0, 1, 3]))  # where "late" comes after the read-out
    case.net.answers_under(batch, [(), *unseen, ()], {"other": case.sources["mean"]})
    assert len(passes) == 1
    passes.clear()
    case.net.answers_under(batch, [(), *unseen, *several], {"other": case.sources["mean"]})
    assert len(passes) == 2


def test_a_pass_reads_only_the_weights_downstream():
    """From a head's write in the last layer on: neither layer 0 nor the last layer's queries, keys and values."""
    case = given("as is")
    clean = forward(case.config, case.net.weights, case.batch.tokens, record=["z.1", "resid_pre.1"]).cache
    part = Window(torch.tensor(case.read_out), 1, (1, stage("z")), stop=N_POS, clean=clean)
    edits = [resolve([Ablate(Head(1, 0), "zero")], case.batch.roles, {}, clean)]
    upstream = ("blocks.0.", "blocks.1.attn.W_Q", "blocks.1.attn.W_K", "blocks.1.attn.W_V", "blocks.1.ln1")
    downstream = {name: value for name, value in case.net.weights.items() if not name.startswith(upstream)}
    found = forward(case.config, downstream, case.batch.tokens, plan(edits, part)).logits[..., 0, :]
    torch.testing.assert_close(found, case.answers([(Ablate(Head(1, 0), "zero"),)]).logits, **CLOSE)


def test_vectors_are_taken_up_like_tokens():
    config = ModelConfig(d_vocab=11, n_ctx=8, n_heads=3, d_model=10, d_head=4, d_mlp=7, d_in=3, tied=False)
    weights, read_out = untrained(config, 0), torch.tensor(READ_OUTS["late"])
    vectors = torch.randn(5, N_POS, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    clean = forward(config, weights, vectors, record=["resid_pre.0", "k.0", "v.0", "k.1", "v.1", "z.0"])
    edits = [(Ablate(Head(0, 0), "zero", "late"),), (Ablate(Head(0, 1), "zero", "late"),)]
    roles = {name: torch.tensor(at) for name, at in ROLES.items()}
    expected = forward(config, weights, vectors, compile_edits(edits, roles, {}, clean.cache)).logits
    for start in ((0, stage("z")), (0, -1)):
        part = Window(read_out, 1, start, first=3, stop=N_POS, clean=clean.cache)
        found = forward(config, weights, vectors, plan([resolve(e, roles, {}, clean.cache) for e in edits], part))
        torch.testing.assert_close(found.logits[:, :, 0], expected[:, torch.arange(5), read_out], **CLOSE)


@pytest.mark.parametrize(
    "edit, expected",
    [
        (Patch(Site("resid_pre", 0), "all", "other"), Onset(0, 0, 0)),
        (Patch(Site("v", 1), "several", "other"), Onset(1, 1, 1)),
        (Patch(Site("z", 0, 1), "late", "other"), Onset(0, 4, stage("z"))),
        (Patch(Site("z", 1), "read_out", "other"), Onset(1, 3, stage("z"))),
        (Patch(Site("z", 1), "first", "other"), None),
        (Patch(Site("q", 0), "first", "other"), None),  # attends to itself alone, whatever it asks
        (CutEdge(Head(0, 0), "second", "late"), None),  # forbids what causal attention forbids anyway
        (Ablate(Mlp(0), "zero", "several"), Onset(0, 1, stage("mlp_out"))),
    ],
)
def test_onset(edit, expected):
    case = given("as is", "late")
    like = case.sources["other"] | case.net.run(case.batch, ["scores.0"]).cache
    found = resolve([edit], case.batch.roles, case.sources, like)
    assert onset(found, torch.tensor(case.read_out), 2) == expected


def test_errors_name_what_was_asked_for():
    case = given("as is")
    for edit, words in {
        Patch(
            Site("z", 5), "all", "other"
        ): r"no layer 5, or it must be recorded first; there are clean values of layers up to 1",
        Patch(Site("pattern", 0), "all", "other"): "L0.pattern can be recorded but not patched",
        Ablate(Head(1, 7), "zero", "late"): "no head 7; the layer has heads 0..2",
        Patch(Site("z", 1), "nowhere", "other"): "unknown positions 'nowhere'",
        Patch(Site("z", 1), "late", "gone"): "in the cache 'gone'",
    }.items():
        with pytest.raises(ValueError, match=words):
            case.answers([(), (edit,)])


@pytest.mark.parametrize("n_layers", [1, 2, 3])
def test_labels_tell_which_interchanges_are_structural(n_layers):
    config = ModelConfig(d_vocab=20, n_ctx=16, n_layers=n_layers, d_model=8, d_mlp=6)
    net = Network(config, {name: value[None] for name, value in untrained(config, 0).items()})
    moved, unseen = set(), set()
    for test in make_task("symbolic_kv", {}).interchanges(2):
        patched, clean = interchange.patch_everywhere(net, test), net.answers_under(test.base, [()], {}).logits[0]
        equal = [torch.equal(logits, clean) for logits in patched.answers.logits]
        moved |= {label for label, same in zip(patched.labels, equal, strict=True) if not same}
        unseen |= {label for label in patched.labels if structurally_zero(n_layers, *label)}
    assert unseen == set(patched.labels) - moved  # by some experiment, all others move
    assert len(unseen) == 9  # of the last layer: stream, MLP, each head's and all heads' write and query
