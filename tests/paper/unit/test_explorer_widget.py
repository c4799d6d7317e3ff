"""The explorer as a widget: its traits are a state that can be shown, or refuse with the reason."""

import gzip
import hashlib
import html
import json
import re
from dataclasses import replace

import pytest
import torch
import traitlets
from bs4 import BeautifulSoup

from circuitcore.ground.environment import Folders
from circuitcore.training.errors import StoreError
from circuitcore.training.store.run_store import RunStore
from livingpaper.explorer import exhibit as exhibits
from livingpaper.explorer.block import weights_script
from livingpaper.explorer.exhibit import Example, Exhibit, ExhibitError, PathStep
from livingpaper.explorer.explorer_still import still_html
from livingpaper.explorer.probe import probe
from livingpaper.explorer.shown_run import ShownRun
from livingpaper.explorer.weights import packed
from livingpaper.explorer.widget import Explorer, block_of, exhibit_of, module, panels, styles
from livingpaper.figures.circuit import likely
from livingpaper.figures.circuit_drawing import drawing_html

RUN, SECOND, STORY = "symbolic_kv-184c3e21d23e", "symbolic_kv-3ce50adb7c4e", "story-e6a34a3a5d93"
FIRST_SCREEN, EVERYTHING, COMPRESSED = 60_000, 108_600, 20_300
"""Bytes: of the module that a page runs first, of both, and of the first compressed."""
PROMPT = "<bos> K1 V1 ; K6 V6 ; K7 V0 ; Q K7 ->"


def published(run_id):
    return RunStore(Folders.from_environment().published, None).get(run_id)


@pytest.fixture(scope="module")
def exhibit():
    """Two runs; the opening is not the first example, and the first stop of the path not the opening."""
    first, second = published(RUN), published(SECOND)
    return Exhibit(
        name="explorer-two",
        task=first.recipe.make_task(),
        shown=(ShownRun(run=first, condition="trained"), ShownRun(run=second, condition="trained")),
        examples=(Example(label="<b>one</b>", prompt=PROMPT),),
        path=(PathStep(title="Look.", text="A < B & C.", state={"edits": ["zero(L1H0)@all"]}),),
    )


@pytest.fixture
def explorer(exhibit):
    return Explorer(exhibit)


def messages(explorer, content):
    """What the widget answers to a message of the page."""
    sent = []
    explorer.send = sent.append
    explorer._handle_custom_msg(content, [])
    return sent


# ---- the traits are the state ----


@pytest.mark.parametrize("shown", [RUN, published(RUN)], ids=["id", "run"])
def test_a_run_or_its_id_opens_at_the_last_step(shown):
    explorer, run = Explorer(shown), published(RUN)
    assert (explorer.run, explorer.step, explorer.edits) == (RUN, run.steps[-1], [])
    assert explorer.prompt == run.recipe.make_task().decode(run.recipe.make_task().split("val").tokens[0])
    assert (explorer.source, explorer.resample, explorer.other, explorer.linked) == ("", 0, None, False)


def test_the_state_may_be_given_from_the_start():
    explorer = Explorer(RUN, step=0, prompt=PROMPT, edits=["zero(L1H0)@all"])
    assert (explorer.step, explorer.prompt, explorer.edits) == (0, PROMPT, ["zero(L1H0)@all"])
    with pytest.raises(traitlets.TraitError, match="token 1: 'K99' is no word of this task"):
        Explorer(RUN, prompt="<bos> K99")


def test_a_misspelt_part_of_the_state_is_refused():
    with pytest.raises(ExhibitError, match="unknown field of the state 'stp'; did you mean 'step'"):
        Explorer(RUN, stp=0)


def test_a_network_of_vectors_is_refused():
    with pytest.raises(ExhibitError, match="its model reads vectors; allowed: prompts of words"):
        Explorer("chain_retrieval-1336770ad182")


