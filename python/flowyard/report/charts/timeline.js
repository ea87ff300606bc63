// Filters the flows of the timeline, and lists those that are shown.

const filter = document.getElementById("flow-filter");
if (filter) {
  const { flows: every, faults } = specs.timeline.datasets;
  const table = document.getElementById("flow-table");
  const [totals, held, labels] = ["totals", "held", "runs"].map((name) => JSON.parse(table.dataset[name]));
  const value = (name) => filter.elements[name]?.value ?? "";

  const show = async () => {
    const run = value("run") || labels[0];
    const flows = every.filter((flow) => flow.run === run).filter(wanted);
    const { view } = await drawn.timeline;
    view.data("flows", flows);
    if (faults) view.data("faults", faults.filter((fault) => fault.run === run));
    view.runAsync();
    list(flows);
    const number = labels.indexOf(run);
    const count = (of) => of.toLocaleString("en-US");
    const of = held[number] < totals[number] ? `${count(held[number])} held here; the run has ` : "";
    document.getElementById("flow-count").textContent =
      `Shown: ${count(flows.length)} of ${of}${count(totals[number])} flows.`;
    for (const remark of document.querySelectorAll("[data-of]")) remark.hidden = remark.dataset.of !== run;
  };

  const wanted = (flow) => {
    const state = value("state");
    if (state === "unfinished" && flow.fct !== null) return false;
    if (state === "timeouts" && !flow.timeouts) return false;
    if (state === "lost" && !flow.lost) return false;
    if (Number(state) && !(flow.rank !== null && flow.rank < Number(state))) return false;
    if (value("tag") && flow.tag !== value("tag")) return false;
    if (value("group") && flow.group !== value("group")) return false;
    const text = value("search").trim().toLowerCase().replace(/^flow\s+/, "");
    return !text || String(flow.flow) === text || flow.from === text || flow.to === text;
  };

  const list = (flows) => {
    const columns = [
      ["flow", formats.count], ["from"], ["to"], ["tag"], ["size", formats.bytes], ["start", formats.duration],
      ["fct", formats.duration], ["slowdown", formats.ratio], ["retransmissions", formats.count],
      ["timeouts", formats.count], ["drops", formats.count], ...(faults ? [["lost", formats.count]] : []), ["state"],
    ];
    const rows = flows.map((flow) => {
      const row = document.createElement("tr");
      for (const [name, format] of columns) {
        const cell = document.createElement("td");
        const given = flow[name];
        if (format && given !== null) cell.dataset.value = given;
        cell.textContent = given === null ? NONE : format ? format(given) : given;
        row.append(cell);
      }
      return row;
    });
    table.querySelector("tbody").replaceChildren(...rows);
    for (const head of table.querySelectorAll("th[aria-sort]")) head.setAttribute("aria-sort", "none");
  };

  filter.addEventListener("input", show);
  show();
}
