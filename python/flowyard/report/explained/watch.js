// Plays the world: draws it on a canvas, moves through time, and tells the story of the packet or port that is pressed.

const stage = document.getElementById("stage");
const pen = stage.getContext("2d");
const [play, scrubber, speed, chosenFlow] = ["play", "time", "speed", "flow"].map((id) => document.getElementById(id));
const still = matchMedia("(prefers-reduced-motion: reduce)");
const state = { time: 0, playing: false, before: null, picked: null };
let colours = {};
let spots = [];

const us = (time) => `${(time / 1e6).toLocaleString("en-US", { minimumFractionDigits: 3, maximumFractionDigits: 3 })} µs`;
// Simulated ps in a second of the reader's: from a thousandth of the span to half of it.
const pace = () => world.span * 10 ** (-3 + (2.7 * Number(speed.value)) / 100);

function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ["surface", "ink", "muted", "line", "axis", "error", "run-3"];
  colours = Object.fromEntries(names.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
  colours.flows = [0, 1, 2, 3, 4, 5, 6, 7].map((place) => style.getPropertyValue(`--run-${place}`).trim());
}
const colourOf = (flow) => colours.flows[flow % colours.flows.length];

function at(node) {
  const { row, place } = world.nodes[node];
  const margin = 46;
  const height = stage.clientHeight - 2 * margin;
  const y = world.rows > 1 ? margin + height * (1 - row / (world.rows - 1)) : stage.clientHeight / 2;
  return [14 + place * (stage.clientWidth - 28), y];
}

// The two ends of a link, a little aside: each direction has its own line.
function line(link) {
  const [from, to] = world.links[link];
  const [[ax, ay], [bx, by]] = [at(from), at(to)];
  const length = Math.hypot(bx - ax, by - ay) || 1;
  const [ox, oy] = [(2.5 * (by - ay)) / length, (-2.5 * (bx - ax)) / length];
  return { ax: ax + ox, ay: ay + oy, bx: bx + ox, by: by + oy, length };
}

function draw() {
  const scale = devicePixelRatio || 1;
  const [width, height] = [stage.clientWidth, stage.clientHeight];
  if (stage.width !== width * scale || stage.height !== height * scale) {
    [stage.width, stage.height] = [width * scale, height * scale];
  }
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  spots = [];
  const stopped = paused(state.time);
  pen.lineWidth = 1;
  for (let link = 0; link < world.links.length; link += 1) {
    const { ax, ay, bx, by } = line(link);
    pen.strokeStyle = stopped.has(link) ? colours["run-3"] : colours.line;
    pen.lineWidth = stopped.has(link) ? 2.5 : 1;
    pen.beginPath();
    pen.moveTo(ax, ay);
    pen.lineTo(bx, by);
    pen.stroke();
  }
  const { flying, waiting } = now(state.time);
  drawQueues(waiting);
  flying.forEach(drawPacket);
  drawNotes();
  drawNodes();
}

const isDim = (flow) => chosenFlow.value !== "" && String(flow) !== chosenFlow.value;

function drawPacket(stay) {
  const { packet, hop, link } = stay;
  const { ax, ay, bx, by } = line(link);
  const end = hop[ARRIVED] ?? wireUntil(stay) + 1;
  const part = Math.min(1, (state.time - hop[STARTED]) / Math.max(end - hop[STARTED], 1));
  const [x, y] = [ax + (bx - ax) * part, ay + (by - ay) * part];
  pen.globalAlpha = isDim(packet[FLOW]) ? 0.15 : 1;
  pen.beginPath();
  pen.arc(x, y, packet[KIND] ? 2.2 : 4, 0, 2 * Math.PI);
  if (isTrimmed(packet, link)) {
    pen.strokeStyle = colourOf(packet[FLOW]);
    pen.lineWidth = 1.6;
    pen.stroke();
  } else {
    pen.fillStyle = colourOf(packet[FLOW]);
    pen.fill();
  }
  pen.globalAlpha = 1;
  spots.push({ x, y, reach: 8, packet });
}

