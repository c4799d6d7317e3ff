"""Run by the Python that has TransformerLens: asks every exported network in a folder, and writes what it answers.

``python lens_side.py FOLDER``: each folder in it holds an export and ``question.safetensors`` with ``tokens`` and
``donor [prompt pos]``; ``question.json`` names the precisions, and hooks: of every site, of the head that is zeroed, of
the patch. Written is ``answer.float64.safetensors``, and the same of other precisions. Of a folder ``damaged-...``,
what its loader says is written to ``refusal.txt``. ``page.py`` is run beside the loader; ``page.txt`` gets the
likeliest word after its prompt.
"""

import importlib.util
import json
import runpy
import sys
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file


def loader(folder):
    """The ``load`` of an export."""
    spec = importlib.util.spec_from_file_location("load", folder / "load.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.load


def answers(folder, dtype):
    """Sites of a clean pass by their own names; ``logits`` of it, ``ablated`` and ``patched``."""
    model, _ = loader(folder)(dtype=dtype, use_attn_result=True)
    asked = json.loads((folder / "question.json").read_text())
    rows = load_file(folder / "question.safetensors")
    logits, cache = model.run_with_cache(rows["tokens"])
    _, donor = model.run_with_cache(rows["donor"])

    def zero(z, hook):
        z[:, :, asked["ablate"]["head"]] = 0
        return z

    def patch(x, hook):
        at = asked["patch"]["position"]
        x[:, at] = donor[asked["patch"]["hook"]][:, at]
        return x

    found = {"logits": logits, **{site: cache[hook] for site, hook in asked["sites"].items()}}
    found["ablated"] = model.run_with_hooks(rows["tokens"], fwd_hooks=[(asked["ablate"]["hook"], zero)])
    found["patched"] = model.run_with_hooks(rows["tokens"], fwd_hooks=[(asked["patch"]["hook"], patch)])
    return {name: value.contiguous().clone() for name, value in found.items()}


def refusal(folder):
    """What the loader says of a damaged export."""
    try:
        loader(folder)()
    except ValueError as error:
        return str(error)
    return "loaded"


def likeliest_on_the_page(script):
    """The word that the likeliest token after a page's prompt stands for."""
    sys.path.insert(0, str(script.parent))
    names = runpy.run_path(str(script))
    return names["vocab"][int(names["logits"][0, -1].argmax())]


torch.set_num_threads(1)
with torch.no_grad():
    for folder in sorted(path.parent for path in Path(sys.argv[1]).glob("*/question.json")):
        for name in json.loads((folder / "question.json").read_text())["precisions"]:
            save_file(answers(folder, getattr(torch, name)), folder / f"answer.{name}.safetensors")
for script in Path(sys.argv[1]).glob("*/page.py"):
    script.with_suffix(".txt").write_text(likeliest_on_the_page(script))
for folder in Path(sys.argv[1]).glob("damaged-*"):
    (folder / "refusal.txt").write_text(refusal(folder))
if any(name.split(".")[0] == "circuitcore" for name in sys.modules):
    sys.exit("the exported files brought in circuitcore")
