// Brings the Run buttons to a page (run.js). A page that was opened as a file cannot load modules, nor
// Python: there the buttons say what to do.
const SERVE = "Programs need a web server: python -m http.server in the site's folder, then http://localhost:8000";

if (location.protocol !== "file:") {
  import(new URL("run.js", document.currentScript.src));
} else {
  for (const code of document.querySelectorAll(".md-content .language-python.highlight:not([data-elsewhere])")) {
    const tools = document.createElement("div");
    tools.className = "run";
    tools.innerHTML = '<button type="button">Run</button><span role="status"></span>';
    const [start, status] = tools.children;
    start.onclick = () => { status.textContent = SERVE; };
    code.after(tools);
  }
}
