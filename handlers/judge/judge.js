// The page's behaviour: show one query after the other, and save every mark at once.

import { card, grades as choices, nameOf, queryRow, showGrade } from "./cards.js";

const $ = (id) => document.getElementById(id);
const STEP = 10; // documents that are shown at first, and that "More documents" adds
const MOST = 100;
const DEGREES = "ranklet-judge-degrees"; // whether relevance has degrees, kept by the browser
let queries = []; // {id, text, marks: {document: grade}}
let current = 0; // place in `queries`
let shown = STEP;
let latest = 0; // the number of the last search; answers to earlier ones are dropped
let saving = Promise.resolve(); // marks are saved one after the other

async function call(path, body) {
  const json = { "Content-Type": "application/json" };
  const options = body ? { method: "POST", headers: json, body: JSON.stringify(body) } : {};
  const response = await fetch(path, options).catch(() => {
    throw new Error("The page has lost its server. Start ranklet judge again; all marks that were saved are kept.");
  });
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

const query = () => queries[current];
const isJudged = (each) => Object.keys(each.marks).length > 0;
const cards = () => [...$("results").children];

/** Show which query this is and how many are judged. */
function showProgress() {
  const done = queries.filter(isJudged).length;
  $("place").textContent = `Query ${current + 1} of ${queries.length}`;
  $("done").textContent = done === queries.length ? "· all are judged" : `· ${done} judged`;
  $("bar").max = queries.length;
  $("bar").value = done;
  $("previous").disabled = current === 0;
  $("next").disabled = $("onward").disabled = current === queries.length - 1;
  const rows = queries.map((each, at) => queryRow(each, at === current, () => go(at)));
  $("queries").replaceChildren(...rows);
  $("rest").disabled = !unmarked().length;
  $("rest").textContent = restOf(query());
}

const isRelevant = (grade) => grade > 0;

/** Return what is said of all documents without a mark. */
function restOf({ marks }) {
  return Object.values(marks).some(isRelevant) ? "The others are not relevant" : "None of these is relevant";
}

const degrees = () => $("degrees").checked;

const unmarked = () =>
  cards()
    .map((each) => each.dataset.document)
    .filter((id) => !(id in query().marks));

/** Go to a query, search for it, and tell a screen reader which one it is. */
async function go(at) {
  if (at < 0 || at >= queries.length) return;
  current = at;
  shown = STEP;
  $("query").textContent = query().text;
  $("words").value = query().text;
  history.replaceState(null, "", `#${encodeURIComponent(query().id)}`);
  document.title = `${query().text.slice(0, 60)} · ranklet judge`;
  $("results").replaceChildren();
  showProgress();
  window.scrollTo(0, 0);
  $("query").focus({ preventScroll: true });
  await search();
}

/** Show the hits of the words in the box, which may differ from the query's own. */
async function search() {
  const words = $("words").value.trim() || query().text;
  $("own").hidden = words === query().text;
  const number = ++latest;
  document.body.setAttribute("aria-busy", "true");
  const before = saving;
  try {
    await before;
    const answer = await call("rank", { query: words, k: shown, of: query().id });
    if (number !== latest) return;
    const { hits, marks, others, ignored } = answer;
    if (before === saving) query().marks = marks; // others may have marked, too
    draw(hits, others);
    const left = ignored.length ? ` Left out as stop words: ${ignored.join(", ")}.` : "";
    say(hits.length ? "" : `No document has these words.${left} Try other words, or go to the next query.`);
  } catch (error) {
    if (number !== latest) return;
    $("results").replaceChildren();
    say(error.message, true);
  } finally {
    if (number === latest) document.body.removeAttribute("aria-busy");
  }
  showProgress();
}

function draw(hits, others) {
  // Long texts are not all highlighted.
  const values = hits.flatMap(({ highlights: spans }) => (spans ? [...spans.title, ...spans.text] : []));
  const largest = Math.max(0, ...values.map((span) => span.value));
  const drawn = (hit, place) => card(hit, place, largest, query().marks[hit.id], mark, degrees());
  $("results").replaceChildren(...hits.map((hit, at) => drawn(hit, at + 1)));
  $("others-list").replaceChildren(...others.map((hit) => drawn(hit, "")));
  $("others").hidden = !others.length;
  $("after").hidden = !hits.length;
  $("more").hidden = hits.length < shown || shown >= MOST;
}

/** Mark a document, or remove the mark if it has this grade already; without degrees, if it is a yes. */
function mark(id, grade) {
  const had = query().marks[id];
  const same = had === grade || (!degrees() && had > 0 && grade > 0);
  save({ [id]: same ? null : grade });
}

/** Save grades of the current query, show them once they are saved, and say so. With `keep` no mark is changed. */
function save(grades, keep = false) {
  const marked = query();
  saving = saving.then(async () => {
    try {
      marked.marks = (await call("marks", { query: marked.id, grades, keep })).marks;
      if (marked === query()) say(saved(grades));
    } catch (error) {
      say(`Not saved: ${error.message}`, true);
    }
    if (marked !== query()) return;
    for (const each of document.querySelectorAll(".hit")) {
      showGrade(each, marked.marks[each.dataset.document], degrees());
    }
    showProgress();
  });
}

function saved(grades) {
  const [id, ...more] = Object.keys(grades);
  const grade = query().marks[id] ?? null;
  const values = Object.values(query().marks);
  const relevant = values.filter(isRelevant).length;
  const total = `This query has ${relevant} relevant and ${values.length - relevant} not relevant.`;
  if (more.length) return `Saved. ${restOf(query())}. ${total}`;
  const item = document.querySelector(`.hit[data-document="${CSS.escape(id)}"] h2`);
  const what = grade === null ? "has no mark" : `is ${choices(degrees()).find((each) => each.grade === Math.min(grade, degrees() ? 3 : 1)).label.toLowerCase()}`;
  return `Saved: “${nameOf({ title: item?.textContent, id })}” ${what}. ${total}`;
}

function rest() {
  const ids = unmarked();
  if (ids.length) save(Object.fromEntries(ids.map((id) => [id, 0])), true);
}

function move(by) {
  const list = cards();
  const at = list.findIndex((each) => each.contains(document.activeElement));
  const to = Math.min(Math.max(at + by, 0), list.length - 1);
  list[to]?.focus();
  list[to]?.scrollIntoView({ block: "nearest" });
}

/** Show which keys mark, which differ with degrees. */
function showKeys() {
  for (const each of document.querySelectorAll("[data-degrees]")) {
    each.hidden = (each.dataset.degrees === "1") !== degrees();
  }
}

const KEYS = {
  n: () => go(current + 1),
  p: () => go(current - 1),
  j: () => move(1),
  k: () => move(-1),
  r: () => markFocused(1),
  x: () => markFocused(0),
  u: () => markFocused(null),
  e: () => rest(),
  g: () => $("degrees").click(),
  "/": () => $("words").select(),
};

function markFocused(grade) {
  const id = document.activeElement?.closest?.(".hit")?.dataset.document;
  if (id === undefined) say("Go to a document with j or k first.");
  else if (query().marks[id] !== (grade ?? undefined)) save({ [id]: grade });
}

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || !queries.length) return;
  if (event.target.matches("input, textarea, select")) {
    if (event.key === "Escape") $("query").focus();
    return;
  }
  const digit = /^(?:Digit|Numpad)([0-9])$/.exec(event.code);
  if (digit && degrees()) {
    if (digit[1] > 3) return;
    markFocused(Number(digit[1]));
  } else if (digit && digit[1] > 0) {
    const item = cards()[Number(digit[1]) - 1];
    if (item) mark(item.dataset.document, event.shiftKey ? 0 : 1);
  } else if (KEYS[event.key]) {
    KEYS[event.key]();
  } else {
    return;
  }
  event.preventDefault();
});
$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  shown = STEP;
  search();
});
$("own").addEventListener("click", () => {
  $("words").value = query().text;
  shown = STEP;
  search();
  $("words").focus();
});
$("more").addEventListener("click", async () => {
  const before = cards().length;
  shown += STEP;
  await search();
  cards()[before]?.focus();
});
$("rest").addEventListener("click", rest);
$("degrees").addEventListener("change", () => {
  localStorage.setItem(DEGREES, degrees() ? "1" : "");
  showKeys();
  search();
});
$("previous").addEventListener("click", () => go(current - 1));
for (const id of ["next", "onward"]) $(id).addEventListener("click", () => go(current + 1));

try {
  const state = await call("state");
  queries = state.queries;
  const some = queries.some(({ marks }) => Object.values(marks).some((grade) => grade > 1));
  $("degrees").checked = some || Boolean(localStorage.getItem(DEGREES));
  showKeys();
  $("about").textContent = `${state.documents.toLocaleString("en")} documents of ${state.bundle}`;
  $("saved").textContent = `Marks are saved in ${state.folder} as the split ${state.split}. When you are done, press Ctrl-C in the terminal.`;
  const asked = queries.findIndex((each) => location.hash === `#${encodeURIComponent(each.id)}`);
  const first = queries.findIndex((each) => !isJudged(each));
  await go(asked >= 0 ? asked : Math.max(0, first));
} catch (error) {
  say(error.message, true);
}
