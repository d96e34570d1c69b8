"""The programs of the pages that have Run buttons, in Pyodide under Node, by the Python that stands
beside the site's worker: they print what the pages say, and the questions take what is right.

Skipped without the wheel (`make wasm`).
"""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))
import docs_examples  # noqa: E402
import wasm  # noqa: E402

WHEEL = next((wasm.BUILD / "dist").glob("*.whl"), None)
BESIDE = ROOT / "docs" / "assets" / "run" / "rushlight_page.py"
PAGES = [p for p in docs_examples.pages() if p.parent.name in ("tutorial", "how-to")]

pytestmark = pytest.mark.skipif(
    not (WHEEL and (wasm.PYODIDE / "pyodide.mjs").exists() and shutil.which("node")),
    reason="no wheel for Pyodide, or no Node: make wasm",
)


def run(runs):
    """What a new Pyodide answers to these runs, in order."""
    command = ["node", Path(__file__).with_name("run_page.mjs"), wasm.PYODIDE, WHEEL, BESIDE]
    done = subprocess.run(command, input=json.dumps(runs), capture_output=True, text=True)
    assert done.returncode == 0, (done.stderr or done.stdout)[-3000:]
    return json.loads(done.stdout)


def printed(answer):
    """What a run printed, and the last line of its error."""
    text = "".join(event["text"] for event in answer["events"] if event["type"] == "text")
    error = answer.get("error")
    return text + (f"{error['kind']}: {error['message']}" if error else "")


def program(page):
    """The blocks of a page that run in a browser, and what is sent for each: lines are counted as
    the site counts them."""
    blocks = [block for block in docs_examples.blocks(page) if not block.reason]
    sent, line = [], 0
    for block in blocks:
        sent.append({"code": block.code, "name": docs_examples.PROGRAM, "line": line})
        line += block.code.count("\n")
    return blocks, sent


@pytest.mark.parametrize("page", PAGES, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_a_page_prints_what_it_says(page):
    blocks, sent = program(page)
    wrong = []
    for block, answer in zip(blocks, run(sent), strict=True):
        place = f"{page.name}:{block.line}"
        if block.printed is None:
            if answer.get("error"):
                wrong.append(f"{place}: {answer['error']}\n{answer['events'][-1:]}")
        else:
            try:
                docs_examples.check(block.printed, printed(answer), place)
            except docs_examples.Wrong as difference:
                wrong.append(str(difference))
        kinds = {event["type"] for event in answer["events"]}
        if block.picture:
            expected = "page" if block.picture.endswith(".html") else "svg"
            if block.picture.endswith((".svg", ".html")) and expected not in kinds:
                wrong.append(f"{place}: shows {kinds or 'nothing'}, not the {expected}")
    assert not wrong, "\n\n".join(wrong)


ASKING = [page for page in PAGES if docs_examples.questions(page)]


@pytest.mark.parametrize("page", ASKING, ids=lambda page: f"{page.parent.name}/{page.stem}")
def test_questions_take_answers_and_nothing_else(page):
    """After the whole page, as a reader who has run all of it."""
    _, sent = program(page)
    expected = []
    for question in docs_examples.questions(page):
        for code, right in (
            (question.starter, False),
            (question.answer, True),
            *((code, False) for code in question.wrong),
        ):
            sent.append({"code": code, "name": "answer.py", "line": 0, "check": question.check})
            expected.append((f"{page.name}:{question.line}", right))
    answers = run(sent)[-len(expected) :]
    wrong = [
        f"{place}: {'an answer fails' if right else 'a wrong answer passes'}: {answer}"
        for (place, right), answer in zip(expected, answers, strict=True)
        if (not answer.get("error")) != right
    ]
    assert not wrong, "\n".join(wrong)
