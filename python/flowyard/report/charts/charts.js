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
// Marks of an axis below 0.1 % may be 0.005 % apart: with two decimals two of them would read alike.
const onAxis = { ...formats, share: (value) => (value > 0 && value < 0.001 ? `${digits(100 * value)}%` : formats.share(value)) };
for (const [name, format] of Object.entries(onAxis)) {
  // A zero has no unit: it would be that of the smallest numbers.
  expressionFunctions[name] = (value) =>
    value === null || value === undefined ? NONE : plain(format(value)).replace(/^0 .*$/, "0");
}

const specs = JSON.parse(document.getElementById("specs")?.textContent ?? "{}");

// Panels one above the other do not take the width of their element by themselves: they get it here, and their legends
// as many columns as there is room for, of the width that they have in a picture (panels.py: 900 px).
function fitted(key, spec) {
  if (!spec.vconcat) return spec;
  const { minExtent = 58 } = spec.vconcat[0].layer[0].encoding.y?.axis ?? {};
  const width = Math.max(160, document.getElementById(`chart-${key}`).clientWidth - minExtent - 34);
  const panel = (name, value) => (name === "columns" ? Math.max(1, Math.min(value, Math.floor((value * width) / 900))) : value);
  return { ...spec, vconcat: JSON.parse(JSON.stringify(spec.vconcat.map((each) => ({ ...each, width })), panel)) };
}
const options = {
  mode: "vega-lite",
  renderer: "svg",
  actions: { export: true, source: false, compiled: false, editor: false },
  scaleFactor: { svg: 1, png: 2 },
  defaultStyle: false,
  forceActionsMenu: true,
  tooltip: { disableDefaultStyle: true },
  expressionFunctions,
};
const drawn = Object.fromEntries(
  Object.entries(specs).map(([key, spec]) => [
    key,
    vegaEmbed(`#chart-${key}`, fitted(key, spec), { ...options, downloadFileName: key }).then((chart) => exporting(key, chart)),
  ]),
);

// The menu of a chart: its pictures have the colours of the page, and its data are there as CSV.
function exporting(key, chart) {
  chart.view.toImageURL = (type, scale) => picture(chart.view, type, scale);
  const menu = document.querySelector(`#chart-${key} .vega-actions`);
  menu.parentElement.querySelector("summary").setAttribute("aria-label", "Save the chart or its data");
  for (const [name, rows] of Object.entries(specs[key].datasets)) {
    const link = document.createElement("a");
    link.textContent = `Save ${name === "rows" ? "data" : name} as CSV`;
    link.href = "#";
    link.download = `${key}${name === "rows" ? "" : `-${name}`}.csv`;
    for (const act of ["mousedown", "keydown"]) {
      link.addEventListener(act, () => (link.href = file(csv(rows), "text/csv")));
    }
    menu.append(link);
  }
  return chart;
}

const file = (text, type) => `data:${type};charset=utf-8,${encodeURIComponent(text)}`;

function csv(rows) {
  const names = [...new Set(rows.flatMap(Object.keys))];
  const quoted = (value) => {
    const text = String(value ?? "");
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return [names, ...rows.map((row) => names.map((name) => row[name]))]
    .map((cells) => `${cells.map(quoted).join(",")}\n`)
    .join("");
}

// Colours are variables of this page's style, which a picture elsewhere does not have.
async function picture(view, type, scale = 1) {
  const style = getComputedStyle(document.documentElement);
  const svg = (await view.toSVG(scale))
    .replace(/(<svg[^>]*>)/, `$1<rect width="100%" height="100%" fill="var(--surface)"/>`)
    .replace(/var\((--[\w-]+)\)/g, (_, name) => style.getPropertyValue(name).trim());
  if (type === "svg") return file(svg, "image/svg+xml");
  const image = Object.assign(new Image(), { src: file(svg, "image/svg+xml") });
  await image.decode();
  const canvas = Object.assign(document.createElement("canvas"), { width: image.width, height: image.height });
  canvas.getContext("2d").drawImage(image, 0, 0);
  return canvas.toDataURL("image/png");
}

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