// Whether a packet is only a header on that link: behind, or at, the port that trimmed it.
function isTrimmed(packet, link) {
  if (packet[TRIMMED] < 0) return false;
  const links = packet[HOPS].map((hop) => hop[LINK]);
  return links.indexOf(link) >= links.indexOf(packet[TRIMMED]);
}

// How far a bar from a point to one side of a link stays on the stage.
function reach(x, y, dx, dy, side) {
  const along = (from, by, size) => (by === 0 ? Infinity : (by > 0 ? size - 6 - from : from - 6) / Math.abs(by));
  return Math.min(along(x, -side * dy, stage.clientWidth), along(y, side * dx, stage.clientHeight));
}

// Where a port's bar begins, its link's direction, and the side with more room.
function beside(link) {
  const { ax, ay, bx, by, length } = line(link);
  const [dx, dy] = [(bx - ax) / length, (by - ay) / length];
  // Above a switch stands its name.
  const aside = dy < 0 && !world.nodes[world.links[link][0]].host ? 30 : 15;
  const [x, y] = [ax + aside * dx, ay + aside * dy];
  const side = reach(x, y, dx, dy, 1) >= reach(x, y, dx, dy, -1) ? 1 : -1;
  return { x, y, dx, dy, side, room: reach(x, y, dx, dy, side) };
}

// The queue of a port: a bar across its link, beside the node, a piece for each flow; one scale for all ports.
function drawQueues(waiting) {
  const ports = Map.groupBy ? Map.groupBy(waiting, ({ link }) => link) : grouped(waiting);
  const least = Math.min(...world.links.map((_, link) => beside(link).room));
  const room = Math.min(110, Math.max(stage.clientWidth / 8, 24), least);
  for (const [link, stayed] of ports) {
    const { x, y, dx, dy, side } = beside(link);
    let along = 0;
    for (const { packet, hop } of stayed) {
      const long = Math.max(1, ((hop[BYTES] || 64) / longest) * room);
      pen.globalAlpha = isDim(packet[FLOW]) ? 0.15 : 1;
      pen.fillStyle = colourOf(packet[FLOW]);
      pen.save();
      pen.translate(x, y);
      pen.rotate(Math.atan2(dy, dx) + (side * Math.PI) / 2);
      pen.fillRect(along, -4, long, 8);
      pen.restore();
      along += long;
    }
    pen.globalAlpha = 1;
    const [mx, my] = [x - (side * dy * along) / 2, y + (side * dx * along) / 2];
    spots.push({ x: mx, y: my, reach: Math.max(9, along / 2), port: link, end: [x - side * dy * along, y + side * dx * along] });
  }
}

function grouped(waiting) {
  const found = new Map();
  for (const stay of waiting) found.set(stay.link, [...(found.get(stay.link) ?? []), stay]);
  return found;
}

function drawNotes() {
  for (const [, kind, link] of recent(state.time, pace() * 0.35)) {
    if (kind === "marked" || link === null) continue;
    const { ax, ay, bx, by, length } = line(link);
    const [x, y] = [ax + (22 * (bx - ax)) / length, ay + (22 * (by - ay)) / length];
    pen.strokeStyle = kind === "dropped" ? colours.error : colours.flows[1];
    pen.lineWidth = 2.4;
    pen.beginPath();
    if (kind === "dropped") {
      pen.moveTo(x - 6, y - 6);
      pen.lineTo(x + 6, y + 6);
      pen.moveTo(x + 6, y - 6);
      pen.lineTo(x - 6, y + 6);
    } else {
      pen.arc(x, y, 7, 0, 2 * Math.PI);
    }
    pen.stroke();
  }
}

