// Sorts, filters and extends the tables. A row is an element of the page, or data from which an
// element is made when the row comes into view, since thousands of elements would be slow.

class Row {
  constructor(table, element, data, number) {
    Object.assign(this, { table, element, data, number });
  }

  // The value by which a column sorts.
  key(column) {
    if (this.data) {
      const value = this.data[column];
      return this.table.isNumber(column) ? value : this.table.texts[value];
    }
    const cell = this.element.cells[column];
    const text = cell.dataset.v ?? cell.textContent;
    return this.table.isNumber(column) ? Number(text) : text;
  }

  // The text that the filter searches, in lower case.
  text() {
    if (this.words === undefined) {
      const words = this.data
        ? this.data.filter((_, i) => !this.table.isNumber(i)).map((i) => this.table.texts[i])
        : [...this.element.cells].filter((_, i) => !this.table.isNumber(i)).map((c) => c.textContent);
      this.words = words.join("\n").toLowerCase();
    }
    return this.words;
  }

  row() {
    this.element ??= this.make();
    return this.element;
  }

  make() {
    const row = document.createElement("tr");
    row.id = this.table.id + this.number;
    const { formats, texts } = this.table;
    formats.forEach((format, column) => {
      const cell = row.insertCell();
      const value = this.data[column];
      if (format in FORMATS) {
        cell.className = value > 0 ? "n" : "n zero";
        cell.textContent = value < 0 ? "–" : FORMATS[format](value);
      } else if (column === 0 && this.data.length > formats.length) {
        cell.append(this.details(texts[value]));
      } else {
        cell.textContent = texts[value];
        if (format === "words") cell.className = "w";
        if (format === "quadrant") cell.className = "q " + texts[value];
      }
    });
    return row;
  }

  details(name) {
    const details = document.createElement("details");
    const summary = document.createElement("summary");
    const list = document.createElement("ul");
    summary.textContent = name;
    for (const line of this.data.slice(this.table.formats.length)) {
      list.appendChild(document.createElement("li")).textContent = this.table.texts[line];
    }
    const body = document.createElement("div");
    body.append(list);
    details.append(summary, body);
    return details;
  }
}

class Table {
  // The number of rows that are made at a time.
  static BATCH = 100;

  constructor(box) {
    this.id = box.dataset.id;
    this.body = box.querySelector("tbody");
    this.titles = [...box.querySelectorAll("thead th")];
    this.formats = this.titles.map((title) => title.dataset.f);
    this.search = box.querySelector("input");
    this.output = box.querySelector("output");
    this.one = this.output.textContent;
    this.more = box.querySelector(".more");
    this.source = box.querySelector("script");
    this.scroller = box.querySelector(".scroll");
    this.rows = [...this.body.rows].map((row, i) => new Row(this, row, null, i));
    this.limit = this.rows.length;
    this.shown = this.rows;
    this.made = this.rows.length;
    this.titles.forEach((title, column) => {
      title.querySelector("button").addEventListener("click", () => this.sort(column));
    });
    let pause;
    this.search.addEventListener("input", () => {
      clearTimeout(pause);
      pause = setTimeout(() => this.refresh(), this.rows.length > 2000 ? 150 : 0);
    });
    this.more?.addEventListener("click", (event) => {
      const more = event.target.dataset.more;
      if (!more) return;
      this.limit = more === "all" ? Infinity : this.limit + Number(more);
      this.refresh(true);
    });
    this.scroller.addEventListener("scroll", () => this.prolong(), { passive: true });
  }

  isNumber(column) {
    return this.formats[column] in FORMATS;
  }

  // Reads the rows that are data, when they are first needed.
  load() {
    if (!this.source) return;
    const { texts, rows } = JSON.parse(this.source.textContent);
    this.texts = texts;
    rows.forEach((data) => this.rows.push(new Row(this, null, data, this.rows.length)));
    this.source.remove();
    this.source = null;
  }

  sort(column) {
    this.load();
    const title = this.titles[column];
    const was = title.getAttribute("aria-sort");
    const isNumber = this.isNumber(column);
    const up = was ? was === "descending" : !isNumber;
    for (const other of this.titles) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", up ? "ascending" : "descending");
    const keyed = this.rows.map((row) => [row.key(column), row]);
    const { compare } = new Intl.Collator("en", { numeric: true });
    keyed.sort(isNumber ? ([a], [b]) => a - b : ([a], [b]) => compare(a, b));
    if (!up) keyed.reverse();
    this.rows = keyed.map(([, row]) => row);
    this.refresh();
  }

  refresh(keepPlace) {
    this.load();
    const wanted = this.search.value.trim().toLowerCase();
    const found = wanted ? this.rows.filter((row) => row.text().includes(wanted)) : this.rows;
    this.shown = found.slice(0, this.limit);
    this.output.textContent = wanted
      ? `${grouped(found.length)} of ${this.one}` + (found.length > this.shown.length ? ", the first " + grouped(this.shown.length) : "")
      : this.one;
    if (this.more) this.more.hidden = found.length <= this.limit;
    const place = this.scroller.scrollTop;
    this.made = Math.min(this.shown.length, Math.max(Table.BATCH, keepPlace ? this.made : 0));
    this.body.replaceChildren(...this.shown.slice(0, this.made).map((row) => row.row()));
    this.scroller.scrollTop = keepPlace ? place : 0;
    this.prolong();
  }

  // Makes more rows when the last one comes near the visible part.
  prolong() {
    const { scrollTop, clientHeight, scrollHeight } = this.scroller;
    if (this.made >= this.shown.length || scrollTop + 2 * clientHeight < scrollHeight) return;
    const next = this.shown.slice(this.made, this.made + Table.BATCH);
    this.made += next.length;
    this.body.append(...next.map((row) => row.row()));
  }

  // Shows the row with this id, whatever hides it.
  reveal(id) {
    this.load();
    const row = this.rows.find((row) => this.id + row.number === id);
    if (!row) return;
    this.search.value = "";
    this.limit = Math.max(this.limit, this.rows.indexOf(row) + 1);
    this.refresh();
    while (!row.element?.isConnected) {
      this.body.append(...this.shown.slice(this.made, this.made + Table.BATCH).map((r) => r.row()));
      this.made = Math.min(this.shown.length, this.made + Table.BATCH);
    }
    const details = row.element.querySelector("details");
    if (details) details.open = true;
    row.element.scrollIntoView({ block: "center" });
    row.element.querySelector("summary")?.focus({ preventScroll: true });
  }
}

const tables = [...document.querySelectorAll(".table")].map((box) => new Table(box));
