// Sorts the rows of tables with the class sortable: a press on a column's head, again for the other way.

for (const table of document.querySelectorAll("table.sortable")) {
  for (const { head, column } of headsOf(table)) {
    head.setAttribute("aria-sort", "none");
    const button = document.createElement("button");
    button.type = "button";
    button.className = "sort";
    button.setAttribute("aria-label", `sort by ${head.textContent.trim()}`);
    head.append(button);
    head.addEventListener("click", (event) => {
      // A finger on a definition wants to read it.
      if (event.pointerType === "touch" && event.target.closest("dfn")) return;
      sortBy(table, head, column);
    });
  }
}

// The heads that stand for one column each, with its number among a row's cells.
function headsOf(table) {
  const rows = [...table.tHead.rows];
  const heads = [];
  // Columns that a head of a row above covers.
  const taken = rows.map(() => new Set());
  rows.forEach((row, depth) => {
    let column = 0;
    for (const head of row.cells) {
      while (taken[depth].has(column)) column += 1;
      for (let below = depth + 1; below < depth + head.rowSpan; below += 1) {
        for (let covered = column; covered < column + head.colSpan; covered += 1) taken[below].add(covered);
      }
      if (head.colSpan === 1) heads.push({ head, column });
      column += head.colSpan;
    }
  });
  return heads;
}

function sortBy(table, head, column) {
  // Numbers are looked at for their largest first, names from A to Z.
  const rows = [...table.tBodies].flatMap((body) => [...body.rows]).filter((row) => row.cells.length > column);
  const numeric = rows.some((row) => row.cells[column].dataset.value !== undefined);
  const now = head.getAttribute("aria-sort");
  const down = now === "none" ? numeric : now === "ascending";
  for (const other of table.tHead.querySelectorAll("th[aria-sort]")) other.setAttribute("aria-sort", "none");
  head.setAttribute("aria-sort", down ? "descending" : "ascending");

  const compare = (a, b) => {
    const [x, y] = [keyOf(a, column, numeric), keyOf(b, column, numeric)];
    // Without a value: last, either way.
    if (x === null || y === null) return (x === null) - (y === null);
    const order = numeric ? x - y : x.localeCompare(y, "en", { numeric: true });
    return down ? -order : order;
  };
  const groups = [...table.tBodies].filter((body) => body.rows.length);
  const own = (body) => [...body.rows].filter((row) => !row.classList.contains("group"));
  if (groups.length > 1 && groups.every((body) => own(body).length === 1)) {
    // A group a row: the groups are sorted.
    table.append(...groups.sort((a, b) => compare(own(a)[0], own(b)[0])));
  } else {
    for (const body of groups) body.append(...own(body).sort(compare));
  }
}

function keyOf(row, column, numeric) {
  const cell = row.cells[column];
  if (!numeric) return cell.textContent.trim();
  return cell.dataset.value === undefined ? null : Number(cell.dataset.value);
}
