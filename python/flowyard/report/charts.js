// Draws the charts of the page, brings out one run or line when its name is pressed, and sets what a select chooses.

const NONE = "–";

// As text.py has them.
function digits(value) {
  const size = Math.abs(value);
  if (value === 0) return "0";
  if (size >= 99.95) return Math.round(value).toLocaleString("en-US");
  if (size < 0.0005) return value.toExponential(0).replace("e-0", "e-");
  return value.toFixed(size >= 9.995 ? 1 : size >= 0.9995 ? 2 : 3);
}

function scaled(units) {
  return (value) => {
    if (value === null || value === undefined) return NONE;
    let power = 0;
    while (Math.abs(value) >= 999.5 && power < units.length - 1) {
      value /= 1000;
      power += 1;
    }
    const text = power || value !== Math.trunc(value) ? digits(value) : String(value);
    return `${text} ${units[power]}`.trim();
  };
}

// Axes carry round numbers: 20 µs, not 20.0 µs.
const plain = (text) => text.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");

const formats = {
  duration: scaled(["ps", "ns", "µs", "ms", "s"]),
  bytes: scaled(["B", "KB", "MB", "GB", "TB"]),
  rate: scaled(["bit/s", "Kbps", "Mbps", "Gbps", "Tbps"]),
  share: (value) =>
    `${value > 0 && value < 0.0001 ? digits(100 * value) : (100 * value).toFixed(value > 0.99 || value < 0.1 ? 2 : 1)}%`,
  ratio: digits,
  count: (value) => value.toLocaleString("en-US"),
};
const expressionFunctions = { label: String };
for (const [name, format] of Object.entries(formats)) {
  expressionFunctions[name] = (value) => (value === null || value === undefined ? NONE : plain(format(value)));
}

const specs = JSON.parse(document.getElementById("specs")?.textContent ?? "{}");
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  tooltip: { disableDefaultStyle: true },
  expressionFunctions,
};
const drawn = Object.fromEntries(
  Object.entries(specs).map(([key, spec]) => [key, vegaEmbed(`#chart-${key}`, spec, options)]),
);

// Sets a parameter of one chart, or of all charts that have it.
async function set(parameter, value, only) {
  for (const [key, chart] of Object.entries(drawn)) {
    if ((only && key !== only) || !specs[key].params.some(({ name }) => name === parameter)) continue;
    const { view } = await chart;
    view.signal(parameter, value).runAsync();
  }
}

const buttons = [...document.querySelectorAll(".legend button")];
const pressed = new Map();
for (const button of buttons) {
  const { run, chart } = button.dataset;
  button.addEventListener("click", () => {
    pressed.set(chart, pressed.get(chart) === run ? null : run);
    for (const other of buttons) {
      if (other.dataset.chart === chart) other.setAttribute("aria-pressed", String(other.dataset.run === pressed.get(chart)));
    }
    set("focus", pressed.get(chart), chart);
  });
  button.addEventListener("pointerenter", () => set("focus", run, chart));
  button.addEventListener("pointerleave", () => set("focus", pressed.get(chart) ?? null, chart));
}

for (const choice of document.querySelectorAll("select[data-parameter]")) {
  choice.addEventListener("change", () => {
    set(choice.dataset.parameter, choice.value);
    // Legends that belong to one choice, as the scale of a heat map.
    for (const legend of document.querySelectorAll(`[data-${choice.dataset.parameter}]`)) {
      legend.hidden = legend.dataset[choice.dataset.parameter] !== choice.value;
    }
  });
}
for (const form of document.querySelectorAll("form.choices")) {
  form.addEventListener("submit", (event) => event.preventDefault());
}

Promise.all(Object.values(drawn)).then(
  (all) => document.documentElement.setAttribute("data-charts", String(all.length)),
  (error) => {
    console.error(error);
    document.documentElement.setAttribute("data-charts", "failed");
  },
);
