"""Edited passes in C++ against the same passes in torch: logits, patterns, and what is called structurally zero."""

import random

import pytest
import torch
from native_cases import N_POS, config_of, lively_weights, pairwise
from structural import structural

from circuitcore.metrics import edited
from circuitcore.models import ModelConfig, forward
from circuitcore.models.edits import Ablate, CutEdge, Patch
from circuitcore.models.sites import HEAD_SITES, Head, Mlp, Site
from circuitcore.native import NativeDecoder, why_not
from circuitcore.tasks.base import Batch

pytestmark = pytest.mark.skipif(bool(why_not()), reason=f"no native engine here: {why_not()}")

BOUND = 5e-5  # of logits, relative to their spread; of patterns as they are
SITES = ("resid_pre", "q", "k", "v", "z", "resid_mid", "mlp_post", "mlp_out", "resid_post")
N_ROWS, N_CKPTS = 21, 2
READ_OUTS = ("last", "per row", "early", "first")


def sites_of(config):
    return [site for site in SITES if config.mlp != "none" or not site.startswith("mlp")]


class Questions:
    """Rows to run under random interventions, with sources of every shape that broadcasts."""

    def __init__(self, config, read_out="last", seed=0, n_ckpts=N_CKPTS):
        self.config, self.draw = config, random.Random(seed)
        generator = torch.Generator().manual_seed(seed)
        of_each = [lively_weights(config, seed + number) for number in range(n_ckpts)]
        self.weights = {name: torch.stack([w[name] for w in of_each]) for name in of_each[0]}
        shape = (N_ROWS, N_POS)
        tokens = torch.randint(config.d_vocab, shape, generator=generator)
        inputs, others = (self.drawn(shape, generator) for _ in range(2))
        at = {
            "last": torch.full((N_ROWS,), N_POS - 1),
            "per row": torch.randint(2, N_POS, (N_ROWS,), generator=generator),
            "early": torch.arange(N_ROWS) % 3,
            "first": torch.zeros(N_ROWS, dtype=torch.int64),
        }[read_out]
        roles = {"read_out": at, "start": torch.zeros(N_ROWS, dtype=torch.int64)}
        roles |= {"one": torch.randint(0, N_POS, (N_ROWS,), generator=generator)}
        roles |= {"two": torch.randint(0, N_POS, (N_ROWS, 2), generator=generator)}
        mask = torch.ones(shape, dtype=torch.bool)
        self.batch = Batch(tokens=tokens, targets=tokens, loss_mask=mask, roles=roles)
        object.__setattr__(self.batch, "tokens", inputs)  # no task has vector inputs yet, so a Batch takes ids only
        record = [f"{site}.{layer}" for site in sites_of(config) for layer in range(config.n_layers)]
        cache = forward(config, self.weights, others, record=record).cache
        self.sources = {
            "other": cache,
            "mean": {key: value.mean(1, keepdim=True) for key, value in cache.items()},
            "resample": {key: value.roll(1, 1) for key, value in cache.items()},
            "of one checkpoint": {key: value[:1] for key, value in cache.items()},
            "without checkpoints": {key: value[0] for key, value in cache.items()},
            "one position": {key: value[:, :, :1] for key, value in cache.items()},
            "turned": {key: value.mT.contiguous().mT for key, value in cache.items()},
        }

    def drawn(self, shape, generator):
        if self.config.d_in:
            return torch.randn(*shape, self.config.d_in, generator=generator)
        return torch.randint(self.config.d_vocab, shape, generator=generator)

    def edit(self):
        draw, config = self.draw, self.config
        layer, head = draw.randrange(config.n_layers), draw.randrange(config.n_heads)
        where = draw.choice(["read_out", "start", "one", "two", "all"])
        kind = draw.choice(["head", "mlp", "cut", "patch", "patch", "patch"])
        if kind == "head":
            return Ablate(Head(layer, head), draw.choice(["zero", "mean", "resample"]), where)
        if kind == "mlp" and config.mlp != "none":
            return Ablate(Mlp(layer), draw.choice(["zero", "mean", "resample"]), where)
        if kind == "cut":
            return CutEdge(Head(layer, head), draw.choice(["read_out", "two", "all"]), "one")
        site = draw.choice(sites_of(config))
        one_head = head if site in HEAD_SITES and draw.random() < 0.7 else None
        return Patch(Site(site, layer, one_head), where, draw.choice(sorted(self.sources)))

    def interventions(self, count):
        """Random ones of one to four edits; those that ``resolve`` refuses (queries left blind) are drawn again."""
        made = []
        while len(made) < count:
            together = tuple(self.edit() for _ in range(self.draw.choice([1, 1, 1, 2, 3, 4])))
            try:
                edited.resolve(together, self.batch.roles, self.sources, self.like)
            except ValueError as error:
                assert "no key to attend to" in str(error)
                continue
            made.append(together)
        return made

    @property
    def like(self):
        """A clean cache of every site that can be edited."""
        names = (*sites_of(self.config), "scores")
        keys = [f"{name}.{layer}" for name in names for layer in range(self.config.n_layers)]
        return forward(self.config, self.weights, self.batch.tokens, record=keys).cache

    def ask(self, interventions, batch=None):
        return edited.answers_under(self.config, self.weights, batch or self.batch, interventions, self.sources)

    def structural(self, interventions):
        return structural(self.config, self.weights, self.batch, interventions, self.sources)