function drawNodes() {
  const inRow = Map.groupBy ? Map.groupBy(world.nodes, ({ row }) => row) : new Map();
  pen.font = "11px system-ui, sans-serif";
  pen.textAlign = "center";
  world.nodes.forEach(({ name, host, row }, place) => {
    const [x, y] = at(place);
    const room = (stage.clientWidth - 28) / (inRow.get(row)?.length ?? 1);
    const half = host ? 5 : 8;
    // Of many nodes in a row each stays apart from the next.
    const wide = Math.min(half, Math.max(room / 2 - 0.75, 1));
    pen.fillStyle = host ? colours.muted : colours.ink;
    pen.fillRect(x - wide, y - half, 2 * wide, 2 * half);
    // Names that are too wide are shortened, as "p0e1", or left out: the story has them.
    const short = host ? name.replace(/^host /, "") : name.replace(/([a-z])[a-z]*/g, "$1").replaceAll(" ", "");
    const words = [name, short].find((text) => pen.measureText(text).width + 6 < room);
    if (words) {
      const below = host ? y + 20 : y - 14;
      // A rim keeps names legible on links and bars.
      pen.strokeStyle = colours.surface;
      pen.lineWidth = 4;
      pen.lineJoin = "round";
      pen.strokeText(words, x, below);
      pen.fillStyle = colours.muted;
      pen.fillText(words, x, below);
    }
    spots.push({ x, y, reach: 9, node: place });
  });
}

function show() {
  draw();
  scrubber.value = String((10000 * state.time) / world.span);
  document.getElementById("clock").textContent = us(world.from + state.time);
  document.getElementById("speed-words").textContent = `${us(pace())}/s`;
  for (const [name, value] of Object.entries({ ...zeros, ...counts(state.time) })) {
    const cell = document.querySelector(`[data-count="${name}"]`);
    if (cell) cell.textContent = value.toLocaleString("en-US");
  }
  if (state.picked) tell(state.picked);
}
const zeros = Object.fromEntries([...document.querySelectorAll("[data-count]")].map((cell) => [cell.dataset.count, 0]));

function seek(time) {
  state.time = Math.min(Math.max(Math.round(time), 0), world.span);
  show();
}

function frame(clock) {
  if (!state.playing) return;
  const passed = state.before === null ? 0 : (clock - state.before) / 1000;
  state.before = clock;
  seek(state.time + passed * pace());
  if (state.time >= world.span) setPlaying(false);
  else requestAnimationFrame(frame);
}

function setPlaying(on) {
  state.playing = on && !still.matches;
  state.before = null;
  play.textContent = state.playing ? "Pause" : "Play";
  play.setAttribute("aria-pressed", String(state.playing));
  if (state.playing) {
    if (state.time >= world.span) state.time = 0;
    requestAnimationFrame(frame);
  }
}

function step(direction) {
  setPlaying(false);
  const place = upTo(instants, state.time);
  if (direction > 0) seek(instants[place] ?? world.span);
  else seek(instants[instants[place - 1] === state.time ? place - 2 : place - 1] ?? 0);
}

// The story of a packet or a port, as rows of text: names in scenarios are anybody's, and never HTML.
function tell(picked) {
  const rows = picked.packet ? ofPacket(picked.packet) : picked.port === undefined ? ofNode(picked.node) : ofPort(picked.port);
  const table = document.createElement("table");
  table.className = "numbers";
  for (const cells of rows) {
    const row = table.insertRow();
    for (const words of cells) row.insertCell().textContent = words;
  }
  document.getElementById("told").replaceChildren(table);
}

const nameOf = (link) => `${world.nodes[world.links[link][0]].name} → ${world.nodes[world.links[link][1]].name}`;
const kindOf = (packet) => (packet[KIND] ? "control packet" : packet[REPEATS] ? "retransmission" : "data packet");

