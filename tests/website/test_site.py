"""Programs on the site's pages, as a reader runs, edits and stops them, in Chromium."""

import pytest

PAGE = "tutorial/2-graph.html"
# However busy the machine is, Python gets the time to answer an interrupt.
PATIENT = "import('../assets/run/session.js').then(run => { run.Session.patience = 200_000; })"
TREE = """\
#0 e = add      AddBackward0    float32[]             example.py:6
├─ other: #1 c  AccumulateGrad  float32[]
#2 mul          MulBackward0    float32[]  keeps 8 B  example.py:6
├─ input: #3 a  AccumulateGrad  float32[]
└─ other: #4 b  AccumulateGrad  float32[]
5 nodes, 3 of them leaves; 8 B kept for backward
"""


class Program:
    """The n-th program of a page: its buttons, its text, what is below."""

    def __init__(self, tab, n):
        self.tab = tab
        self.tools = tab.locator(".run").nth(n)
        self.place = tab.locator(".run-output").nth(n)
        self.code = self.tools.locator("xpath=preceding-sibling::div[1]")

    def press(self, name):
        self.tools.get_by_role("button", name=name, exact=True).click()

    def run(self, name="Run"):
        self.press(name)
        self.wait()

    def wait(self):
        """Until nothing runs."""
        self.tab.wait_for_function("() => !document.querySelector('.run [aria-disabled]')")

    def write(self, text):
        self.press("Edit")
        self.code.locator("textarea").fill(text)

    @property
    def status(self):
        return self.tools.get_by_role("status").inner_text()

    @property
    def output(self):
        return self.place.inner_text()


def as_written(tab):
    """The page with its programs as they are written."""
    for reset in tab.locator(".run").get_by_role("button", name="Reset").all():
        if reset.is_visible():
            reset.click()
    return tab


@pytest.fixture(scope="module")
def kept(opening):
    """A page for most tests: Python is loaded once."""
    return opening(PAGE)


@pytest.fixture
def tab(kept, page):
    return as_written(kept)


@pytest.fixture(scope="module")
def kept_isolated(opening):
    """A page that may share memory with its worker."""
    return opening(PAGE, isolated=True)


def test_a_program_runs_after_those_above(tab):
    tree = Program(tab, 3)
    assert "explain.tree(e)" in tree.code.inner_text()
    tree.run()
    assert tree.place.locator("pre").inner_text() == TREE
    assert tree.status == "Ran the 3 programs above first."
    assert "AddBackward0" in Program(tab, 0).output
    tree.run()
    assert tree.status == ""


def test_pictures_and_pages_appear(tab):
    picture = Program(tab, 4)
    picture.run()
    image = picture.place.get_by_role("img", name="The graph of e")
    image.evaluate("image => image.decode()")
    assert image.evaluate("image => image.naturalWidth") > 300
    shown = Program(tab, 5)
    shown.write("explain.page(e)")
    shown.run()
    inside = shown.place.frame_locator("iframe")
    inside.get_by_test_id("view-backward").click()  # its own scripts run
    assert inside.locator("svg").first.is_visible()
    assert shown.place.locator("iframe").get_attribute("sandbox") == "allow-scripts"


def test_an_edited_program_runs_again_before_those_below(tab):
    first, second = Program(tab, 0), Program(tab, 1)
    second.run()
    first.write(first.code.locator("code").inner_text().replace("a * b + c", "(a * b).exp()"))
    second.run()
    assert second.status == "Ran the program above first."
    assert second.output.strip() == "MulBackward0 0"
    first.press("Reset")
    assert first.code.locator("textarea").count() == 0
    assert first.code.locator("code").is_visible()
    second.run()
    assert second.output.splitlines()[:2] == ["MulBackward0 0", "AccumulateGrad 0"]


def test_an_error_names_the_line_and_says_why(tab):
    program = Program(tab, 1)
    program.write("x = torch.ones(2)\nx.backward()")
    program.run()
    assert 'File "example.py", line 9' in program.output  # 7 lines stand before
    assert "does not require grad" in program.output
    assert "rushlight_page" not in program.output
    assert program.status.endswith("Ended in an error.")


