// The world of `flowyard watch` at an instant: packets on wires, queues, pauses and notes, from the events of its span.

const world = JSON.parse(document.getElementById("world").textContent);
const [FLOW, KIND, NUMBER, MADE, REPEATS, FATE, TRIMMED, HOPS] = [0, 1, 2, 3, 4, 5, 6, 7];
const [LINK, BYTES, ENQUEUED, STARTED, ARRIVED] = [0, 1, 2, 3, 4];

// A row for each packet at each port, by the time at which it joined that port.
const stays = world.packets
  .flatMap((packet) => packet[HOPS].map((hop) => ({ packet, hop, link: hop[LINK] })))
  .sort((one, other) => one.hop[ENQUEUED] - other.hop[ENQUEUED]);
const joined = stays.map(({ hop }) => hop[ENQUEUED]);
// All instants at which something happens, in their order.
const instants = [...new Set(Object.values(world.times).flat().concat(joined))].sort((one, other) => one - other);

// The number of elements of a sorted list that are at most a value.
function upTo(list, value) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle] <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}

// A packet that leaves the picture: dropped at a port, or cut off by the end of the span.
const left = new Map();
for (const packet of world.packets) {
  if (packet[FATE] && packet[HOPS].length) left.set(packet[HOPS].at(-1), true);
}

// What is where at a time: stays on wires and in queues.
function now(time) {
  const [flying, waiting] = [[], []];
  const last = upTo(joined, time);
  for (let place = 0; place < last; place += 1) {
    const stay = stays[place];
    const [, , , started, arrived] = stay.hop;
    if (started === null || started > time) {
      if (!(started === null && left.has(stay.hop) && lostBefore(stay, time))) waiting.push(stay);
    } else if (arrived === null ? !left.has(stay.hop) || wireUntil(stay) > time : arrived > time) {
      flying.push(stay);
    }
  }
  return { flying, waiting };
}

// Lost packets have the time of their note.
const lossTimes = new Map();
for (const [time, kind, link, flow] of world.notes) {
  if (kind === "dropped") {
    const key = `${link} ${flow}`;
    lossTimes.set(key, [...(lossTimes.get(key) ?? []), time]);
  }
}
function lostBefore({ packet, hop, link }, time) {
  const times = lossTimes.get(`${link} ${packet[FLOW]}`) ?? [];
  return times.some((lost) => lost >= hop[ENQUEUED] && lost <= time);
}

// The end of a transmission.
const wireUntil = ({ hop, link }) => hop[STARTED] + (hop[BYTES] * 8e12) / world.links[link][2];

// Ports that stand still at a time.
function paused(time) {
  const found = new Map();
  for (const [at, link, stopped] of world.pauses) {
    if (at > time) break;
    found.set(link, stopped);
  }
  return new Set([...found].filter(([, stopped]) => stopped).map(([link]) => link));
}

// Notes of the last while: where a mark is still to be seen.
const noteTimes = world.notes.map(([time]) => time);
const recent = (time, span) => world.notes.slice(upTo(noteTimes, time - span), upTo(noteTimes, time));

function counts(time) {
  const found = Object.fromEntries(Object.entries(world.times).map(([kind, times]) => [kind, upTo(times, time)]));
  const { flying, waiting } = now(time);
  return { ...found, waiting: waiting.length, "on wires": flying.length };
}

// The most bytes in one queue, for the scale of bars.
const longest = (() => {
  const changes = [];
  for (const { hop, link } of stays) {
    const size = hop[BYTES] || 64;
    changes.push([hop[ENQUEUED], link, size], [hop[STARTED] ?? (left.has(hop) ? hop[ENQUEUED] : world.span + 1), link, -size]);
  }
  changes.sort((one, other) => one[0] - other[0]);
  const held = new Map();
  let most = 1;
  for (const [, link, size] of changes) {
    const bytes = (held.get(link) ?? 0) + size;
    held.set(link, bytes);
    most = Math.max(most, bytes);
  }
  return most;
})();
