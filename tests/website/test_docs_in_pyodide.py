"""The programs of the pages that have Run buttons, in Pyodide under Node, by the Python that stands
beside the site's worker: they print what the pages say, and the questions take what is right.

All pages share one interpreter, each with variables of its own. Skipped without the wheel
(`make wasm`).
"""

import json
import shutil
import subprocess
import sys
from itertools import zip_longest
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import docs_examples  # noqa: E402
import wasm  # noqa: E402

BESIDE = ROOT / "docs" / "assets" / "run" / "rushlight_page.py"
PAGES = [p for p in docs_examples.pages() if p.parent.name in ("tutorial", "how-to")]
NO_ANSWER = {"events": [], "error": {"kind": "lost", "message": "Python had ended before"}}


def program(page):
    """The blocks of a page that run in a browser, and what is sent for each: lines are counted as
    the site counts them."""
    blocks, sent, line = [], [], 0
    for block in docs_examples.blocks(page):
        if not block.reason:
            blocks.append(block)
            sent.append({"code": block.code, "name": docs_examples.PROGRAM, "line": line})
        line += block.code.count("\n")
    return blocks, sent


def attempts(page):
    """Each text for a question, where that stands, and whether the text should pass."""
    for question in docs_examples.questions(page):
        wrong = ((code, False) for code in (question.starter, *question.wrong))
        for code, right in ((question.answer, True), *wrong):
            sent = {"code": code, "name": docs_examples.READER, "line": 0, "check": question.check}
            yield sent, f"{page.name}:{question.line}", right


@pytest.fixture(scope="module")
def answers():
    """What Pyodide answers to each page's program, and to the attempts at the questions after."""
    wheel = next((wasm.BUILD / "dist").glob("*.whl"), None)
    if not (wheel and (wasm.PYODIDE / "pyodide.mjs").exists() and shutil.which("node")):
        pytest.skip("no wheel for Pyodide, or no Node: make wasm")
    command = ["node", Path(__file__).with_name("run_pages.mjs"), wasm.PYODIDE, wheel, BESIDE]
    sent = [program(page)[1] + [attempt for attempt, *_ in attempts(page)] for page in PAGES]
    done = subprocess.run(command, input=json.dumps(sent), capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr or done.stdout)[-3000:]
    return dict(zip(PAGES, json.loads(done.stdout), strict=True))


def printed(answer):
    """What a run printed, and the last lines of its error."""
    text = "".join(event["text"] for event in answer["events"] if event["type"] == "text")
    error = answer.get("error")
    return text + (f"{error['kind']}: {error['message']}" if error else "")


def complaint(block, answer, place):
    """What is wrong with an answer to a block, or nothing."""
    error = answer.get("error")
    if block.printed is None and error:
        return f"{place}: {error['kind']}: {error['message']}"
    if block.printed is not None:
        try:
            docs_examples.check(block.printed, printed(answer), place)
        except docs_examples.Wrong as difference:
            return str(difference)
    shown = {event["type"] for event in answer["events"]}
    kind = {"svg": "svg", "html": "page"}.get((block.picture or "").rpartition(".")[2])
    return f"{place}: shows {shown}, and not the picture" if kind and kind not in shown else ""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_prints_what_it_says(page, answers):
    blocks, _ = program(page)
    pairs = zip_longest(blocks, answers[page][: len(blocks)], fillvalue=NO_ANSWER)
    wrong = [complaint(block, answer, f"{page.name}:{block.line}") for block, answer in pairs]
    assert not any(wrong), "\n\n".join(filter(None, wrong))


ASKING = [page for page in PAGES if docs_examples.questions(page)]


@pytest.mark.parametrize("page", ASKING, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_questions_take_answers_and_nothing_else(page, answers):
    _, sent = program(page)
    tried = list(attempts(page))
    pairs = zip_longest(tried, answers[page][len(sent) :], fillvalue=NO_ANSWER)
    wrong = [
        f"{place}: {'an answer fails' if right else 'a wrong answer passes'}: {answer}"
        for (_, place, right), answer in pairs
        if (not answer.get("error")) != right
    ]
    assert not wrong, "\n".join(wrong)
