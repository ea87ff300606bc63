// Definitions: shown under the pointer, on focus from the keyboard, and on a tap; what is folded opens by a link to it,
// and all of it in print.

const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);

let told = null;

function showTip(word) {
  told = word;
  tip.textContent = word.dataset.tip;
  tip.hidden = false;
  place(word);
}

function place(word) {
  const at = word.getBoundingClientRect();
  const left = Math.min(at.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
  const below = at.bottom + 6 + tip.offsetHeight < window.innerHeight;
  tip.style.left = `${Math.max(8, left)}px`;
  tip.style.top = `${below ? at.bottom + 6 : Math.max(8, at.top - 6 - tip.offsetHeight)}px`;
}

function hideTip() {
  told = null;
  tip.hidden = true;
}

for (const word of document.querySelectorAll("dfn[title]")) {
  // The browser's own title knows neither keyboard nor touch.
  word.dataset.tip = word.title;
  word.removeAttribute("title");
  word.tabIndex = 0;
  word.setAttribute("aria-describedby", "tip");
  word.addEventListener("pointerenter", () => showTip(word));
  word.addEventListener("focus", () => showTip(word));
  word.addEventListener("pointerleave", (event) => event.pointerType === "mouse" && hideTip());
  word.addEventListener("blur", hideTip);
}
document.addEventListener("keydown", (event) => event.key === "Escape" && hideTip());
document.addEventListener("pointerdown", (event) => !event.target.closest("dfn") && hideTip());
// A word that gets the focus may be scrolled to.
window.addEventListener("scroll", () => told && place(told), { passive: true, capture: true });

// A link to what is folded opens it.
function unfold() {
  const target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
  const folded = target && (target.matches("details") ? target : target.querySelector(":scope > details:only-child"));
  if (folded) folded.open = true;
}
window.addEventListener("hashchange", unfold);
unfold();

let closed = [];
window.addEventListener("beforeprint", () => {
  closed = [...document.querySelectorAll("details:not([open])")];
  for (const details of closed) details.open = true;
});
window.addEventListener("afterprint", () => {
  for (const details of closed) details.open = false;
});