def test_an_unknown_run_is_refused():
    with pytest.raises(StoreError, match="symbolic_kv-184c"):
        Explorer("symbolic_kv-184c00000000")


REFUSED = [
    ("run", "symbolic_kv-0", "unknown run 'symbolic_kv-0'"),
    ("step", 1, f"no step 1 of {RUN} here; there are 0, "),
    ("prompt", "<bos> k1", "token 1: 'k1' is no word of this task (did you mean 'K1'?)"),
    ("prompt", "", "the prompt has no tokens"),
    ("edits", ["zero(L9H0)@all"], "no such part to edit"),
    ("edits", ["zero(L0H0)"], "zero(L0H0)"),
    ("edits", ["patch(L0H0.z<-source)@all"], "a patch needs a second prompt"),
    ("rule", "ours", "explorer-two: unknown rule 'ours'"),
    ("other", {"run": SECOND}, "the other network is given by run and step"),
    ("other", {"run": SECOND, "step": 1}, f"no step 1 of {SECOND} here"),
]


@pytest.mark.parametrize(("name", "value", "words"), REFUSED)
def test_what_cannot_be_is_refused_with_the_reason_and_changes_nothing(explorer, name, value, words):
    before = getattr(explorer, name)
    with pytest.raises(traitlets.TraitError, match=f"^{name}: .*{re.escape(words)}"):
        setattr(explorer, name, value)
    assert getattr(explorer, name) == before


def test_a_number_of_a_reference_prompt_is_checked_once_it_is_used(explorer):
    explorer.resample = 99
    with pytest.raises(traitlets.TraitError, match="edits: reference prompt 99: there are 0 to 31"):
        explorer.edits = ["resample(L0H0)@all"]


def test_several_traits_may_change_at_once(explorer):
    longer = "<bos> K1 V1 ; K6 V6 ; K7 V0 ; K2 V2 ; Q K7 ->"
    with explorer.hold_trait_notifications():
        explorer.edits = ["patch(L0H1.z<-source)@15"]  # neither possible without the others
        explorer.source = longer.replace("Q K7", "Q K1")
        explorer.prompt = longer
    assert explorer.reading().target == "V0"
    with pytest.raises(traitlets.TraitError, match="as many"), explorer.hold_trait_notifications():
        explorer.step = 0
        explorer.prompt = PROMPT
    assert (explorer.prompt, explorer.step) == (longer, published(RUN).steps[-1])


def test_what_the_reader_chose_arrives_as_one_change(explorer):
    changes = []
    explorer.observe(lambda change: changes.append(change["name"]), ["run", "step", "edits"])
    explorer.set_state({"run": SECOND, "step": 0, "edits": ["cut(L1H0:12->8)"]})
    assert sorted(changes) == ["edits", "run", "step"]
    expected = probe(published(SECOND), step=0, prompt=explorer.prompt, edits=["cut(L1H0:12->8)"])
    assert torch.equal(explorer.reading().logits, expected.logits)


@pytest.mark.parametrize(
    "state",
    [
        {},
        {"step": 0, "edits": ["mean(L0MLP)@12", "resample(L1H1)@all"], "resample": 3},
        {"run": SECOND, "edits": ["patch(L1.resid_pre<-source)@12"], "source": PROMPT.replace("Q K7", "Q K1")},
        {"other": {"run": SECOND, "step": 0}},
    ],
)
def test_the_reading_is_probes(exhibit, state):
    explorer = Explorer(exhibit, **state)
    asked = {key: state[key] for key in state if key not in ("run", "other")}
    expected = probe(published(state.get("run", RUN)), prompt=PROMPT, **asked)
    assert torch.equal(explorer.reading().logits, expected.logits)
    assert explorer.reading().margin == expected.margin
    assert explorer.reading().margin_over_answer_words == expected.margin_over_answer_words


