"""Language models are asked: by a server that is slow, refuses or rambles, and by a folder; nothing is lost."""

import json
import re
import sys
import threading
from types import ModuleType, SimpleNamespace

import pytest
import torch
from model_server import Replies, served

from circuitcore.ground.errors import UserError
from circuitcore.ground.progress import SILENT
from circuitcore.tasks.chain_prompts import FORMULATIONS
from livingpaper.asking import local_model as local
from livingpaper.asking.endpoint import Endpoint
from livingpaper.asking.questions import Asked, Question, Refused, Unanswered, accepted, ask, seed_of
from livingpaper.asking.record import opened
from livingpaper.asking.scores import score_lines, scores
from livingpaper.asking.series import GIVE_UP, Effort, ask_missing
from livingpaper.commands import cli

CITIES = ("Amsterdam", "Berlin", "Cairo", "Delhi")
QUESTIONS = [Question(f"q{n}", f"Where? {n}", CITIES[n % 4], CITIES) for n in range(12)]
SETTINGS = {"kind": "F2", "tries": 3}
ONE_AT_A_TIME = Effort(tries=3, at_once=1)


@pytest.fixture(autouse=True)
def directly(monkeypatch):
    """Whatever proxy this machine has, the servers of these tests are on it."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def right(body, number):
    """The right answer to a question above."""
    return CITIES[int(re.search(r"\d+", body["messages"][0]["content"]).group()) % 4]


def endpoint(url, **options):
    return Endpoint(**({"url": url, "model": "m", "sleep": lambda seconds: None, "timeout": 5.0} | options))


def asked_from(tmp_path, model, effort=ONE_AT_A_TIME, questions=QUESTIONS):
    with opened(tmp_path / "answers.jsonl", SETTINGS) as record:
        lacking = ask_missing(questions, model, record, effort, SILENT)
        return record.asked, lacking


def lines_of(tmp_path):
    return [json.loads(line) for line in (tmp_path / "answers.jsonl").read_text().splitlines()]


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("Berlin", "Berlin"),
        (" berlin.\n", "Berlin"),
        ("**Berlin**", "Berlin"),
        ('"Berlin."', "Berlin"),
        ("Berlin!", None),
        ("Rose lives in Berlin.", None),
        ("Berlin or Cairo", None),
        ("", None),
        ("...", None),
    ],
)
def test_a_reply_counts_if_it_is_an_acceptable_answer_and_nothing_else(reply, answer):
    assert accepted(reply, CITIES) == answer


def test_it_is_asked_until_a_reply_is_acceptable_each_time_with_another_seed():
    seeds = []
    replies = iter(["I think", "Well, Berlin", "Cairo", "Berlin"])

    def model(text, seed):
        seeds.append(seed)
        return next(replies)

    assert ask(QUESTIONS[1], model, 5) == Asked("q1", ("I think", "Well, Berlin", "Cairo"), "Cairo", right=False)
    assert len(set(seeds)) == 3 and seeds == [seed_of("q1", attempt) for attempt in range(3)]
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_model_that_only_rambles_is_asked_so_many_times_and_no_more(tmp_path):
    asked, lacking = asked_from(tmp_path, lambda text, seed: "That is a good question.")
    assert not lacking and {len(one.replies) for one in asked.values()} == {3}
    table = scores(QUESTIONS, asked.values()).set_index("measure")
    assert (table.n.accuracy, table.n.accuracy_of_all) == (0, 12)
    assert (table.share.accuracy_of_all, table.share.accepted_replies, table.share.answered) == (0, 0, 0)
    assert score_lines(table.reset_index())[0].split() == "- of 0, chance 25.0%: right answers, of".split() + (
        "questions that got an acceptable one (as the source counts)".split()
    )


def test_scores_say_what_asking_again_hides():
    """Eight of ten ramble first; whoever answers is right in half of the cases."""
    asked = [Asked(f"q{n}", ("hm",) * (n % 5 > 0) + (CITIES[n % 2],), CITIES[n % 2], n % 4 < 2) for n in range(10)]
    asked.append(Asked("q10", ("hm",) * 5, None, right=False))
    table = scores(QUESTIONS, asked).set_index("measure")
    assert table.share.accuracy == pytest.approx(6 / 10) and table.n.accuracy == 10
    assert table.share.accuracy_of_all == pytest.approx(6 / 11)
    assert table.share.first_try == pytest.approx(2 / 11), "q0 and q5 answer at once, both rightly"
    assert table.share.accepted_replies == pytest.approx(10 / 23)
    assert table.share.answered == pytest.approx(10 / 11)
    assert table.low.accuracy == pytest.approx(0.3127, abs=1e-4) and table.high.accuracy == pytest.approx(
        0.8318, abs=1e-4
    )
    assert table.chance.accuracy == 0.25 and table.chance.isna().sum() == 2


def test_an_endpoint_is_asked_as_it_expects_and_answers_are_written_down(tmp_path):
    replies = Replies(right, delay=0.05)
    with served(replies) as url:
        model = endpoint(url, key="secret", temperature=0.5, max_tokens=7)
        asked, lacking = asked_from(tmp_path, model, Effort(tries=3, at_once=4))
    assert not lacking and all(one.right for one in asked.values())
    assert replies.keys == ["Bearer secret"] * 12 and 2 <= replies.most_at_once <= 4
    body = next(body for body in replies.seen if body["messages"][0]["content"] == "Where? 3")
    assert body == {
        "model": "m",
        "messages": [{"role": "user", "content": "Where? 3"}],
        "temperature": 0.5,
        "max_tokens": 7,
        "seed": seed_of("q3", 0),
    }
    assert lines_of(tmp_path)[0] == {"settings": SETTINGS} and len(lines_of(tmp_path)) == 13
    assert "secret" not in (tmp_path / "answers.jsonl").read_text() + repr(model)


@pytest.mark.parametrize("code", [429, 500, 503])
def test_a_busy_server_is_asked_again_after_pauses_that_grow(code):
    pauses = []
    with served(Replies(right, status=[code] * 3)) as url:
        assert endpoint(url, sleep=pauses.append)("Where? 2", 0) == "Cairo"
    assert len(pauses) == 3 and 0.5 <= pauses[0] <= 0.75 and 1 <= pauses[1] <= 1.5 and 2 <= pauses[2] <= 3


def test_a_server_that_says_how_long_to_wait_is_believed_within_reason():
    for said, waited in (("7", 7), ("100000", 60), ("Wed, 21 Oct 2026 07:28:00 GMT", 0.75)):
        pauses = []
        with served(Replies(right, status=[429], headers={"Retry-After": said})) as url:
            endpoint(url, sleep=pauses.append)("Where? 2", 0)
        assert len(pauses) == 1 and 0.5 <= pauses[0] <= waited and (waited < 1 or pauses == [waited])


def test_a_server_that_stays_busy_leaves_the_question_for_the_next_time(tmp_path):
    """After the first three answers it refuses five times, which is more than the retries of one question."""
    replies = Replies(right)
    with served(replies) as url:
        asked_from(tmp_path, endpoint(url), questions=QUESTIONS[:3])
        replies.status = [500] * 3
        asked, lacking = asked_from(tmp_path, endpoint(url, retries=2))
        assert len(asked) == 11 and lacking.startswith("1 of 12 questions got no reply: http://127.0.0.1")
        assert "HTTP 500 Internal Server Error (asked 3 times). The same command asks these again." in lacking
        before = len(replies.seen)
        asked, lacking = asked_from(tmp_path, endpoint(url))
    assert len(replies.seen) == before + 1, "only what was missing"
    assert not lacking and len(asked) == 12 and all(one.right for one in asked.values())


def test_a_server_that_is_down_is_not_asked_for_every_question(tmp_path):
    with served(Replies(right)) as url:
        pass
    tried = []
    model = endpoint(url, retries=0)

    def counted(text, seed):
        tried.append(text)
        return model(text, seed)

    asked, lacking = asked_from(tmp_path, counted)
    assert not asked and len(tried) == GIVE_UP
    assert lacking.startswith("12 of 12 questions got no reply") and "no connection" in lacking
    assert "Connection refused" in lacking


def test_a_slow_server_is_not_waited_for_longer_than_was_said():
    with (
        served(Replies(right, delay=2.0)) as url,
        pytest.raises(Unanswered, match=r"no reply within 0\.2 s \(asked 2 t"),
    ):
        endpoint(url, timeout=0.2, retries=1)("Where? 1", 0)


def test_a_server_that_sends_a_byte_now_and_then_is_not_waited_for_either():
    class Trickle(Replies):
        def send(self, handler, code, body, number):
            handler.send_response(200)
            handler.send_header("Content-Length", "1000")
            handler.end_headers()
            for _ in range(40):
                handler.wfile.write(b" ")
                handler.wfile.flush()
                threading.Event().wait(0.05)

    with served(Trickle(right)) as url, pytest.raises(Unanswered, match="no reply within 0.3 s"):
        endpoint(url, timeout=0.3, retries=0)("Where? 1", 0)


@pytest.mark.parametrize("code", [400, 401, 404])
def test_a_server_that_refuses_for_good_stops_the_series_and_keeps_what_it_answered(tmp_path, code):
    with served(Replies(right, status=[200, 200, *[code] * 20])) as url:
        model = endpoint(url, key="secret")
        with pytest.raises(Refused, match=f"HTTP {code} .* for model 'm': .*refused, Bearer \\.\\.\\.") as error:
            asked_from(tmp_path, model)
    assert "secret" not in str(error.value)
    assert [line.get("question") for line in lines_of(tmp_path)] == [None, "q0", "q1"]


@pytest.mark.parametrize(
    ("raw", "seen"),
    [
        (b"<html>hello</html>", "no chat completion; it begins with '<html>"),
        (b'{"choices": []}', "no chat completion"),
        (b'{"choices": [{"message": {"content": 3}}]}', "no text but int"),
        (b"[" * 100_000, "no chat completion"),
    ],
)
def test_a_server_that_speaks_otherwise_is_refused_with_what_it_said(raw, seen):
    with served(Replies(right, raw=raw)) as url, pytest.raises(Refused, match=re.escape(seen)):
        endpoint(url)("Where? 1", 0)


def test_a_reply_without_text_is_an_empty_one_and_an_endless_one_is_cut():
    with served(Replies(lambda body, number: None)) as url:
        assert endpoint(url)("Where? 1", 0) == ""
    with (
        served(Replies(lambda body, number: "so " * 2_000_000)) as url,
        pytest.raises(Refused, match="4,000,000 bytes"),
    ):
        endpoint(url)("Where? 1", 0)


@pytest.mark.parametrize("key", ["se\rcret", "secret\n", "s\N{LATIN SMALL LETTER E WITH ACUTE}cret"])
def test_a_key_that_no_header_can_carry_is_refused_without_being_told(key):
    with pytest.raises(Refused, match="signs that no header can carry") as caught:
        endpoint("http://127.0.0.1:9/v1", key=key)
    assert "cret" not in str(caught.value)


def test_a_key_is_not_taken_to_another_server():
    elsewhere = Replies(right)
    with served(elsewhere) as other, served(Replies(right, status=[302], headers={"Location": other})) as url:
        with pytest.raises(Refused, match="HTTP 302"):
            endpoint(url, key="secret")("Where? 1", 0)
    assert not elsewhere.seen


@pytest.mark.parametrize(
    ("options", "seen"),
    [
        ({"url": "localhost:8000"}, "--endpoint localhost:8000: allowed: http://"),
        ({"url": "file:///etc/passwd"}, "allowed: http://"),
        ({"timeout": 0.0}, "timeout 0.0"),
        ({"max_tokens": 0}, "max_tokens 0"),
    ],
)
def test_an_address_or_number_that_cannot_be_is_refused(options, seen):
    with pytest.raises(Refused, match=re.escape(seen)):
        endpoint(**({"url": "http://127.0.0.1/v1"} | options))


def test_a_torn_last_line_is_asked_again_and_all_others_are_kept(tmp_path):
    path = tmp_path / "answers.jsonl"
    asked_from(tmp_path, lambda text, seed: "Berlin", questions=QUESTIONS[:5])
    whole = path.read_bytes()
    for cut in (len(whole) - 1, len(whole) - 20, 30, 5, 0):
        path.write_bytes(whole[:cut])
        asked, lacking = asked_from(tmp_path, lambda text, seed: "Berlin", questions=QUESTIONS[:5])
        assert len(asked) == 5 and not lacking and path.read_bytes() == whole


@pytest.mark.parametrize("content", [b"a table of mine", b"a table\nof mine\n", b'{"settings": {}}\n[1]\n', b"\n"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path, content):
    path = tmp_path / "answers.jsonl"
    path.write_bytes(content)
    with pytest.raises(UserError, match="is no file of answers|was made with"):
        asked_from(tmp_path, lambda text, seed: "Berlin")
    assert path.read_bytes() == content


def test_answers_of_other_settings_are_not_mixed(tmp_path):
    asked_from(tmp_path, lambda text, seed: "Berlin", questions=QUESTIONS[:1])
    with pytest.raises(UserError, match="was made with tries = 3, not 4; name another --out"):
        with opened(tmp_path / "answers.jsonl", SETTINGS | {"tries": 4}):
            pass


def test_two_processes_do_not_write_into_one_file(tmp_path):
    with opened(tmp_path / "answers.jsonl", SETTINGS):
        with pytest.raises(UserError, match="another process is asking into this file"):
            asked_from(tmp_path, lambda text, seed: "Berlin")


def test_whoever_interrupts_keeps_what_was_answered(tmp_path):
    def model(text, seed):
        if text == "Where? 4":
            raise KeyboardInterrupt
        return "Berlin"

    with pytest.raises(KeyboardInterrupt):
        asked_from(tmp_path, model)
    kept = len(lines_of(tmp_path)) - 1
    assert kept >= 1
    asked, _ = asked_from(tmp_path, lambda text, seed: "Cairo")
    assert len(asked) == 12 and sum(one.answer == "Berlin" for one in asked.values()) == kept


def fake_transformers(monkeypatch, said, template=None):
    """A library with a tokenizer of characters and a model that says one thing; records how it was called."""
    seen = SimpleNamespace(loaded=[], generated=[], prompts=[])

    class Tokenizer:
        chat_template = template

        def apply_chat_template(self, messages, **options):
            return f"<user>{messages[0]['content']}<bot>"

        def __call__(self, text, **options):
            seen.prompts.append(text)
            return {"input_ids": torch.tensor([[ord(c) for c in text]])}

        def decode(self, ids, **options):
            return "".join(chr(one) for one in ids)

    class Model:
        def eval(self):
            return self

        def generate(self, input_ids, **options):
            seen.generated.append(options | {"drawn": torch.rand(1).item()})
            return torch.cat([input_ids, torch.tensor([[ord(c) for c in said]])], 1)

    def loader(kind):
        return SimpleNamespace(from_pretrained=lambda folder, **options: seen.loaded.append(options) or kind())

    library = ModuleType("transformers")
    library.AutoTokenizer, library.AutoModelForCausalLM = loader(Tokenizer), loader(Model)
    monkeypatch.setitem(sys.modules, "transformers", library)
    return seen


def test_a_model_folder_answers_without_a_server(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    seen = fake_transformers(monkeypatch, "Berlin.")
    model = local.local_model(tmp_path, temperature=0.7, max_tokens=5)
    assert [model("Where? 1", seed) for seed in (1, 1, 2)] == ["Berlin."] * 3
    drawn = [options.pop("drawn") for options in seen.generated]
    assert drawn[0] == drawn[1] != drawn[2], "the seed decides the draw"
    assert seen.generated[0] == {"max_new_tokens": 5, "do_sample": True, "temperature": 0.7}
    assert all(one["local_files_only"] and not one["trust_remote_code"] for one in seen.loaded)
    assert seen.loaded[1]["use_safetensors"] is True and seen.prompts[0] == "Where? 1"


def test_a_chat_model_is_asked_in_its_own_form(tmp_path, monkeypatch):
    (tmp_path / "config.json").write_text("{}")
    seen = fake_transformers(monkeypatch, "Cairo", template="a template")
    local.local_model(tmp_path, temperature=0.0)("Where? 2", 0)
    assert seen.prompts == ["<user>Where? 2<bot>"] and seen.generated[0]["do_sample"] is False


def test_without_the_library_a_sentence_says_how_to_get_it(tmp_path, monkeypatch):
    with pytest.raises(Refused, match="holds no config.json"):
        local.local_model(tmp_path)
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(Refused, match="is not installed here: python -m pip install transformers"):
        local.local_model(tmp_path)


def command(tmp_path, *words):
    return cli.main(["ask", "F4", "--n", "8", "--seed", "2", "--out", str(tmp_path / "answers.jsonl"), *words])


def test_the_command_asks_scores_and_goes_on(tmp_path, capsys, monkeypatch):
    """From the printed prompts to the table; asked again, it asks nothing."""
    monkeypatch.setenv("A_KEY", "secret")
    assert cli.main(["prompts", "F4", "--n", "8", "--seed", "2"]) == 0
    prompts = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    answers = {prompt["text"]: prompt["answer"] for prompt in prompts}
    assert [prompt["name"] for prompt in prompts][:2] == ["F4 D2 seed2 0", "F4 D2 seed2 1"]
    assert all(prompt["acceptable"] == list(FORMULATIONS["F4"].acceptable) for prompt in prompts)
    replies = Replies(lambda body, number: answers[body["messages"][0]["content"]])
    with served(replies) as url:
        words = ("--endpoint", url, "--model", "m", "--key-from", "A_KEY")
        assert command(tmp_path, *words) == 0
        said = capsys.readouterr().out
        assert command(tmp_path, *words) == 0
        assert capsys.readouterr().out == said and len(replies.seen) == 8 and replies.keys[0] == "Bearer secret"
    assert "100.0% [67.6%, 100.0%] of 8, chance 25.0%: right answers" in " ".join(said.split())
    assert "would be right who reads all but the aliases" in said and str(tmp_path / "answers.jsonl") in said


@pytest.mark.parametrize(
    ("words", "seen"),
    [
        (("--endpoint", "http://127.0.0.1:1/v1"), "give one with --model NAME"),
        (("--endpoint", "here", "--model", "m"), "--endpoint here: allowed: http://"),
        (
            ("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--key-from", "NO_SUCH_KEY"),
            "--key-from NO_SUCH_KEY",
        ),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--tries", "0"), "tries = 0"),
        (
            ("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--depth", "9"),
            "depth = 9 of F4 (functions); allowed",
        ),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--n", "0"), "n = 0; allowed"),
        (("--folder", "no/such/folder"), "holds no config.json"),
        (("--endpoint", "http://127.0.0.1:1/v1", "--model", "m", "--retries", "0"), "8 of 8 questions got no reply"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_cannot_be_asked_is_said_in_a_sentence(tmp_path, capsys, words, seen):
    assert command(tmp_path, *words) == 1
    said = capsys.readouterr().err
    assert seen in said and "Traceback" not in said
