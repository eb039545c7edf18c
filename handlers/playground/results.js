// Draw hits, their explanations and timings. Texts are set by textContent, never as markup.

import { best, show } from "./highlight.js";

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

function meter(share) {
  const fill = make("span");
  fill.style.width = `${Math.round(100 * Math.min(1, Math.abs(share)))}%`;
  const bar = make("div", { className: share < 0 ? "meter loss" : "meter" }, fill);
  bar.setAttribute("aria-hidden", "true");
  return bar;
}

/** Return a branch of an explanation: its amount, and below it its parts and its reasons. */
function branch(part, whole, depth) {
  const row = (tag) =>
    make(
      tag,
      { className: "row" },
      make("span", { className: "label", textContent: part.label }),
      meter(whole ? part.value / Math.abs(whole) : 0),
      make("span", { className: "amount", textContent: part.value.toFixed(4) }),
    );
  const tree = (parts, size) => make("ul", {}, ...parts.map((each) => branch(each, size, depth + 1)));
  const below = part.parts.length ? [tree(part.parts, whole)] : [];
  if (part.reasons) { // in a unit of its own
    below.push(make("div", { className: "reasons" }, tree([part.reasons], part.reasons.value)));
  }
  if (!below.length) return make("li", {}, row("div"));
  const details = make("details", { open: depth < 3 }, row("summary"), ...below);
  return make("li", {}, details);
}

function marked(tag, className, text, spans, largest) {
  const element = make(tag, { className });
  const characters = Array.from(text);
  const shown = best(characters, spans);
  show(element, characters, spans, shown, largest);
  return { element, characters, shown };
}

/** Return the id, and the passage if the document is split. */
function named(hit) {
  return hit.passage ? `${hit.id} · passage ${hit.passage}` : hit.id;
}

function card(hit, place, highest, largest) {
  const spans = hit.highlights ?? { title: [], text: [] };
  const title = marked("h2", "", hit.title || named(hit), hit.title ? spans.title : [], largest);
  const text = marked("p", "text", hit.text, spans.text, largest);
  const actions = make("div", { className: "actions" });
  const item = make(
    "li",
    { className: "hit" },
    make("span", { className: "place", textContent: place, ariaHidden: "true" }),
    title.element,
    make(
      "div",
      {},
      make("div", { className: "score", textContent: hit.score.toFixed(4) }),
      meter(highest > 0 ? hit.score / highest : 0),
    ),
    hit.title ? make("p", { className: "id", textContent: named(hit) }) : "",
    hit.metadata ? make("p", { className: "metadata", textContent: described(hit.metadata) }) : "",
    text.element,
    actions,
  );
  const whole = [0, text.characters.length];
  if (text.shown[1] - text.shown[0] < whole[1]) {
    let open = false;
    const more = make("button", { type: "button", className: "quiet", textContent: "Whole text" });
    more.setAttribute("aria-expanded", "false");
    more.addEventListener("click", () => {
      open = !open;
      more.textContent = open ? "Less" : "Whole text";
      more.setAttribute("aria-expanded", String(open));
      text.element.classList.toggle("whole", open);
      show(text.element, text.characters, spans.text, open ? whole : text.shown, largest);
    });
    actions.append(more);
  }
  if (hit.explanation) actions.append(why(hit, item));
  return item;
}

/** Return metadata on one line. */
function described(metadata) {
  const shown = (value) => {
    const text = Array.isArray(value) ? value.join(", ") : String(value);
    return text.length > 60 ? `${text.slice(0, 60)}…` : text;
  };
  return Object.entries(metadata)
    .map(([name, value]) => `${name}: ${shown(value)}`)
    .join(" · ");
}

/** Return a button that opens the explanation below a hit, which is built when it is first opened. */
function why(hit, item) {
  const button = make("button", { type: "button", className: "quiet why-button", textContent: "Why this score?" });
  let panel = null;
  button.setAttribute("aria-expanded", "false");
  button.addEventListener("click", () => {
    if (!panel) {
      const tree = make("ul", {}, branch(hit.explanation, hit.explanation.value, 0));
      panel = make("div", { className: "why", hidden: true }, tree);
      item.append(panel);
    }
    panel.hidden = !panel.hidden;
    button.setAttribute("aria-expanded", String(!panel.hidden));
  });
  return button;
}

/** Show the hits of one answer. */
export function showHits(list, hits) {
  const values = hits.flatMap(({ highlights: spans }) =>
    spans ? [...spans.title, ...spans.text].map((span) => span.value) : [],
  );
  const largest = Math.max(0, ...values);
  const highest = Math.max(0, ...hits.map((hit) => hit.score));
  list.replaceChildren(...hits.map((hit, at) => card(hit, at + 1, highest, largest)));
}

/** Show how long each stage took, as shares of a bar and in figures. */
export function showTiming(section, milliseconds) {
  const stages = Object.entries(milliseconds);
  const bar = section.querySelector(".bar");
  const list = section.querySelector("dl");
  bar.replaceChildren();
  list.replaceChildren();
  stages.forEach(([stage, ms], at) => {
    const colour = `var(--stage-${at % 5})`;
    const share = make("span");
    share.style.flexGrow = String(ms);
    share.style.background = colour;
    bar.append(share);
    const term = make("dt", { textContent: stage });
    term.style.setProperty("--stage", colour);
    list.append(make("div", {}, term, make("dd", { textContent: `${ms.toFixed(2)} ms` })));
  });
  section.hidden = !stages.length;
}
