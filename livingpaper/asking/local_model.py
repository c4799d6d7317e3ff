"""Replies from a model folder of the ``transformers`` library, which this project neither needs nor installs."""

import importlib
from pathlib import Path
from types import ModuleType

from livingpaper.asking.questions import Model, Refused

INSTALL = "python -m pip install transformers"


def local_model(folder: Path, temperature: float = 1.0, max_tokens: int = 32) -> Model:
    """The causal language model in a folder, loaded once; nothing is fetched, and no code of the folder is run.

    Args:
        folder: with ``config.json``, a tokenizer and weights as safetensors (pickled weights are not read).
        temperature: of the draw; 0 takes the likeliest word each time.
        max_tokens: longest reply.

    Raises:
        Refused: no such folder, or ``transformers`` is not installed, or cannot load what is there.
    """
    if not (folder / "config.json").is_file():
        raise Refused(f"--folder {folder}: holds no config.json; allowed: a model folder as save_pretrained writes it")
    transformers, torch = _library(), importlib.import_module("torch")
    only = {"local_files_only": True, "trust_remote_code": False}
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder), **only)
        model = transformers.AutoModelForCausalLM.from_pretrained(str(folder), use_safetensors=True, **only).eval()
    except (OSError, ValueError, KeyError) as error:
        raise Refused(f"--folder {folder}: transformers cannot load it ({error})") from error
    how = {"do_sample": True, "temperature": temperature} if temperature else {"do_sample": False}

    def reply(text: str, seed: int) -> str:
        words = _tokens(tokenizer, text)
        torch.manual_seed(seed)
        with torch.inference_mode():
            found = model.generate(**words, max_new_tokens=max_tokens, **how)
        return tokenizer.decode(found[0][words["input_ids"].shape[1] :], skip_special_tokens=True)

    return reply


def _library() -> ModuleType:
    try:
        return importlib.import_module("transformers")
    except ImportError as error:
        raise Refused(f"--folder needs the transformers library, which is not installed here: {INSTALL}") from error


def _tokens(tokenizer, text: str):
    """As the model was trained to be asked, if its tokenizer knows; else the bare text."""
    if getattr(tokenizer, "chat_template", None):
        text = tokenizer.apply_chat_template(
            [{"role": "user", "content": text}], tokenize=False, add_generation_prompt=True
        )
        return tokenizer(text, return_tensors="pt", add_special_tokens=False)
    return tokenizer(text, return_tensors="pt")