function ofPacket(packet) {
  const number = packet[NUMBER] === null ? "" : ` ${packet[NUMBER]}`;
  const rows = [[`flow ${packet[FLOW]}, ${kindOf(packet)}${number}`, "made at", us(world.from + packet[MADE])]];
  for (const hop of packet[HOPS]) {
    rows.push([nameOf(hop[LINK]), "joined the port at", us(world.from + hop[ENQUEUED])]);
    if (hop[STARTED] !== null) rows.push(["", "first bit at", us(world.from + hop[STARTED])]);
    if (hop[ARRIVED] !== null) rows.push(["", "last bit arrived at", us(world.from + hop[ARRIVED])]);
    if (hop[LINK] === packet[TRIMMED]) rows.push(["", "payload trimmed", ""]);
  }
  if (packet[FATE]) rows.push([packet[FATE], "", ""]);
  return rows;
}

function ofPort(link) {
  const stayed = now(state.time).waiting.filter((stay) => stay.link === link);
  const bytes = stayed.reduce((sum, { hop }) => sum + hop[BYTES], 0);
  const notes = world.notes.filter(([time, , at]) => at === link && time <= state.time);
  const number = (kind) => notes.filter(([, each]) => each === kind).length;
  const rows = [[`port ${nameOf(link)}`, `${stayed.length} packets wait`, `${bytes.toLocaleString("en-US")} bytes`]];
  rows.push(["until now", `${number("dropped")} dropped, ${number("trimmed")} trimmed`, `${number("marked")} marked`]);
  for (const { packet, hop } of stayed.slice(0, 100)) {
    rows.push([`flow ${packet[FLOW]}`, `${kindOf(packet)} ${packet[NUMBER] ?? ""}`, `since ${us(world.from + hop[ENQUEUED])}`]);
  }
  return rows;
}

function ofNode(node) {
  const links = world.links.flatMap(([from], link) => (from === node ? [link] : []));
  return [[world.nodes[node].name, "", ""], ...links.flatMap((link) => ofPort(link).slice(0, 2))];
}

function pick(x, y) {
  const near = spots
    .map((spot) => ({ ...spot, far: Math.hypot(spot.x - x, spot.y - y) }))
    .filter(({ far, reach }) => far <= reach + 4)
    .sort((one, other) => one.far - other.far)[0];
  if (!near) return;
  state.picked = near;
  tell(near);
}

play.addEventListener("click", () => setPlaying(!state.playing));
document.getElementById("back").addEventListener("click", () => step(-1));
document.getElementById("next").addEventListener("click", () => step(1));
scrubber.addEventListener("input", () => {
  setPlaying(false);
  seek((Number(scrubber.value) / 10000) * world.span);
});
speed.addEventListener("input", show);
chosenFlow.addEventListener("change", show);
stage.addEventListener("click", (event) => pick(event.offsetX, event.offsetY));
const keys = {
  " ": () => setPlaying(!state.playing),
  ArrowLeft: () => step(-1),
  ArrowRight: () => step(1),
  PageUp: () => seek(state.time - world.span / 20),
  PageDown: () => seek(state.time + world.span / 20),
  Home: () => seek(0),
  End: () => seek(world.span),
  "+": () => { speed.stepUp(5); show(); },
  "-": () => { speed.stepDown(5); show(); },
};
document.addEventListener("keydown", (event) => {
  // A control that has the keyboard keeps its own keys.
  if (!keys[event.key] || event.target.closest("input, select, button, summary, a")) return;
  event.preventDefault();
  keys[event.key]();
});
function showStill() {
  play.hidden = still.matches;
  document.getElementById("still").hidden = !still.matches;
  if (still.matches) setPlaying(false);
}
still.addEventListener("change", showStill);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { readColours(); draw(); });
new ResizeObserver(draw).observe(stage);
readColours();
showStill();
show();
// Programs and tests move through time by these.
window.watch = { seek, step, counts, world, state, spots: () => spots.map(({ packet, ...spot }) => spot) };
document.documentElement.setAttribute("data-charts", "0");