def assert_agree(questions, interventions, monkeypatch):
    ours = questions.ask(interventions)
    with monkeypatch.context() as patch:
        patch.setattr(edited, "covers", lambda *asked: False)
        theirs = questions.ask(interventions)
    spread = theirs.logits.std()
    for number, together in enumerate(interventions):
        words = "; ".join(map(str, together))
        of_logits = (ours.logits[number] - theirs.logits[number]).abs().max() / spread
        of_pattern = (ours.pattern[number] - theirs.pattern[number]).abs().max()
        assert of_logits <= BOUND, f"logits off by {of_logits:.1e} under {words}"
        assert of_pattern <= BOUND, f"pattern off by {of_pattern:.1e} under {words}"
    return ours


@pytest.mark.parametrize("read_out", READ_OUTS)
def test_any_decoder_under_any_edits(read_out, monkeypatch):
    for number, case in enumerate(pairwise(seed=READ_OUTS.index(read_out))[::2]):
        questions = Questions(config_of(case), read_out, seed=number)
        assert_agree(questions, questions.interventions(10), monkeypatch)


@pytest.mark.parametrize("n_layers", [1, 2, 3])
@pytest.mark.parametrize("read_out", READ_OUTS)
@pytest.mark.parametrize("norm_position", ["pre", "post"])
def test_every_site_at_every_layer_alone(n_layers, read_out, norm_position, monkeypatch):
    config = ModelConfig(
        d_vocab=11, n_ctx=12, n_layers=n_layers, d_model=20, d_head=10, d_mlp=21, norm_position=norm_position
    )
    questions = Questions(config, read_out)
    where = ("read_out", "two", "start")
    alone = [(Patch(Site(site, at), role, "other"),) for site in SITES for at in range(n_layers) for role in where]
    alone += [(CutEdge(Head(at, 1), "read_out", "start"),) for at in range(n_layers) if read_out in ("last", "per row")]
    answers = assert_agree(questions, alone, monkeypatch)
    clean = questions.ask([()]).logits[0]
    # An edit that is not called structurally zero must have done something here, and one that is, nothing.
    for together, logits, zero in zip(alone, answers.logits, questions.structural(alone), strict=True):
        assert torch.equal(logits, clean) == zero, together[0]


def test_edits_that_meet(monkeypatch):
    """The later one wins, at the same site; at sites that follow each other each acts on what the other left."""
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21), "per row")
    first, second = Ablate(Head(0, 1), "mean", "all"), Patch(Site("z", 0), "two", "other")
    cuts = (CutEdge(Head(1, 0), "read_out", "start"), CutEdge(Head(1, 1), "all", "one"))
    chain = tuple(Patch(Site(site, at), "two", "other") for at in (0, 1) for site in ("q", "mlp_post", "mlp_out"))
    asked = [(first, second), (second, first), chain, chain[::-1], (first, *chain), (*cuts, first), (first,), (second,)]
    found = assert_agree(questions, [together for together in asked if not refused(questions, together)], monkeypatch)
    assert not torch.equal(found.logits[0], found.logits[1])
    assert not any(torch.equal(found.logits[0], alone) for alone in found.logits[-2:])


def refused(questions, together):
    try:
        edited.resolve(together, questions.batch.roles, questions.sources, questions.like)
    except ValueError:
        return True
    return False


@pytest.mark.parametrize("seed", range(3))
def test_more_rows_than_a_chunk_holds(seed, monkeypatch):
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21), "per row", seed)
    many = torch.arange(130) % N_ROWS
    questions.batch = questions.batch.rows(many)
    for name in ("other", "resample", "of one checkpoint", "one position", "turned"):
        questions.sources[name] = {key: value[:, many] for key, value in questions.sources[name].items()}
    del questions.sources["without checkpoints"]
    assert_agree(questions, questions.interventions(12), monkeypatch)