def test_an_examples_answer_is_read_where_its_prompt_does_not_tell_it():
    explorer = Explorer(STORY)
    example = explorer.exhibit["task"]["examples"][0]
    assert explorer.reading().target == example["answer"] is not None
    still = BeautifulSoup(block_of(exhibit_of(published(STORY))).page_html, "html.parser").select_one(".explorer-still")
    assert probe(STORY, prompt=example["prompt"]).target is None
    answers = [row.th.get_text() for row in still.select("tr:has(.explorer-right)")]
    assert answers == [f"{example['answer']} answer"]


# ---- what it sends ----


def test_weights_are_sent_when_the_page_wants_them(explorer):
    [answer] = messages(explorer, {"want": SECOND})
    run = published(SECOND)
    weights = {step: run.weights(step) for step in run.steps}
    assert answer == {"run": SECOND, "packed": packed(run.recipe.model, weights)}
    json.dumps(answer, allow_nan=False)


def test_an_unknown_run_is_answered_with_an_error(explorer):
    [answer] = messages(explorer, {"want": "<script>"})
    assert answer["run"] == "<script>" and answer["error"].startswith("unknown run '<script>'")


def test_damaged_weights_are_answered_with_an_error(explorer, monkeypatch):
    def damaged(self):
        raise StoreError("weights.safetensors is damaged")

    monkeypatch.setattr(ShownRun, "weights", damaged)
    assert messages(explorer, {"want": RUN}) == [{"run": RUN, "error": "weights.safetensors is damaged"}]


@pytest.mark.parametrize("content", [{}, {"run": RUN}, "want", None])
def test_other_messages_are_left_alone(explorer, content):
    assert messages(explorer, content) == []


def test_what_is_sent_at_first_holds_no_weights(explorer):
    state = explorer.get_state()
    assert state["_esm"] == module() and state["_css"] == styles(explorer._shown)
    assert len(json.dumps(state["exhibit"])) < 100_000
    assert "data" not in json.dumps(state["exhibit"])


# ---- in a page, in a notebook ----


def test_the_book_gets_html_and_weights_beside_the_results(explorer, exhibit, tmp_path, monkeypatch):
    monkeypatch.setenv("PAPER_BUILD", "1")
    monkeypatch.setenv("PAPER_RESULTS", str(tmp_path / "executed/results"))
    bundle = explorer._repr_mimebundle_()
    assert set(bundle) == {"text/html", "text/plain"}
    assert bundle["text/html"] == re.sub(r"\n\s*\n", "\n", block_of(exhibit).page_html)  # as Markdown pages can have it
    assert "\n\n" not in bundle["text/html"]
    files = {path.stem: path.read_text() for path in (tmp_path / "executed/explorer").iterdir()}
    assert files == {shown.run.run_id: weights_script(shown) for shown in exhibit.shown}
    run_id, text = json.loads(re.sub(r"paperWeights\((.*)\)", r"[\1]", files[SECOND]))
    assert run_id == SECOND and json.loads(text) == exhibit.find(SECOND).weights()
    data = re.search('class="explorer-data">(.*?)</script>', bundle["text/html"])[1]
    assert {entry["id"]: entry["sha256"] for entry in json.loads(data)["runs"]} == {
        shown.run.run_id: hashlib.sha256(shown.weights_text.encode()).hexdigest() for shown in exhibit.shown
    }


def test_a_live_notebook_gets_a_widget_and_a_still(explorer, monkeypatch):
    monkeypatch.delenv("PAPER_BUILD", raising=False)
    bundle, _ = explorer._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.model_id
    assert "explorer-still" in bundle["text/html"] and "<script" not in bundle["text/html"]


def test_a_still_reads_each_prompt_of_each_network_once(exhibit, monkeypatch):
    asked, of_two = [], replace(exhibit, path=())
    monkeypatch.setattr(exhibits, "probe", lambda run, **state: asked.append(run.run_id) or probe(run, **state))
    still_html(of_two)
    assert sorted(asked) == sorted([RUN, SECOND])


