"""The playground: programs in its editor, as a reader opens, edits, runs, stops and links them."""

import base64
import re
import zlib

import pytest

PAGE = "playground.html"
# Of each example: what it prints at its end; whether it draws curves; the names of its pictures.
EXAMPLES = {
    "five_neurons": (r"dL/da over both ways, by hand: 0\.5\s*$", False, ["The graph of L"]),
    "xor": (r"0 xor 0 = 0\.0\d+\n0 xor 1 = 0\.9\d+\n1 xor 0 = 0\.9\d+\n1 xor 1 = 0\.0\d+\s*$", True,
            ["The graph of loss"]),
    "spiral": (r"step 200  loss 0\.0\d+  right (9\d|100)%\s*$", True,
               ["The plane in three colours", "The graph of loss"]),
    "pinn": (r"step 60  loss \d\.\d+e-\d+  largest error 0\.00\d+\s*$", True,
             ["The exact curve, dashed, and the network's", "The graph of"]),
    "rnn": (r"odd\?  ([01 ]+)\nsaid  \1\s*$", True, ["The graph of"]),
    "char_gpt": (r"step 200  loss 0\.\d+  A rush.*\s*$", True, ["The graph of loss"]),
}  # fmt: skip
ENDED = '[data-play=status]:text-matches("^(Ran|Stopped|An error|Ended)")'
LOOP = "print('on')\nwhile True:\n    pass"


class Playground:
    """The page's parts by their names."""

    def __init__(self, tab):
        self.tab = tab
        self.ready()

    def __getattr__(self, name):
        return self.tab.locator(f"[data-play={name}]")

    def ready(self):
        """Until a program can run."""
        self.tab.wait_for_selector("[data-play=run]:enabled")

    @property
    def text(self):
        return "\n".join(self.tab.locator(".cm-line").all_inner_texts())

    def write(self, text):
        self.tab.locator(".cm-content").focus()
        self.tab.keyboard.press("Control+a")
        self.tab.keyboard.press("Delete")
        self.tab.keyboard.insert_text(text)

    def start(self):
        self.run.click()

    def end(self):
        """Until the program has ended; what the page says of that."""
        self.tab.wait_for_selector(ENDED)
        self.ready()
        return self.status.inner_text()

    def ran(self, text=None):
        if text is not None:
            self.write(text)
        self.start()
        return self.end()


@pytest.fixture(scope="module")
def one(opening):
    """A page for all tests that only run programs: Python starts once."""
    return Playground(opening(PAGE))


@pytest.fixture
def play(one, page):
    """The page that tests share, which must do nothing wrong in this one."""
    return one


@pytest.fixture
def playground(page):
    """`playground(part of the address, ...)`: a page of the test's own; the rest as of `page`."""
    opened = []

    def open_one(where="", **more):
        opened.append(Playground(page(PAGE + where, **more)))
        return opened[-1]

    yield open_one
    for play in opened:
        play.tab.context.close()


def code(text):
    """A program as an address carries it, by Python's own zlib."""
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    return "#code=" + base64.urlsafe_b64encode(packed).decode().rstrip("=")


def program_of(address):
    """The program that an address carries."""
    letters = address.partition("#code=")[2]
    assert re.fullmatch(r"[\w-]+", letters)
    packed = base64.urlsafe_b64decode(letters + "=" * (-len(letters) % 4))
    return zlib.decompress(packed, wbits=-15).decode()


def test_every_example_runs_to_its_end(play):
    values = play.examples.locator("option").evaluate_all("all => all.map(one => one.value)")
    assert sorted(filter(None, values)) == sorted(EXAMPLES)
    for name, (printed, curves, pictures) in EXAMPLES.items():
        play.examples.select_option(name)
        play.tab.wait_for_selector("[data-play=reset]:disabled")
        assert play.ran().startswith("Ran to its end"), play.printed.inner_text()
        assert re.search(printed, play.printed.inner_text()), f"{name}: {play.printed.inner_text()}"
        for picture in pictures:
            shown = play.tab.get_by_role("img", name=picture).last
            assert shown.evaluate("image => image.naturalWidth") > 100, f"{name}: {picture}"
        if curves:
            label = play.live.locator("svg").get_attribute("aria-label")
            assert re.match(r"loss [\d.e-]+(, wrong [\d.]+)? at step \d+", label), (
                f"{name}: {label}"
            )
            points = play.live.locator("polyline").first.get_attribute("points").split()
            assert len(points) > 50
        else:
            assert play.live.is_hidden()


