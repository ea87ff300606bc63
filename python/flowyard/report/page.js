// Draws the charts of the page, and brings out one run or line when its name is pressed.

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
  share: (value) => `${(100 * value).toFixed(value > 0.99 || value < 0.1 ? 2 : 1)}%`,
  ratio: digits,
  count: (value) => value.toLocaleString("en-US"),
};
const expressionFunctions = { label: String };
for (const [name, format] of Object.entries(formats)) {
  expressionFunctions[name] = (value) => plain(format(value));
}

const specs = JSON.parse(document.getElementById("specs").textContent);
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: false,
  tooltip: { disableDefaultStyle: true },
  expressionFunctions,
};
const drawn = Object.entries(specs).map(([key, spec]) => vegaEmbed(`#chart-${key}`, spec, options));

const buttons = [...document.querySelectorAll(".legend button")];
let pressed = null;
async function focus(run) {
  for (const { view } of await Promise.all(drawn)) view.signal("focus", run).runAsync();
}
for (const button of buttons) {
  const run = button.dataset.run;
  button.addEventListener("click", () => {
    pressed = pressed === run ? null : run;
    for (const other of buttons) other.setAttribute("aria-pressed", String(other.dataset.run === pressed));
    focus(pressed);
  });
  button.addEventListener("pointerenter", () => focus(run));
  button.addEventListener("pointerleave", () => focus(pressed));
}

// Where a page lets the reader choose what all charts show.
for (const choice of document.querySelectorAll("select[data-parameter]")) {
  choice.addEventListener("change", async () => {
    for (const { view } of await Promise.all(drawn)) view.signal(choice.dataset.parameter, choice.value).runAsync();
  });
}

Promise.all(drawn).then(
  () => document.documentElement.setAttribute("data-charts", String(drawn.length)),
  (error) => {
    console.error(error);
    document.documentElement.setAttribute("data-charts", "failed");
  },
);
