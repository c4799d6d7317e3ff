"""Exported networks in TransformerLens, in an environment of its own: equal in every site, ablation and patch."""

import dataclasses
import itertools
import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest
import torch
from covers import of_all_triples, triples
from safetensors.torch import load_file, save_file

import paper
from benchmarks.__main__ import LENS_FOLDER
from benchmarks.environments import lens
from circuitcore.export import export, find_run, transformer_lens_files
from circuitcore.models import Ablate, Head, ModelConfig, Patch, Site, compile_edits, forward, init_weights
from circuitcore.models.sites import SITES
from circuitcore.models.transformer_lens import hooked_config
from circuitcore.training import RunStore

ROOT = Path(paper.__file__).resolve().parent
PUBLISHED = (
    "symbolic_kv-184c3e21d23e",
    "textual_kv-4f47b903cbfb",  # curriculum off
    "textual_kv-d45a744577ac",  # curriculum on
    "story-e6a34a3a5d93",
    "planted_repeats-3d37b34dc2f8",
)
PAGE = (ROOT / "book/rerun_and_extend.md").read_text(encoding="utf-8")
(SNIPPET,) = re.findall(r"```py\n(.*?)```", PAGE, re.DOTALL)
# Of the largest value of a tensor, or of 1 if that is more. Trained networks have logits of up to 4,000; in float32
# either library is then as far from its own float64 as from the other one.
MOST_OFF = {"float32": 1e-5, "float64": 1e-13}
HEAD, PATCHED_AT = 1, 3
HOOKS = {
    **{name: f"hook_{name}" for name in ("resid_pre", "resid_mid", "resid_post", "mlp_out")},
    **{"q": "attn.hook_q", "k": "attn.hook_k", "v": "attn.hook_v", "z": "attn.hook_z"},
    **{"scores": "attn.hook_attn_scores", "pattern": "attn.hook_pattern", "result": "attn.hook_result"},
    "mlp_post": "mlp.hook_post",
}
WORDS = ("norm", "norm_position", "positions", "mlp", "tied", "bias")
ALLOWED = {field.name: get_args(field.type) or (False, True) for field in dataclasses.fields(ModelConfig)}


def tiny_models():
    """Every combination of words, each with sizes of its own; by a name made of the words."""
    drawn = torch.Generator().manual_seed(3)

    def size(least, most):
        return int(torch.randint(least, most + 1, (), generator=drawn))

    for words in itertools.product(*(ALLOWED[word] for word in WORDS)):
        sizes = {"d_vocab": size(7, 12), "n_ctx": size(6, 9), "n_layers": size(1, 3), "n_heads": size(2, 3)}
        sizes |= {"d_model": size(9, 14), "d_head": 2 * size(1, 4), "d_mlp": size(5, 20)}
        sizes |= {"norm_eps": 10.0 ** -size(3, 6)}
        yield "-".join(map(str, words)), ModelConfig(**sizes, **dict(zip(WORDS, words, strict=True)))


def refused(config):
    """The words that TransformerLens has no equal of, written out independently of the exporter."""
    post = config.norm_position == "post" and config.norm != "none"
    return post * ["norm_position='post'"] + (config.mlp == "swiglu" and config.bias != "none") * [
        f"mlp='swiglu' with bias={config.bias!r}"
    ]


def asked_models():
    """So few of those that TransformerLens has that all triples of words that meet in any of them still meet."""
    names = {config: name for name, config in tiny_models() if not refused(config)}
    return {names[config]: config for config in of_all_triples(names, WORDS)}


def sites_of(config):
    """The sites that TransformerLens shows, too."""
    shown = [name for name in SITES if name != "resid_final" and (config.mlp != "none" or not name.startswith("mlp"))]
    return [Site(name, layer) for name in shown for layer in range(config.n_layers)]


def hook_name(config, site):
    """The hook that carries the tensor of a site; ``result`` exists with ``use_attn_result=True`` only."""
    if site.name == "resid_mid" and config.mlp == "none":
        return f"blocks.{site.layer}.hook_resid_post"  # the same tensor, and the only name it has there
    rotated = config.positions == "rope" and site.name in ("q", "k")  # those after RoPE
    return f"blocks.{site.layer}." + (f"attn.hook_rot_{site.name}" if rotated else HOOKS[site.name])


def precisions(name):
    """What a network is compared in: tiny ones only to see that the arithmetic is the same."""
    return list(MOST_OFF) if name in PUBLISHED else ["float64"]


def ask(folder, config, tokens, donor):
    """Write what the other side is to compute."""
    last = config.n_layers - 1
    hooks = {site.key: hook_name(config, site) for site in sites_of(config)}
    ablate = {"hook": hook_name(config, Site("z", 0, HEAD)), "head": HEAD}
    patch = {"hook": hook_name(config, Site("resid_pre", last)), "position": PATCHED_AT}
    asked = {"precisions": precisions(folder.name), "sites": hooks, "ablate": ablate, "patch": patch}
    (folder / "question.json").write_text(json.dumps(asked))
    save_file({"tokens": tokens, "donor": donor}, folder / "question.safetensors")


def ours(config, weights, tokens, donor):
    """The same as ``lens_side.answers``, by this library."""
    keys = [site.key for site in sites_of(config)]
    clean = forward(config, weights, tokens, record=keys)
    source = forward(config, weights, donor, record=keys).cache
    edits = ((Ablate(Head(0, HEAD), "zero"),), (Patch(Site("resid_pre", config.n_layers - 1), "here", "donor"),))
    roles = {"here": torch.full((len(tokens),), PATCHED_AT)}
    plan = compile_edits(edits, roles, {"donor": source}, clean.cache)
    ablated, patched = forward(config, weights, tokens, plan).logits
    return {"logits": clean.logits, **clean.cache, "ablated": ablated, "patched": patched}