def test_curves_are_of_the_numbers_that_were_told(play):
    told = "\n".join(f"explain.live(step={10 * i}, up={i}, down={8 - i})" for i in range(9))
    assert play.ran(f"from rushlight import explain\n{told}").startswith("Ran")
    assert play.live.locator("svg").get_attribute("aria-label") == "up 8, down 0 at step 80"
    up, down = [
        [tuple(map(float, point.split(","))) for point in line.split()]
        for line in play.live.locator("polyline").evaluate_all(
            "lines => lines.map(line => line.getAttribute('points'))"
        )
    ]
    assert [x for x, _ in up] == [x for x, _ in down] == sorted(x for x, _ in up)
    heights = [y for _, y in up]
    assert heights == sorted(heights, reverse=True) == [y for _, y in down][::-1]
    play.live.locator("summary").click()
    rows = play.live.locator("tr").all_inner_texts()
    assert rows[0].split() == ["step", "up", "down"]
    assert [row.split() for row in rows[1:]] == [
        [f"{10 * i}", f"{i}", f"{8 - i}"] for i in range(9)
    ]


def test_the_graph_of_the_last_result_is_drawn_by_itself(play):
    play.ran(
        "import rushlight as torch\nw = torch.ones(2, requires_grad=True)\nend = (w * 3).sum()"
    )
    assert play.graph.locator("img").get_attribute("alt") == "The graph of end"
    play.ran("from rushlight import explain\nprint(1)")
    assert play.graph.is_hidden()


def test_a_picture_with_a_name_is_drawn_anew(play):
    svg = "<svg id='a' xmlns='http://www.w3.org/2000/svg' width='{0}' height='9'>"
    again = f"for n in 150, 160:\n    explain.show({svg + '<title>{0}</title></svg>'!r}.format(n))"
    play.ran(f"from rushlight import explain\n{again}")
    assert play.tab.get_by_role("img", name="160").evaluate("i => i.naturalWidth") == 160
    assert play.pictures.locator("img").count() == 1


LONG = "\n".join(f"x{i} = {i * i}" for i in range(5000))


@pytest.mark.parametrize("text", ["print('ß ∂ 光 🕯')\n", LONG], ids=["letters", "long"])
def test_a_link_carries_the_program_and_does_not_run_it(playground, text):
    play = playground(code(text), permissions=["clipboard-read", "clipboard-write"])
    play.link.click()
    play.tab.wait_for_selector('[data-play=status]:has-text("The link is copied")')
    assert program_of(play.tab.url) == text
    assert play.tab.evaluate("navigator.clipboard.readText()") == play.tab.url
    assert play.printed.is_hidden()
    assert not play.tab.locator(".play[data-running]").count()
    if len(text) < 99:
        assert play.ran().startswith("Ran")
        assert play.printed.inner_text().strip() == "ß ∂ 光 🕯"


WRONG = {"letters": "%%%", "bits": "AAAA", "bomb": code("a" * 2_000_000)[6:]}


@pytest.mark.parametrize("wrong", WRONG)
def test_an_address_without_a_program_says_so(playground, wrong):
    play = playground(f"#code={WRONG[wrong]}")
    assert play.status.inner_text() == "The address carries no program that can be read."
    assert play.text.startswith('"""Five neurons')


def test_the_program_is_kept_reset_and_undone(playground):
    play = playground()
    play.write("print('mine')")
    play.tab.reload()
    play.ready()
    assert play.text == "print('mine')"
    play.reset.click()
    assert play.text.startswith('"""Five neurons')
    play.tab.locator(".cm-content").press("Control+z")
    assert play.text == "print('mine')"
    play.tab.goto(play.tab.url.partition("#")[0] + "#example=xor")
    play.tab.wait_for_selector(".cm-line:has-text('XOR')")
    with play.tab.expect_download() as saved:
        play.save.click()
    assert saved.value.suggested_filename == "program.py"
    assert saved.value.path().read_text().startswith('"""XOR')


