// On the page of figures and verdicts: a box that leaves only the claims that fail.
document.addEventListener("DOMContentLoaded", () => {
  const tables = [...document.querySelectorAll("table.docutils")].filter(
    (table) => table.querySelectorAll("th")[1]?.textContent.trim() === "verdict",
  );
  const title = document.querySelector("article h1");
  if (!tables.length || !title) return;
  const rows = tables.flatMap((table) => [...table.tBodies[0].rows]);
  for (const row of rows) row.classList.add(row.cells[1].textContent.trim().startsWith("FAIL") ? "fails" : "passes");
  // Those of figures.
  for (const section of document.querySelectorAll("article section section section"))
    if (!section.querySelector("tr.fails")) section.classList.add("holds");
  for (const table of tables) table.classList.add("claims");
  title.insertAdjacentHTML(
    "afterend",
    '<p class="filter"><label><input type="checkbox" id="only-fail"> only claims that fail</label></p>',
  );
});