def test_an_intervention_does_not_depend_on_its_neighbours():
    """Neither on the other interventions of the call, nor on the calls before."""
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21, n_layers=3), "per row")
    several = questions.interventions(30)
    together = questions.ask(several)
    for number, alone in enumerate(several):
        found = questions.ask([alone])
        assert torch.equal(found.logits[0], together.logits[number]), alone
        assert torch.equal(found.pattern[0], together.pattern[number]), alone


def test_no_edit_at_all():
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12), "per row")
    found = questions.ask([(), (Ablate(Head(1, 0), "zero", "read_out"),), ()])
    assert torch.equal(found.logits[0], found.logits[2]) and not torch.equal(found.logits[0], found.logits[1])
    assert questions.ask([]).logits.shape == (0, N_CKPTS, N_ROWS, 11)


def test_nothing_after_the_read_out_is_seen():
    """Changed words after the read-out, and edits there, leave its bits alone."""
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12), "per row")
    at, tokens = questions.batch.roles["read_out"], questions.batch.tokens
    after = torch.arange(N_POS) > at[:, None]
    asked = questions.interventions(8)
    changed = Batch(
        tokens=torch.where(after, (tokens + 1) % 11, tokens),
        targets=questions.batch.targets,
        loss_mask=questions.batch.loss_mask,
        roles=questions.batch.roles,
    )
    assert after.any()
    assert torch.equal(questions.ask(asked).logits, questions.ask(asked, changed).logits)


SHAPES = [(), (1,), (1, 1, 1, 1), (1, 1, 1, 1, 1), (10,), (2, 1), (N_POS, 1, 1), (N_ROWS, 1, 1, 10), (2, 1, 1, 1, 1)]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_a_source_of_any_shape_that_broadcasts(shape, monkeypatch):
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21), "per row")
    value = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    questions.sources["given"] = {"z.0": value, "z.1": value}
    patches = [(Patch(Site("z", layer, head), "all", "given"),) for layer in (0, 1) for head in (None, 1)]
    found = assert_agree(questions, patches, monkeypatch)
    assert not torch.equal(found.logits[0], found.logits[1])


@pytest.mark.parametrize("site", ["resid_pre", "mlp_post", "mlp_out"])
def test_one_number_for_a_whole_vector(site, monkeypatch):
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12, d_model=20, d_head=10, d_mlp=21), "per row")
    questions.sources["given"] = {f"{site}.0": torch.full((N_ROWS, 1, 1), 0.3)}
    assert_agree(questions, [(Patch(Site(site, 0), "two", "given"),)], monkeypatch)


def test_what_it_does_not_cover_is_left_to_torch(monkeypatch):
    questions = Questions(ModelConfig(d_vocab=11, n_ctx=12), "per row")
    head = (Ablate(Head(1, 0), "zero", "read_out"),)
    native, passes = [], NativeDecoder.answers
    monkeypatch.setattr(NativeDecoder, "answers", lambda *given: native.append(1) or passes(*given))
    in_float32 = questions.ask([head])
    assert len(native) == N_CKPTS
    clean = forward(questions.config, questions.weights, questions.batch.tokens, record=["resid_final.1"])
    questions.sources["final"] = clean.cache
    questions.ask([(Patch(Site("resid_final", 1), "read_out", "final"),)])
    questions.weights = {name: value.double() for name, value in questions.weights.items()}
    questions.sources = {}
    in_float64 = questions.ask([head])
    assert len(native) == N_CKPTS, "neither edits of the final norm nor float64 are made in C++"
    assert in_float64.logits.dtype == torch.float64
    assert (in_float32.logits - in_float64.logits).abs().max() < 1e-4 * in_float64.logits.std()


def test_rows_that_do_not_fit_are_refused():
    config = ModelConfig(d_vocab=11, n_ctx=12)
    decoder = NativeDecoder(config)
    weights = decoder.flat.join(lively_weights(config))
    tokens, at = torch.zeros(3, 12, dtype=torch.int64), torch.full((3,), 11)
    decoder.answers(weights, tokens, at, [])
    for bad, read_out, words in (
        (torch.zeros(3, 13, dtype=torch.int64), at, "13 positions.* at most 12"),
        (torch.full((3, 12), 11), at, r"token ids .*vocabulary is 0\.\.10"),
        (tokens - 1, at, r"token ids .*vocabulary is 0\.\.10"),
        (tokens, at + 1, r"read-outs .* positions 0\.\.11"),
        (tokens, at - 12, r"read-outs .* positions 0\.\.11"),
    ):
        with pytest.raises(ValueError, match=words):
            decoder.answers(weights, bad, read_out, [])
