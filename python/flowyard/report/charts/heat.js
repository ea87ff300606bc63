// A row of the worst links brings out its cell in the heat map.

for (const row of document.querySelectorAll("tr[data-cell]")) {
  const pick = (cell) => set("pick", cell, row.dataset.chart);
  row.addEventListener("pointerenter", () => pick(Number(row.dataset.cell)));
  row.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && pick(null));
}
