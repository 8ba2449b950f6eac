// Sorts a table by the column whose title is chosen, and hides the rows that do not hold
// what is searched for.
"use strict";
for (const table of document.querySelectorAll("table[data-sortable]")) {
  const body = table.tBodies[0];
  const key = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.v ?? cell.textContent;
  };
  [...table.tHead.rows[0].cells].forEach((title, column) => {
    title.querySelector("button").addEventListener("click", () => {
      const number = title.classList.contains("n");
      const was = title.getAttribute("aria-sort");
      const up = was ? was === "descending" : !number;
      for (const other of title.parentNode.cells) other.removeAttribute("aria-sort");
      title.setAttribute("aria-sort", up ? "ascending" : "descending");
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [key(a, column), key(b, column)];
        const order = number ? x - y : x.localeCompare(y);
        return up ? order : -order;
      });
      body.append(...rows);
    });
  });
  if (body.rows.length > 12) {
    const search = document.createElement("input");
    search.type = "search";
    search.className = "search";
    search.placeholder = "Search " + table.caption.textContent.toLowerCase();
    search.setAttribute("aria-label", search.placeholder);
    search.addEventListener("input", () => {
      const wanted = search.value.toLowerCase();
      for (const row of body.rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
    });
    table.parentNode.before(search);
  }
}
// A link into a folded process opens it.
addEventListener("hashchange", () => {
  document.getElementById(location.hash.slice(1))?.closest("details")?.setAttribute("open", "");
});
