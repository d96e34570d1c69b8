"""The programs of doctor_planted.txt and doctor_sound.txt, and a doctor for all of a file.

As a program: run all of a file under the doctor, in one process, and print the findings as JSON.
"""

import contextlib
import io
import json
import sys
import types
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Program(NamedTuple):
    """A program, the kind of its bug ("" for none) and the bug's line; the text has no mark."""

    name: str
    kind: str
    line: int
    text: str


def programs(file):
    prelude, found = "", []
    for part in (HERE / file).read_text(encoding="utf-8").split("\n=== ")[1:]:
        head, _, body = part.partition("\n")
        if head == "prelude":
            prelude = body.rstrip() + "\n"
            continue
        name, _, kind = head.partition(" ")
        rows = (prelude + body.rstrip()).splitlines()
        marked = [n for n, row in enumerate(rows, 1) if row.endswith("#!")]
        assert len(marked) == bool(kind), name
        text = "\n".join(row.removesuffix("#!").rstrip() for row in rows) + "\n"
        found.append(Program(name, kind, marked[0] if marked else 0, text))
    return found


def examined(program, folder):
    """The findings of a program, as kinds and lines of the program's file, and its error."""
    from rushlight.explain._doctor import Doctor
    from rushlight.explain._doctor_rules import findings

    file = Path(folder, f"{program.name}.py")
    file.write_text(program.text, encoding="utf-8")
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    error = ""
    doctor = Doctor(100)
    try:
        with contextlib.redirect_stdout(io.StringIO()), doctor:
            exec(compile(program.text, str(file), "exec"), vars(main))
    except Exception as raised:
        error = repr(raised)
    found = [(f.kind, f.line[1] if f.line[0] == str(file) else f.line, f.text) for f in findings(doctor)]
    return {"found": found, "error": error or "".join(doctor.trouble)}


if __name__ == "__main__":
    import warnings

    import rushlight

    rushlight.install_as_torch()
    warnings.simplefilter("ignore")
    told = {}
    for each in programs(sys.argv[1]):
        if each.kind != "twice":
            told[each.name] = examined(each, sys.argv[2])
            rushlight.autograd.set_detect_anomaly(False)
    print(json.dumps(told))
