"""``circuitcore prompts`` and ``circuitcore ask``: chains of look-ups in words, for a reader or for a model."""

import argparse
import json
import os
import re
import sys
from pathlib import Path

from circuitcore.ground.errors import UserError
from livingpaper.commands import argument_types

KEY_VARIABLE = "OPENAI_API_KEY"
ANSWERS = Path("build/answers")


def add_commands(commands) -> None:
    """Add both to the command line."""
    text = "write prompts to standard output, one JSON object a line"
    write = commands.add_parser("prompts", help=text, description=text)
    _series_of(write)
    write.set_defaults(command=_prompts)
    text = "put prompts to a language model, and score its answers; run again, it asks only what is missing"
    ask = commands.add_parser("ask", help=text, description=text)
    _series_of(ask)
    whom = ask.add_mutually_exclusive_group(required=True)
    whom.add_argument("--endpoint", metavar="URL", help="that speaks OpenAI's protocol: http://127.0.0.1:8000/v1")
    whom.add_argument("--folder", type=Path, help="of a local model (needs the transformers library)")
    ask.add_argument("--model", metavar="NAME", default="", help="the model's name at the endpoint")
    ask.add_argument(
        "--key-from", metavar="VARIABLE", help=f"environment variable with the key (default: {KEY_VARIABLE}, if set)"
    )
    ask.add_argument("--tries", type=int, default=10, help="until a reply is acceptable (default: %(default)s)")
    ask.add_argument("--at-once", type=int, default=4, help="requests at the same time (default: %(default)s)")
    ask.add_argument("--timeout", type=float, default=60.0, help="seconds for a reply (default: %(default)s)")
    ask.add_argument("--retries", type=int, default=4, help="where an endpoint is busy or away (default: %(default)s)")
    ask.add_argument("--temperature", type=float, default=1.0, help="of the draw of replies (default: %(default)s)")
    ask.add_argument("--max-tokens", type=int, default=32, help="of a reply (default: %(default)s)")
    ask.add_argument("--out", type=Path, help=f"file of answers (default: one of its own in {ANSWERS})")
    ask.set_defaults(command=_ask)


def _series_of(parser: argparse.ArgumentParser) -> None:
    from circuitcore.ground.task_names import PROMPT_NAMES

    parser.add_argument("formulation", metavar="KIND", choices=PROMPT_NAMES, help=f"one of: {', '.join(PROMPT_NAMES)}")
    parser.add_argument("--n", type=int, default=500, help="prompts (default: %(default)s)")
    parser.add_argument("--depth", type=int, help="look-ups, where the kind of prompt has several (default: its own)")
    parser.add_argument("--seed", type=argument_types.seed, default=0, help="of the series (default: %(default)s)")


def _prompts(arguments: argparse.Namespace) -> int:
    name, _, prompts = _series(arguments)
    for question, prompt in prompts:
        line = {"name": question, "formulation": name, "text": prompt.text, "answer": prompt.answer}
        line |= {"acceptable": prompt.acceptable, "chain": prompt.chain}
        sys.stdout.buffer.write(f"{json.dumps(line)}\n".encode())
    sys.stdout.buffer.flush()
    return 0


def _series(arguments: argparse.Namespace):
    """Formulation, depth, and (name, prompt) of every prompt."""
    from circuitcore.tasks.chain_prompts import formulation, prompts

    name = arguments.formulation
    _, depth = formulation(name, arguments.depth)
    made = prompts(name, arguments.n, depth, arguments.seed)
    return name, depth, ((f"{name} D{depth} seed{arguments.seed} {n}", prompt) for n, prompt in enumerate(made))


def _ask(arguments: argparse.Namespace) -> int:
    from circuitcore.ground.progress import Watch, write_line
    from livingpaper.asking.questions import Question
    from livingpaper.asking.record import opened
    from livingpaper.asking.scores import score_lines, scores
    from livingpaper.asking.series import Effort, ask_missing

    if arguments.endpoint and not arguments.model:
        raise UserError("--endpoint serves models by name: give one with --model NAME")
    effort = Effort(tries=arguments.tries, at_once=arguments.at_once if arguments.endpoint else 1)
    name, depth, prompts = _series(arguments)
    questions = [Question(question, one.text, one.answer, one.acceptable) for question, one in prompts]
    model = _model(arguments)
    whom = {"endpoint": arguments.endpoint, "model": arguments.model, "folder": arguments.folder}
    settings = {"kind": name, "depth": depth, "seed": arguments.seed, "tries": effort.tries}
    settings |= {word: "" if value is None else str(value) for word, value in whom.items()}
    settings |= {"temperature": arguments.temperature, "max_tokens": arguments.max_tokens}
    out = arguments.out or ANSWERS / _file_name(name, depth, arguments)
    with opened(out, settings) as record:
        lacking = ask_missing(questions, model, record, effort, Watch())
        asked = list(record.asked.values())
    if asked:
        lines = [*score_lines(scores(questions, asked)), *_chance_lines(name, depth, arguments.seed), str(out)]
        write_line("\n".join(lines))
    if lacking:
        raise UserError(lacking)
    return 0


def _model(arguments: argparse.Namespace):
    if arguments.folder is not None:
        from livingpaper.asking.local_model import local_model

        return local_model(arguments.folder, arguments.temperature, arguments.max_tokens)
    from livingpaper.asking.endpoint import Endpoint

    variable = arguments.key_from or KEY_VARIABLE
    if arguments.key_from and not os.environ.get(variable):
        raise UserError(f"--key-from {variable}: no such environment variable, or it is empty")
    return Endpoint(
        url=arguments.endpoint,
        model=arguments.model,
        key=os.environ.get(variable, "").strip(),  # a file of them may end its lines in two signs
        timeout=arguments.timeout,
        retries=arguments.retries,
        temperature=arguments.temperature,
        max_tokens=arguments.max_tokens,
    )


def _file_name(name: str, depth: int, arguments: argparse.Namespace) -> str:
    whom = arguments.model or arguments.folder.name
    return f"{name}-D{depth}-seed{arguments.seed}-{re.sub('[^A-Za-z0-9._-]+', '_', whom)}.jsonl"


def _chance_lines(name: str, depth: int, seed: int) -> list[str]:
    """What readers of all but one part of such a prompt get right, where that is more than guessing."""
    from circuitcore.tasks.chain_prompts import formulation
    from circuitcore.tasks.chain_prompts.ignorant import part_lines

    guess = 1 / len(formulation(name, depth)[0].acceptable)
    return [
        f"{share:7.1%} would be right who reads all but the {part}"
        for part, share in part_lines(name, depth=depth, seed=seed).items()
        if share > guess + 1e-9
    ]
