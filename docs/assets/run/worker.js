// The worker of a page: Python with rushlight, from the site's own folder. session.js starts this
// file, and is the only one that talks to it.
//
//   to here    {kind: "scripts", base}
//             {kind: "load", base, interrupt, kept}   {kind: "run", id, code, name, line, check}
//             {kind: "fresh", id}
//   from here  {kind: "progress", loaded, total}       {kind: "event", id, event}
//              {kind: "ready", kept}                   {kind: "done", id, error}
//              {kind: "failed", message}

let page; // the module rushlight_page
let running;
const PACKAGES = "/packages";

// All files of a folder, each fetched once: what a worker before has kept is not fetched again.
// `progress` is told the bytes so far.
class Files {
  #fetch = self.fetch.bind(self);
  #loaded = 0;
  kept;

  constructor(base, kept, progress) {
    this.base = base;
    this.kept = kept ?? {};
    this.progress = progress;
  }

  get = async (input, options) => {
    const url = new URL(input.url ?? input, this.base).href;
    const type = url.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
    const answer = { headers: { "Content-Type": type } };
    const had = this.kept[url];
    if (had) return new Response(had, answer);
    const response = await this.#fetch(url, options);
    if (!response.ok) throw new Error(`${url}: ${response.status} ${response.statusText}`);
    const parts = [];
    const count = new TransformStream({
      transform: (chunk, out) => {
        parts.push(chunk);
        this.progress(this.#loaded += chunk.length);
        out.enqueue(chunk);
      },
      flush: () => { this.kept[url] = new Blob(parts); },
    });
    return new Response(response.body.pipeThrough(count), answer);
  };

  bytes = async name => (await this.get(name)).arrayBuffer();
}

async function load({ base, interrupt, kept }) {
  const files = new Files(base, kept, loaded => total && tell({ kind: "progress", loaded, total }));
  let total = 0;
  const listed = JSON.parse(await (await files.get("files.json")).text());
  total = listed.total;
  const wheel = files.bytes(listed.wheel);
  const beside = files.get(new URL("rushlight_page.py", import.meta.url)).then(file => file.text());
  self.fetch = files.get; // Pyodide's too, until all is here
  const { loadPyodide } = await scripts({ base });
  const python = await loadPyodide({ indexURL: base });
  if (interrupt) python.setInterruptBuffer(interrupt);
  python.unpackArchive(await wheel, "wheel", { extractDir: PACKAGES });
  python.FS.writeFile(`${PACKAGES}/rushlight_page.py`, await beside);
  python.FS.mkdirTree("/page");
  python.FS.chdir("/page");
  python.runPython(`import sys; sys.path.append("${PACKAGES}"); import rushlight`);
  page = python.pyimport("rushlight_page");
  const plain = { dict_converter: Object.fromEntries };
  page.connect(event => {
    const copy = event.toJs(plain);
    event.destroy?.();
    tell({ kind: "event", id: running, event: copy });
  });
  tell({ kind: "ready", kept: files.kept });
}

// Pyodide's own scripts. A worker that has them waits, so that Python can start without a network.
async function scripts({ base }) {
  const names = ["pyodide.mjs", "pyodide.asm.js"];
  return (await Promise.all(names.map(name => import(new URL(name, base).href))))[0];
}

function run({ id, code, name, line, check }) {
  running = id;
  const error = page.run(code, name, line, check);
  tell({ kind: "done", id, error: error?.toJs({ dict_converter: Object.fromEntries }) });
  error?.destroy();
}

function fresh({ id }) {
  page.fresh();
  tell({ kind: "done", id });
}

const tell = message => self.postMessage(message);
const tasks = { scripts, load, run, fresh };

self.onmessage = async ({ data }) => {
  try {
    await tasks[data.kind](data);
  } catch (error) { // Python itself has come to its end, or a file is missing
    tell({ kind: "failed", message: `${error.message ?? error}` });
  }
};