def test_the_still_shows_the_opening_as_probe_reads_it(exhibit):
    page = BeautifulSoup(block_of(exhibit).page_html, "html.parser")
    (answers,) = page.select(".explorer-still table")
    reading = probe(published(RUN), prompt=PROMPT, edits=["zero(L1H0)@all"])
    rows = {
        row.th.get_text().removesuffix(" answer"): row.select("td")[-1].get_text() for row in answers.select("tr")[1:]
    }
    assert len(rows) == 3
    assert rows == {word: likely(reading.probability_of(word)) for word in rows}
    assert next(iter(rows)) == reading.likeliest and reading.target in rows
    circuit = exhibit.circuit(exhibit.first_frame)
    assert str(page.select_one(".explorer-still > figure")) == str(BeautifulSoup(drawing_html(circuit), "html.parser"))
    drawn = {(arrow.layer, arrow.target, arrow.source): arrow.weight for arrow in circuit.looks}
    for (layer, target, source), weight in drawn.items():
        assert weight == pytest.approx(reading.patterns[layer][:, target, source].max().item())
    assert circuit.looks and not circuit.links  # nothing was tested of these networks
    assert [one.get_text() for one in page.select(".circuits li span:nth-of-type(1)")] == ["seed 4", "seed 1"][::-1]
    text = page.select_one(".explorer-still").get_text()
    assert "Look. A < B & C." in text and "Edits: zero(L1H0)@all." in text


def test_nothing_in_a_page_ends_its_script(exhibit):
    page = BeautifulSoup(block_of(exhibit).page_html, "html.parser")
    data = json.loads(page.select_one(".explorer-data").string)
    assert all(re.fullmatch("[0-9a-f]{64}", entry.pop("sha256")) for entry in data["runs"])
    assert data == json.loads(json.dumps(exhibit.payload()))
    assert json.loads(page.select_one(".explorer-module").string) == module()
    assert html.escape("<b>one</b>") not in page.select_one(".explorer-still").decode_contents()
    assert page.find("b") is None


def assert_is_one_module(text):
    assert len(re.findall(r"\bexport\b", text)) == len(re.findall(r"^export default", text, re.MULTILINE)) == 1
    assert "</script" not in text.lower()
    assert not re.search(r"^globalThis", text, re.MULTILINE)  # nothing is left behind in the page
    assert set(re.findall(r"\w+://[^'\"`\s]+", text)) <= {"http://www.w3.org/2000/svg"}  # a name, not an address
    assert not re.search(
        r"^import\b|\bfetch\(|innerHTML|insertAdjacentHTML|document\.write|\beval\(", text, re.MULTILINE
    )


def test_the_modules_are_two_and_small():
    for text in (module(), panels()):
        assert_is_one_module(text)
        assert not re.search(r"^\s|^//|;\s+// [^'\"`\n]*$", text, re.MULTILINE)
    assert re.findall(r"\bimport\(.*?\)", module() + panels()) == ["import(url)"]  # the panels, which the page has
    assert "const url = URL.createObjectURL(new Blob([this.#model.get('panels')]" in module()
    sizes = [len(text.encode()) for text in (module(), panels())]
    packed_sizes = [len(gzip.compress(text.encode(), 9)) for text in (module(), panels())]
    print(
        f"\nfirst screen {sizes[0]:,} bytes, {packed_sizes[0]:,} compressed; panels {sizes[1]:,}, {packed_sizes[1]:,}"
    )
    assert sizes[0] < FIRST_SCREEN and sum(sizes) < EVERYTHING and packed_sizes[0] < COMPRESSED


def test_a_run_of_the_readers_own_has_an_id_for_its_block():
    assert exhibit_of(published(RUN)).name == "explorer-symbolic-kv-184c3e21d23e"
    with pytest.raises(ExhibitError):
        exhibit_of(published("permutation_recall-00600922939b"))