def damage(root, name):
    """Beside an export, two copies of it: one tensor is that of another layer, or is not there."""
    whole = load_file(root / name / "weights.safetensors")
    one = "blocks.1.attn.W_Q"
    damaged = {"swapped": {**whole, one: whole["blocks.0.attn.W_Q"].clone()}, "missing": {**whole}}
    del damaged["missing"][one]
    for how, weights in damaged.items():
        shutil.copytree(root / name, root / f"damaged-{how}", ignore=shutil.ignore_patterns("question*"))
        save_file(weights, root / f"damaged-{how}/weights.safetensors")


@pytest.fixture(scope="module")
def models():
    """Name -> config, weights, tokens, donor; of published networks with prompts of theirs, and of tiny ones."""
    store, found = RunStore(ROOT / "runs", ROOT / "published"), {}
    for run_id in PUBLISHED:
        run = store.get(run_id)
        rows = run.recipe.make_task().split("val").tokens[:32]
        found[run_id] = run.recipe.model, run.weights(run.final_step), rows[:16].contiguous(), rows[16:].contiguous()
    drawn = torch.Generator().manual_seed(4)
    for number, (name, config) in enumerate(asked_models().items()):
        rows = torch.randint(config.d_vocab, (2, 3, config.n_ctx), generator=drawn)
        weights = init_weights(config, number)
        # Gains of 1 and shifts of 0 would not show a norm that was left out.
        moved = {key: value + 0.1 * torch.randn(value.shape, generator=drawn) for key, value in weights.items()}
        found[name] = config, moved, rows[0].clone(), rows[1].clone()
    return found


@pytest.fixture(scope="module")
def answered(models, tmp_path_factory):
    """A folder for each model, with the answers of TransformerLens in it."""
    found = lens(LENS_FOLDER)
    if found.python is None:
        give_up = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        give_up(found.reason)
    root, store = tmp_path_factory.mktemp("lens"), RunStore(ROOT / "runs", ROOT / "published")
    for name, (config, weights, tokens, donor) in models.items():
        if name in PUBLISHED:
            export(find_run(name, store), "transformer-lens", out=root / name)
        else:
            (root / name).mkdir()
            for file, data in transformer_lens_files(config, weights, ("a",) * config.d_vocab, {"run": name}).items():
                (root / name / file).write_bytes(data)
        ask(root / name, config, tokens, donor)
    damage(root, PUBLISHED[0])
    (root / PUBLISHED[0] / "page.py").write_text(SNIPPET)
    command = [str(found.python), str(ROOT / "tests/support/lens_side.py"), str(root)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stderr[-3000:]
    return root


@pytest.mark.parametrize("precision", MOST_OFF)
def test_every_site_ablation_and_patch_is_the_same(models, answered, precision):
    dtype, off = getattr(torch, precision), {}
    for name, (config, weights, tokens, donor) in models.items():
        if precision not in precisions(name):
            continue
        wanted = ours(config, {key: value.to(dtype) for key, value in weights.items()}, tokens, donor)
        found = load_file(answered / name / f"answer.{precision}.safetensors")
        assert found.keys() == wanted.keys()
        for what, value in wanted.items():
            assert found[what].dtype == dtype and found[what].shape == value.shape, (name, what)
            seen = value.isfinite()  # the scores of keys ahead are -inf
            assert torch.equal(found[what].isfinite(), seen), (name, what)
            most = (found[what] - value)[seen].abs().max() / max(1.0, value[seen].abs().max())
            off |= {(name, what): float(most)} if most > MOST_OFF[precision] else {}
        for edited in ("ablated", "patched"):
            assert (wanted[edited] - wanted["logits"]).abs().max() > 1e-3, f"{name}: {edited} changes nothing"
    assert not off


def test_every_kind_of_model_is_expressed_or_refused_by_name(models):
    n_refused, met = 0, set()
    for _, config in tiny_models():
        if not refused(config):
            assert hooked_config(config)["n_layers"] == config.n_layers
            met |= triples(config, WORDS)
        else:
            n_refused += 1
            with pytest.raises(ValueError, match="HookedTransformer cannot express this model") as caught:
                hooked_config(config)
            assert all(word in str(caught.value) for word in refused(config))
    assert n_refused == 192
    tried = [config for name, (config, *_) in models.items() if name not in PUBLISHED]
    assert len(tried) < 60 and set().union(*(triples(config, WORDS) for config in tried)) == met
    vectors = ModelConfig(d_vocab=5, n_ctx=4, d_in=3, tied=False)
    with pytest.raises(ValueError, match="d_in=3: it embeds token ids"):
        hooked_config(vectors)


def test_the_loader_refuses_weights_that_are_not_the_exported_ones(answered):
    assert "logits are off by up to" in (answered / "damaged-swapped/refusal.txt").read_text()
    said = (answered / "damaged-missing/refusal.txt").read_text()
    assert said == "weights.safetensors does not fit config.json: ['blocks.1.attn.W_Q']"


def test_the_page_s_snippet_asks_the_network(answered):
    assert f"export {PUBLISHED[0]} --to transformer-lens" in PAGE and "K1 V6" in SNIPPET and "Q K1 ->" in SNIPPET
    assert (answered / PUBLISHED[0] / "page.txt").read_text() == "V6"
