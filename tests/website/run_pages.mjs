// Runs the programs of pages of the documentation in Pyodide, by the Python that the site's worker has.
//
//     node run_pages.mjs FOLDER_OF_PYODIDE WHEEL RUSHLIGHT_PAGE < pages.json
//
// pages.json: a list of pages, each a list of {code, name, line, check}. Prints for each run {events, error},
// where error has `lost` when Python itself ended: the rest of the page then has no answers.
import fs from "node:fs";

const [folder, wheel, beside] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const plain = { dict_converter: Object.fromEntries };
let events;

async function started() {
  const python = await loadPyodide({ indexURL: `${folder}/` });
  python.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel", { extractDir: "/packages" });
  python.FS.writeFile("/packages/rushlight_page.py", fs.readFileSync(beside));
  python.FS.mkdirTree("/page");
  python.FS.chdir("/page");
  python.runPython("import sys; sys.path.append('/packages'); import rushlight");
  const page = python.pyimport("rushlight_page");
  page.connect(event => { events.push(event.toJs(plain)); });
  return page;
}

let page;
const answers = [];
for (const runs of JSON.parse(fs.readFileSync(0, "utf8"))) {
  page ??= await started();
  page.fresh();
  const done = [];
  for (const { code, name, line, check } of runs) {
    events = [];
    try {
      const error = page.run(code, name, line, check);
      done.push({ events, error: error?.toJs(plain) });
    } catch (ended) {
      page = undefined;
      done.push({ events, error: { kind: "lost", message: String(ended.stack).slice(0, 1000) } });
      break;
    }
  }
  answers.push(done);
}
process.stdout.write(JSON.stringify(answers));
