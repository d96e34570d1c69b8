"""The page about accelerators: its programs run here, where the device is prepared."""

import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "accelerators.md"


def test_its_programs_run_one_after_the_other():
    programs = re.findall(r"^```py\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.M | re.S)
    assert len(programs) == 3
    training, graph, fallbacks = programs
    names = {}
    for text in (training, fallbacks):
        exec(compile(text, "example.py", "exec"), names)
    assert names["loss"].device.type == "opencl"
    exec(compile(graph, "example.py", "exec"), {})
