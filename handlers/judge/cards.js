// Draw the documents of a query with the buttons that mark them. Texts are never markup.

import { best, show } from "./highlight.js";

const SIGNS = [
  { grade: 1, className: "mark yes", sign: "✓", label: "Relevant" },
  { grade: 0, className: "mark no", sign: "✕", label: "Not relevant" },
];
const DEGREES = [
  { grade: 3, className: "mark yes", sign: "3", label: "Perfect" },
  { grade: 2, className: "mark yes", sign: "2", label: "Good" },
  { grade: 1, className: "mark yes", sign: "1", label: "Somewhat" },
  { grade: 0, className: "mark no", sign: "0", label: "Not relevant" },
];
export const LIMIT = 80; // characters of a value of the metadata

/** Return the buttons of a document: yes and no, or a button per degree. */
export const grades = (degrees) => (degrees ? DEGREES : SIGNS);
let cards = 0; // drawn so far, for ids that labels refer to

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Return what a person calls a document. */
export const nameOf = (hit) => hit.title || hit.id;

/** Show the grade of a card, undefined if it has no mark. Without degrees each above 0 is a yes. */
export function showGrade(card, grade, degrees) {
  card.classList.toggle("relevant", grade > 0);
  card.classList.toggle("not-relevant", grade === 0);
  const shown = grade === undefined ? grade : Math.min(grade, degrees ? 3 : 1);
  for (const button of card.querySelectorAll(".mark")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === shown));
  }
}

/** Return a value of the metadata as people write it, which is text and never markup. */
function written(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return value.toLocaleString("en", { useGrouping: "min2" });
  const text = Array.isArray(value) ? value.join(", ") : String(value);
  return text.length > LIMIT ? `${text.slice(0, LIMIT)}…` : text;
}

function facts(metadata = {}) {
  const list = make("dl", { className: "facts" });
  for (const [name, value] of Object.entries(metadata)) {
    if (value === null || value === "") continue;
    const term = make("dt", { textContent: name.replaceAll("_", " ") });
    list.append(make("div", {}, term, make("dd", { textContent: written(value), dir: "auto" })));
  }
  return list.childElementCount ? list : "";
}

/** Return a document as a list item; `mark(id, grade)` is called when a button is pressed. */
export function card(hit, place, largest, grade, mark, degrees) {
  const spans = hit.highlights ?? { title: [], text: [] };
  const title = make("h2", { id: `title-${++cards}`, dir: "auto" });
  const characters = Array.from(nameOf(hit));
  show(title, characters, hit.title ? spans.title : [], [0, characters.length], largest);
  const text = make("p", { className: "text", dir: "auto" });
  const item = make(
    "li",
    { className: "hit", tabIndex: -1 },
    make("span", { className: "place", textContent: place, ariaHidden: "true" }),
    title,
    hit.title ? make("p", { className: "id", textContent: hit.id }) : "",
    facts(hit.metadata),
    text,
  );
  item.dataset.document = hit.id;
  item.setAttribute("aria-labelledby", title.id);
  const actions = make("div", { className: "actions" });
  for (const { grade: value, className, sign, label } of grades(degrees)) {
    const drawn = make("span", { className: "sign", textContent: sign, ariaHidden: "true" });
    const button = make("button", { type: "button", className }, drawn, label);
    button.dataset.grade = value;
    button.setAttribute("aria-describedby", title.id);
    button.addEventListener("click", () => mark(hit.id, value));
    actions.append(button);
  }
  fillText(text, hit.text, spans.text, largest, actions, title.id);
  item.append(actions);
  showGrade(item, grade, degrees);
  return item;
}

/** Show the best part of a text, and a button for all of it if it is longer. */
function fillText(element, text, spans, largest, actions, titleId) {
  const characters = Array.from(text);
  const part = best(characters, spans);
  const whole = [0, characters.length];
  show(element, characters, spans, part, largest);
  if (part[1] - part[0] === characters.length) return;
  let open = false;
  const button = make("button", { type: "button", className: "quiet", textContent: "Whole text" });
  button.setAttribute("aria-expanded", "false");
  button.setAttribute("aria-describedby", titleId);
  button.addEventListener("click", () => {
    open = !open;
    button.textContent = open ? "Less" : "Whole text";
    button.setAttribute("aria-expanded", String(open));
    element.classList.toggle("whole", open);
    show(element, characters, spans, open ? whole : part, largest);
  });
  actions.append(button);
}

/** Return a query of the overview as a list item with a button. */
export function queryRow(query, current, go) {
  const marks = Object.values(query.marks);
  const relevant = marks.filter((grade) => grade > 0).length;
  const count = marks.length ? `${relevant} relevant of ${marks.length} marked` : "no marks";
  const button = make(
    "button",
    { type: "button" },
    make("span", { className: "words", textContent: query.text, dir: "auto" }),
    make("span", { className: "count", textContent: count }),
  );
  if (current) button.setAttribute("aria-current", "true");
  button.addEventListener("click", go);
  return make("li", {}, button);
}
