// Draw the documents of a query with the buttons that mark them. Texts are never markup.

import { best, show } from "./highlight.js";

export const GRADES = [
  { grade: 1, className: "mark yes", sign: "✓", label: "Relevant" },
  { grade: 0, className: "mark no", sign: "✕", label: "Not relevant" },
];
let cards = 0; // drawn so far, for ids that labels refer to

function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
}

/** Return what a person calls a document. */
export const nameOf = (hit) => hit.title || hit.id;

/** Show the grade of a card: 1, 0, or undefined if it has no mark. */
export function showGrade(card, grade) {
  card.classList.toggle("relevant", grade === 1);
  card.classList.toggle("not-relevant", grade === 0);
  for (const button of card.querySelectorAll(".mark")) {
    button.setAttribute("aria-pressed", String(Number(button.dataset.grade) === grade));
  }
}

/** Return a document as a list item; `mark(id, grade)` is called when a button is pressed. */
export function card(hit, place, largest, grade, mark) {
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
    text,
  );
  item.dataset.document = hit.id;
  item.setAttribute("aria-labelledby", title.id);
  const actions = make("div", { className: "actions" });
  for (const { grade: value, className, sign, label } of GRADES) {
    const drawn = make("span", { className: "sign", textContent: sign, ariaHidden: "true" });
    const button = make("button", { type: "button", className }, drawn, label);
    button.dataset.grade = value;
    button.setAttribute("aria-describedby", title.id);
    button.addEventListener("click", () => mark(hit.id, value));
    actions.append(button);
  }
  fillText(text, hit.text, spans.text, largest, actions, title.id);
  item.append(actions);
  showGrade(item, grade);
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
  const grades = Object.values(query.marks);
  const relevant = grades.filter((grade) => grade === 1).length;
  const count = grades.length ? `${relevant} relevant of ${grades.length} marked` : "no marks";
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
