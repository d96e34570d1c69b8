// Runs a Python file in Pyodide: node run_program.mjs FOLDER_OF_PYODIDE WHEEL FOLDER FILE RESULTS
// FOLDER is /tree there, with FILE in it; RESULTS is a folder, /results there.
import fs from "node:fs";

const [folder, wheel, tree, file, results] = process.argv.slice(2);
const { loadPyodide } = await import(`${folder}/pyodide.mjs`);
const python = await loadPyodide({ indexURL: `${folder}/` });
python.unpackArchive(new Uint8Array(fs.readFileSync(wheel)), "wheel", { extractDir: "/packages" });
for (const [inside, root] of Object.entries({ "/tree": tree, "/results": results })) {
  python.FS.mkdirTree(inside);
  python.FS.mount(python.FS.filesystems.NODEFS, { root }, inside);
}
python.runPython(`
import runpy, sys
sys.path.append("/packages")
sys.argv[:] = ["/tree/${file}", "/results/in_pyodide"]
runpy.run_path("/tree/${file}", run_name="__main__")`);
