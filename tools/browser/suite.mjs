// Tests of the suite in Pyodide under Node: started by tools/wasm_tests.py, which says in a line of standard input
// what to run, and reads a line of JSON for each test from standard output. The rest goes to standard error.
import { createInterface } from "node:readline";
import fs from "node:fs";
import { loadPyodide } from "pyodide";

const [root, site, made] = process.argv.slice(2);
const write = (file) => ({ write: (bytes) => fs.writeSync(file, bytes) });
const py = await loadPyodide();
py.setStdout(write(2));
py.setStderr(write(2));
for (const [inside, outside] of Object.entries({ "/repo": root, "/site": site, "/made": made })) {
  fs.mkdirSync(outside, { recursive: true });
  py.FS.mkdirTree(inside);
  py.FS.mount(py.FS.filesystems.NODEFS, { root: outside }, inside);
}
py.globals.set("tell", (line) => fs.writeSync(1, line + "\n"));
py.runPython("import sys; sys.dont_write_bytecode = False; sys.pycache_prefix = '/made/pycache'");
py.runPython("sys.path[:0] = ['/site', '/repo/tools/browser']; import suite");
const run = py.runPython("suite.run");

for await (const line of createInterface({ input: process.stdin })) {
  run(line, py.globals.get("tell"));
  const used = process.cpuUsage();
  fs.writeSync(1, JSON.stringify({ end: py._module.HEAPU8.length, cpu: (used.user + used.system) / 1e6 }) + "\n");
}
