// The op table behind a filter: without one only the namespaces are seen, with one the rows that
// have all its words. Without scripts the page has all rows.
const heading = document.getElementById("the-op-table");
if (heading) {
  const tables = [...document.querySelectorAll(".md-content table")];
  const sections = tables.map(table => ({
    table,
    title: [...document.querySelectorAll(".md-content h2")].findLast(
      h2 => h2.compareDocumentPosition(table) & Node.DOCUMENT_POSITION_FOLLOWING),
    rows: [...table.tBodies[0].rows].map(row => ({ row, text: row.textContent.toLowerCase() })),
  }));
  const bar = document.createElement("p");
  bar.className = "filter";
  bar.innerHTML = '<input type="search" placeholder="softmax, or: pointwise _" aria-label="Filter">'
    + '<button type="button">all</button> <span role="status"></span>';
  const [field, all, count] = bar.children;
  const show = every => {
    const words = field.value.toLowerCase().split(/\s+/).filter(word => word);
    let found = 0;
    for (const { table, title, rows } of sections) {
      let here = 0;
      for (const { row, text } of rows) {
        row.hidden = !every && !(words.length && words.every(word => text.includes(word)));
        here += !row.hidden;
      }
      table.hidden = !here;
      title.hidden = words.length > 0 && !here;
      found += here;
    }
    count.textContent = words.length || every ? `${found} functions` : "";
  };
  field.oninput = () => show(false);
  all.onclick = () => { field.value = ""; show(true); };
  tables.forEach(table => table.dataset.ops = "");
  sections[0].title.before(bar);
  show(false);
}
