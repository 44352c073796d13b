// Tables that sort by their headings, unfold, and can be taken away as CSV.
function startTables() {
  for (const table of document.querySelectorAll(".table table")) {
    const heads = [...table.tHead.rows[0].cells];
    if (table.tBodies[0].rows.length < 2 || !heads.some((head) => head.classList.contains("num"))) continue;
    heads.forEach((head, column) => makeSortable(table, head, column));
  }
  for (const button of document.querySelectorAll("[data-fold]")) {
    button.addEventListener("click", () => {
      const open = button.closest(".table").classList.toggle("unfolded");
      button.setAttribute("aria-expanded", String(open));
      button.textContent = open ? "Show the first 12 rows" : button.dataset.all;
    });
    button.dataset.all = button.textContent;
  }
}

function makeSortable(table, head, column) {
  const button = document.createElement("button");
  button.type = "button";
  button.append(...head.childNodes);
  head.append(button);
  head.dataset.sortable = "";
  button.addEventListener("click", () => {
    const now = head.getAttribute("aria-sort");
    const numeric = head.classList.contains("num");
    const first = numeric ? "descending" : "ascending";
    const second = numeric ? "ascending" : "descending";
    for (const other of head.parentElement.cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", now === first ? second : first);
    sortRows(table.tBodies[0], column, head.getAttribute("aria-sort") === "ascending" ? 1 : -1, numeric);
  });
}

// Cells without a value come last either way; rows that are equal keep their order.
function sortRows(body, column, sign, numeric) {
  const rows = [...body.rows];
  const folded = rows.filter((row) => row.classList.contains("far")).length;
  const keys = new Map(rows.map((row) => [row, sortKey(row.cells[column], numeric)]));
  rows.sort((a, b) => {
    const [x, y] = [keys.get(a), keys.get(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return sign * (numeric ? x - y : x.localeCompare(y, "en", { numeric: true }));
  });
  rows.forEach((row, i) => row.classList.toggle("far", i >= rows.length - folded));
  body.append(...rows);
}

function sortKey(cell, numeric) {
  if (numeric) return cell.dataset.order === undefined ? null : Number(cell.dataset.order);
  return cell.textContent === "–" ? null : cell.textContent;
}

function startDownloads(tables) {
  for (const button of document.querySelectorAll("[data-csv]")) {
    const { file, columns, rows } = tables[button.dataset.csv];
    button.hidden = false;
    button.addEventListener("click", () => {
      const text = csv(columns, rows);
      const mark = /[^\x00-\x7f]/.test(text) ? "\ufeff" : ""; // tells spreadsheets that the file is UTF-8
      save(new Blob([mark + text], { type: "text/csv;charset=utf-8" }), file);
    });
  }
}

function csv(columns, rows) {
  return [columns, ...rows].map((row) => row.map(csvCell).join(",") + "\r\n").join("");
}

// A text that a spreadsheet would take for a formula gets a quote in front, unless it is a number.
function csvCell(value) {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const formula = /^[=+\-@\t\r]/.test(value) && !/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i.test(value);
  const text = formula ? "'" + value : value;
  return /[",\r\n]/.test(text) || text !== text.trim() ? '"' + text.replaceAll('"', '""') + '"' : text;
}

function save(blob, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
