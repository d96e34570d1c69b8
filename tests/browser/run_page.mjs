// Runs the blocks of a page of the documentation in Pyodide, by the Python that the site's worker has.
//
//     node run_page.mjs FOLDER_OF_PYODIDE WHEEL RUSHLIGHT_PAGE < runs.json
//
// runs.json: a list of {code, name, line, check}. Prints a list of {events, error}.
import fs from "node:fs";

const [folder, wheel, beside] = process.argv.slice(2);
const runs = JSON.parse(fs.readFileSync(0, "utf8"));
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
python.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel", { extractDir: "/packages" });
python.FS.writeFile("/packages/rushlight_page.py", fs.readFileSync(beside));
python.FS.mkdirTree("/page");
python.FS.chdir("/page");
python.runPython("import sys; sys.path.append('/packages'); import rushlight");
const page = python.pyimport("rushlight_page");
const plain = { dict_converter: Object.fromEntries };
let events = [];
page.connect(event => { events.push(event.toJs(plain)); });
const done = runs.map(({ code, name, line, check }) => {
  events = [];
  const error = page.run(code, name, line, check);
  return { events, error: error?.toJs(plain) };
});
process.stdout.write(JSON.stringify(done));