def stopped(tab):
    """Whether variables are there after an endless loop was stopped."""
    loop, after = Program(tab, 0), Program(tab, 1)
    loop.write("n = 7\nprint('on')\nwhile True:\n    pass")
    loop.press("Run")
    loop.place.get_by_text("on").wait_for()
    loop.press("Stop")
    loop.wait()
    assert loop.status.startswith("Stopped")
    loop.code.locator("textarea").fill("")
    after.write("print('n' in globals())")
    after.run()
    return after.output.strip()


def test_an_endless_loop_stops_with_its_python(tab):
    assert stopped(tab) == "False"
    tree = Program(tab, 3)
    as_written(tab)
    tree.run()
    assert tree.place.locator("pre").inner_text() == TREE


def test_an_endless_loop_stops_where_memory_is_shared(kept_isolated, page):
    tab = as_written(kept_isolated)
    tab.evaluate(PATIENT)
    assert stopped(tab) == "True"


def test_a_flood_of_text_is_cut(tab):
    program = Program(tab, 0)
    program.write("for i in range(300_000):\n    print(i)\n")
    program.run()
    length = program.place.evaluate("place => place.textContent.length")
    assert 200_000 <= length < 200_200
    assert "more characters, which the page leaves out" in program.place.text_content()


def test_input_says_that_nobody_answers(tab):
    program = Program(tab, 0)
    program.write("input('name? ')")
    program.run()
    assert "input() has nobody to ask" in program.output


def test_questions_are_right_or_say_what_is_missing(tab):
    question = tab.locator(".question").first
    number = tab.locator(".run").evaluate_all(
        "all => all.findIndex(one => one.closest('.question'))"
    )
    program = Program(tab, number)
    program.run("Check")
    assert program.status.startswith("Not yet: ")
    right = question.locator("details code").text_content()
    question.locator("textarea").fill(right)
    question.locator("textarea").press("Control+Enter")
    question.get_by_text("Right.").wait_for()
    assert question.locator("template").evaluate("t => t.content.textContent.includes('assert')")


def test_a_keyboard_is_enough(tab):
    program = Program(tab, 0)
    program.tools.get_by_role("button", name="Edit").focus()
    tab.keyboard.press("Enter")
    tab.keyboard.press("Control+A")
    tab.keyboard.type("x =")
    tab.keyboard.press("Tab")
    tab.keyboard.type("3\nfor i in range(x):\nprint(i)")  # Enter indents
    tab.keyboard.press("Shift+Enter")
    program.wait()
    assert program.output.split() == ["0", "1", "2"]
    text = program.code.locator("textarea").input_value()
    assert text == "x =    3\nfor i in range(x):\n    print(i)"
    tab.keyboard.press("Escape")
    assert tab.evaluate("document.activeElement.textContent") == "Run"
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.textContent") == "Reset"
    tab.keyboard.press("Enter")
    assert tab.evaluate("document.activeElement.textContent") == "Edit"


def test_narrow_and_dark(tab):
    paper = "getComputedStyle(document.body).backgroundColor"
    Program(tab, 3).run()
    Program(tab, 4).run()
    tab.set_viewport_size({"width": 375, "height": 700})
    assert tab.evaluate("document.documentElement.scrollWidth") == 375
    light = tab.evaluate(paper)
    tab.emulate_media(color_scheme="dark")
    tab.wait_for_function(f"light => {paper} !== light", arg=light)
    tab.emulate_media(color_scheme="light")
    tab.set_viewport_size({"width": 1280, "height": 800})


def test_without_a_network_once_loaded(tab):
    program, tree = Program(tab, 0), Program(tab, 3)
    program.run()
    tab.context.set_offline(True)
    tree.run()
    assert tree.place.locator("pre").inner_text() == TREE
    assert stopped(tab) == "False"  # Python starts anew, from what was loaded
    tab.context.set_offline(False)


def test_memory(kept_isolated, page):
    """All of the page and its workers: JavaScript's memory and WebAssembly's."""
    tab = as_written(kept_isolated)
    Program(tab, 5).run()
    bytes_used = tab.evaluate("performance.measureUserAgentSpecificMemory().then(m => m.bytes)")
    assert 30e6 < bytes_used < 300e6


def test_a_page_opened_as_a_file_says_what_to_do(page, site):
    tab = page(PAGE)
    tab.goto((site / PAGE).as_uri())
    program = Program(tab, 0)
    program.press("Run")
    assert "python -m http.server" in program.status