def test_an_error_marks_its_line(play):
    assert play.ran("def f(x):\n    return 1 / x\n\nf(0)\n") == "An error in line 2."
    assert play.tab.locator(".cm-wrong").all_inner_texts() == ["    return 1 / x"]
    assert play.printed.inner_text().strip().endswith("ZeroDivisionError: division by zero")
    assert play.ran("x = (1,\n") == "An error in line 1."
    assert play.ran("x = 1").startswith("Ran")
    assert not play.tab.locator(".cm-wrong").count()


@pytest.mark.parametrize("isolated", [False, True])
def test_an_endless_loop_stops_and_the_next_program_runs(playground, isolated):
    play = playground(isolated=isolated)
    play.write(LOOP)
    play.start()
    play.printed.get_by_text("on").wait_for()
    play.stop.click()
    assert play.end().startswith("Stopped")
    assert play.ran("print(1 + 1)").startswith("Ran")
    assert play.printed.inner_text().strip() == "2"


def test_a_program_has_nothing_of_the_one_before(play):
    play.ran("import rushlight as torch\nx = 1\ntorch.set_default_dtype(torch.float64)")
    play.ran("import rushlight as torch\nprint('x' in globals(), torch.tensor(1.0).dtype)")
    assert play.printed.inner_text().strip() == "False torch.float32"


def test_without_a_network_once_loaded(playground):
    play = playground()
    play.ran("print(1)")
    play.tab.context.set_offline(True)
    assert play.ran("from rushlight import explain\nexplain.live(loss=1)").startswith("Ran")
    assert play.live.is_visible()


def test_a_keyboard_is_enough(playground):
    play = playground()
    text = play.tab.get_by_role("textbox", name="Program, Python")
    text.press("Control+a")
    play.tab.keyboard.type("if 1:\nprint(7)")  # over all that stood there; Enter indents
    text.press("Control+Enter")
    play.end()
    assert play.printed.inner_text().strip() == "7"
    play.tab.keyboard.press("Escape")
    play.tab.keyboard.press("Tab")
    assert not play.tab.evaluate("document.activeElement.matches('.play-editor')")
    play.examples.focus()
    for name in ("Run", "Reset", "Copy link", "Download .py"):
        play.tab.keyboard.press("Tab")
        assert play.tab.evaluate("document.activeElement.textContent") == name
        assert play.tab.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"


@pytest.mark.parametrize("colors", ["light", "dark"])
def test_narrow_and_dark(playground, colors):
    play = playground("#example=xor", viewport={"width": 375, "height": 700}, color_scheme=colors)
    play.ran()
    assert play.tab.evaluate("document.documentElement.scrollWidth") == 375
    parts = play.editor, play.printed, play.live, play.graph
    places = [part.bounding_box()["y"] for part in parts]
    assert places == sorted(places)
    paper = play.tab.locator(".cm-editor").evaluate("e => getComputedStyle(e).backgroundColor")
    assert (int(re.search(r"\d+", paper)[0]) > 200) == (colors == "light")
    ink = play.tab.locator(".cm-line").first.evaluate("e => getComputedStyle(e).color")
    assert contrast(paper, ink) > 7


def contrast(*colors):
    """The ratio of two colours' luminances, as WCAG has it."""

    def luminance(color):
        parts = [int(part) / 255 for part in re.findall(r"\d+", color)[:3]]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return sum(w * p for w, p in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    low, high = sorted(map(luminance, colors))
    return (high + 0.05) / (low + 0.05)


def test_licences_stand_beside_the_bundle(site):
    licences = (site / "assets" / "run" / "editor.LICENSES.txt").read_text()
    assert licences.count("Permission is hereby granted") == len(
        re.findall(r"^\S+ [\d.]+, MIT$", licences, re.M)
    )
    for name in ("codemirror", "@codemirror/view", "@lezer/python", "style-mod", "crelt"):
        assert re.search(rf"^{name} [\d.]+, MIT$", licences, re.M)
