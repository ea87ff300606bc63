// Draws the charts of a sweep with another axis along x: the same rows, other encodings.

const layouts = JSON.parse(document.getElementById("layouts")?.textContent ?? "{}");
const beginning = { ...specs };

for (const select of document.querySelectorAll("select[data-layouts]")) {
  select.addEventListener("change", async () => {
    const chosen = Number(select.value);
    for (const element of document.querySelectorAll("[data-layout]")) {
      // A chart may belong to several.
      element.hidden = !element.dataset.layout.split(" ").map(Number).includes(chosen);
    }
    for (const button of buttons) button.setAttribute("aria-pressed", "false");
    pressed.clear();
    for (const [key, others] of Object.entries(layouts)) {
      const { datasets } = beginning[key];
      specs[key] = chosen ? { ...others[chosen - 1], datasets } : beginning[key];
      (await drawn[key]).finalize();
      drawn[key] = vegaEmbed(`#chart-${key}`, specs[key], options);
    }
    await Promise.all(Object.values(drawn));
    for (const choice of document.querySelectorAll("select[data-parameter]")) {
      if (!choice.closest("[hidden]")) set(choice.dataset.parameter, choice.value);
    }
    document.documentElement.setAttribute("data-layout-drawn", String(chosen));
  });
}

// What stands above two groups of charts is chosen for both.
for (const choice of document.querySelectorAll("select[data-parameter]")) {
  choice.addEventListener("change", () => {
    for (const other of document.querySelectorAll("select[data-parameter]")) {
      if (other.dataset.parameter === choice.dataset.parameter) other.value = choice.value;
    }
  });
}
