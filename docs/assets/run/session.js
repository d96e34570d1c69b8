/**
 * Python with rushlight in a worker of the page.
 *
 *     const session = new Session({ onProgress: ({ loaded, total }) => ... });
 *     const result = await session.run("1 + 1", { on: event => ... });
 *
 * The worker starts at the first `run` (or `load`), and takes all files from one folder of the site.
 * Runs share their variables, as the cells of a notebook do.
 */

/**
 * @typedef {object} PageEvent Of a run, in the order in which things happen.
 * @property {"text"|"value"|"svg"|"page"|"live"|"error"} type
 * @property {string} [text] Printed text; a value's text; an SVG; a page's HTML; a traceback.
 * @property {"out"|"err"} [to] The stream of printed text.
 * @property {number} [height] Of a page, in pixels.
 * @property {Object<string, number>[]} [rows] Of `live`: numbers by their names.
 *
 * @typedef {object} Result
 * @property {boolean} ok The code ran to its end.
 * @property {{kind: string, message: string, check?: string}} [error] Of Python: the name of its class, its text;
 *   `check`: it is of the check.
 * @property {boolean} [stopped] `stop` was called.
 * @property {boolean} [lost] Python was ended, and with it all variables; a new one is loading.
 */

export class Session {
  /** How long Python has to answer an interrupt, in milliseconds, before the worker is ended. */
  static patience = 1500;

  #base;
  #worker;
  #next;          // a worker that waits with its scripts, for when this one is ended
  #ready;         // a promise: Python is there
  #kept;          // the files of the folder, for the next worker
  #interrupt;     // shared with Python, where the page may share memory
  #runs = new Map();
  #last = Promise.resolve();
  #count = 0;
  #stopping;

  /** "none" before the first load, then "loading", "ready", "running", or "failed". */
  state = "none";
  /** How many times Python was started: variables live as long as this number stays. */
  generation = 0;

  /**
   * @param {object} options
   * @param {string|URL} [options.base] The folder with Pyodide, the wheel and files.json.
   * @param {(at: {loaded: number, total: number}) => void} [options.onProgress] While files load, in bytes.
   * @param {(state: string) => void} [options.onState] When `state` has changed.
   */
  constructor({ base = new URL("../../run/", import.meta.url), onProgress = () => {}, onState = () => {} } = {}) {
    this.#base = new URL(base, document.baseURI).href;
    this.onProgress = onProgress;
    this.onState = onState;
  }

  /** Start Python, where that has not begun. Resolves when programs can run; rejects with what is missing. */
  load() {
    return this.#ready ??= this.#start();
  }

  /**
   * Run code after all that was asked for before.
   * @param {string} code
   * @param {object} [options]
   * @param {string} [options.name] Of the program, in errors and tables.
   * @param {number} [options.line] How many lines of that program stand before this code.
   * @param {string} [options.check] Statements that run after the code, which may fail: see `error.check`. The code
   *   then works on a copy of the variables.
   * @param {(event: PageEvent) => void} [options.on]
   * @returns {Promise<Result>}
   */
  run(code, { name = "example.py", line = 0, check, on = () => {} } = {}) {
    return this.#ask({ kind: "run", code, name, line, check }, on);
  }

  /** Forget all variables. */
  fresh() {
    return this.#ask({ kind: "fresh" });
  }

  /** End what runs. Where Python cannot be interrupted, it is ended and started anew: see `lost`. */
  stop() {
    const [id] = this.#runs.keys();
    if (id === undefined || this.#stopping === id) return;
    this.#stopping = id;
    if (!this.#interrupt || this.state !== "running") return this.#end({ stopped: true });
    this.#interrupt[0] = 2;
    setTimeout(() => { if (this.#runs.has(id)) this.#end({ stopped: true }); }, Session.patience);
  }

  #ask(message, on = () => {}) {
    const before = this.#last;
    return this.#last = before.then(async () => {
      const id = ++this.#count;
      const done = new Promise(resolve => this.#runs.set(id, { resolve, on }));
      try {
        this.load().then(() => {
          if (!this.#runs.has(id)) return;
          this.#to("running");
          this.#worker.postMessage({ ...message, id });
        }, error => this.#finish(id, { ok: false, lost: true, error: { kind: "Error", message: error.message } }));
        return await done;
      } finally {
        if (this.state === "running") this.#to("ready");
      }
    });
  }

  #start() {
    this.generation += 1;
    this.#to("loading");
    this.#interrupt = self.crossOriginIsolated ? new Uint8Array(new SharedArrayBuffer(1)) : undefined;
    const worker = this.#worker = this.#next ?? this.#newWorker();
    this.#next = undefined;
    return new Promise((resolve, reject) => {
      const failed = message => {
        worker.terminate();
        this.#ready = undefined;
        this.#to("failed");
        reject(new Error(message));
        this.#finishAll({ ok: false, lost: true, error: { kind: "Error", message } });
      };
      const told = {
        progress: at => this.onProgress(at),
        ready: ({ kept }) => {
          this.#kept = kept;
          this.#next = this.#newWorker();
          this.#next.postMessage({ kind: "scripts", base: this.#base });
          this.#to("ready");
          resolve();
        },
        event: ({ id, event }) => this.#runs.get(id)?.on(event),
        done: ({ id, error }) => this.#finish(id, { ok: !error, error: error ?? undefined, stopped: this.#stopping === id }),
        failed: ({ message }) => failed(message),
      };
      worker.onmessage = ({ data }) => told[data.kind](data);
      worker.onerror = event => failed(event.message ?? "the worker's script could not be loaded");
      worker.postMessage({ kind: "load", base: this.#base, interrupt: this.#interrupt, kept: this.#kept });
    });
  }

  #newWorker() {
    return new Worker(new URL("worker.js", import.meta.url), { type: "module" });
  }

  #end(why) {
    this.#worker.terminate();
    this.#ready = undefined;
    this.load().catch(() => {}); // the next run is told
    this.#finishAll({ ok: false, lost: true, ...why });
  }

  #finishAll(result) {
    for (const id of [...this.#runs.keys()]) this.#finish(id, result);
  }

  #finish(id, result) {
    this.#runs.get(id)?.resolve(result);
    this.#runs.delete(id);
  }

  #to(state) {
    this.state = state;
    this.onState(state);
  }
}
