// The page works without this script, which saves it from being loaded anew: it asks the server for
// the same pages and takes over their parts. It also sends the API key, adds texts, and knows keys.
"use strict";

const root = document.documentElement;
root.classList.add("js");
if (localStorage.getItem("theme")) root.dataset.theme = localStorage.getItem("theme");

const $ = (id) => document.getElementById(id);
const KEY = "ranklet-api-key";
const PARTS = ["about", "options", "examples", "status", "chips", "filters", "results", "pages", "how"];
const PAUSE = 120; // milliseconds without a key before hits are asked for
const said = (name) => document.body.dataset[name]; // in the page's language
let running = new AbortController(); // of the last request; those before it are cancelled

function say(text) {
  const error = document.createElement("span");
  error.className = "error";
  error.textContent = text;
  $("status").replaceChildren(error);
}

/** Fetch from the server, with the API key if there is one. */
async function call(address, options = {}) {
  const key = $("key-field").value || sessionStorage.getItem(KEY);
  const headers = { ...options.headers, ...(key ? { Authorization: `Bearer ${key}` } : {}) };
  const response = await fetch(address, { ...options, headers });
  const unknown = response.status === 401 || (response.status === 403 && address === "documents");
  if (unknown && !address.startsWith("complete")) {
    $("key").hidden = false;
    $("key-field").select();
  } else if (response.ok && $("key-field").value) {
    sessionStorage.setItem(KEY, $("key-field").value);
    $("key-field").value = "";
    $("key").hidden = true;
  }
  return response;
}

/** Return a page of the server; null if another one was asked for meanwhile, or there is none. */
async function load(address, options) {
  running.abort();
  const { signal } = (running = new AbortController());
  $("form").setAttribute("aria-busy", "true");
  try {
    const response = await call(address, { ...options, signal });
    const text = await response.text();
    if (signal.aborted) return null;
    if (response.headers.get("content-type").startsWith("text/html")) {
      return new DOMParser().parseFromString(text, "text/html");
    }
    say(JSON.parse(text).error);
  } catch {
    if (!signal.aborted) say(said("unreachable"));
  } finally {
    if (!signal.aborted) $("form").removeAttribute("aria-busy");
  }
  return null;
}

/**
 * Show a page of the server in place of this one, without its address if it was posted. It is a new
 * step of the history unless it replaces the last one, as while a query is typed.
 */
async function show(address, options, step = "pushState") {
  const page = await load(address, options);
  if (!page) return;
  const focused = document.activeElement?.id;
  for (const id of PARTS) $(id).replaceChildren(...page.getElementById(id).childNodes);
  for (const id of ["add", "own", "key"]) $(id).hidden = page.getElementById(id).hidden;
  if (focused) $(focused)?.focus();
  root.lang = page.documentElement.lang;
  document.title = page.title;
  if (step) history[step](null, "", options?.body ? "./" : address.replace("&live=1", ""));
}

/** Return what the form asks for, without blank fields. */
function asked() {
  const pairs = [...new FormData($("form"))].filter(([, value]) => value.trim());
  return new URLSearchParams(pairs);
}

function search() {
  clearTimeout(pause);
  offer([]);
  const fields = asked();
  if (fields.has("texts")) show("./", { method: "POST", body: fields });
  else show(`./?${fields}`, {}, typing ? "replaceState" : "pushState");
  typing = false;
}

let pause; // until hits are asked for
let typing = false; // whether the last step of the history is a query that is being typed

/** Show hits for what has been typed so far; all that is typed is one step of the history. */
function searchSoon(event) {
  clearTimeout(pause);
  if (event.isComposing) return; // letters that are not yet words
  pause = setTimeout(() => {
    const fields = asked();
    if (fields.has("texts")) return;
    if (fields.has("q")) fields.set("live", "1");
    show(`./?${fields}`, {}, typing ? "replaceState" : "pushState");
    typing = true;
  }, PAUSE);
}

/** Show a hit alone in place of its card, with what the link opens. */
async function open(link) {
  const address = new URL(link.href);
  address.searchParams.set("k", "1");
  address.searchParams.set("page", link.dataset.card);
  const page = await load(address.pathname + address.search);
  const card = page?.querySelector(".hit");
  if (!card) {
    if (page) $("status").replaceChildren(...page.getElementById("status").childNodes);
    return;
  }
  link.closest(".hit").replaceWith(card);
  card.querySelector("details[open] > summary")?.focus();
}

/** Add the text that was written, so that the next query finds it. */
async function add() {
  const text = $("add-text").value;
  if (!text.trim()) {
    say(said("blank"));
    return;
  }
  const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
  const body = JSON.stringify({ documents: [{ id, title: $("add-title").value, text }] });
  const headers = { "Content-Type": "application/json" };
  try {
    const response = await call("documents", { method: "POST", headers, body });
    const answer = await response.json();
    if (!response.ok) {
      say(answer.error);
      return;
    }
    $("add-title").value = $("add-text").value = "";
    const count = answer.documents.toLocaleString(root.lang);
    $("status").textContent = `${said("added")} ${id} (${count})`;
  } catch {
    say(said("unreachable"));
  }
}

let awaited = ""; // the text whose completions are wanted
let completing = true; // until the server says that it cannot

/** Show how people may go on with what they have typed. */
async function complete() {
  awaited = $("query").value;
  if (!completing || !awaited.trim()) {
    offer([]);
    return;
  }
  await new Promise((resume) => setTimeout(resume, 60));
  if (awaited !== $("query").value) return;
  try {
    const typed = awaited;
    const fields = new URLSearchParams({ q: typed, k: 6 });
    if ($("where")) fields.set("where", $("where").value); // of the filters in use
    const response = await call(`complete?${fields}`);
    completing = response.ok || response.status >= 429;
    const found = response.ok ? (await response.json()).completions : [];
    if (typed === awaited) offer(found.filter(({ text }) => text !== typed));
  } catch {
    offer([]);
  }
}

/** Show completions below the query; none close the list. */
function offer(completions) {
  const items = completions.map(({ text, field }, at) => {
    const item = document.createElement("li");
    item.id = `completion-${at}`;
    item.setAttribute("role", "option");
    item.setAttribute("aria-selected", "false");
    item.textContent = text;
    item.dataset.text = text;
    if (field) item.append(Object.assign(document.createElement("small"), { textContent: field }));
    return item;
  });
  if (!items.length) awaited = "";
  $("completions").replaceChildren(...items);
  $("completions").hidden = !items.length;
  $("query").setAttribute("aria-expanded", String(items.length > 0));
  $("query").removeAttribute("aria-activedescendant");
}

/** Choose the completion after or before the chosen one. */
function choose(by) {
  const items = [...$("completions").children];
  const at = items.findIndex((each) => each.ariaSelected === "true");
  const next = items[(at + by + items.length + (at < 0 && by < 0 ? 1 : 0)) % items.length];
  awaited = ""; // no late answer takes the choice away
  for (const each of items) each.setAttribute("aria-selected", String(each === next));
  $("query").value = next.dataset.text;
  $("query").setAttribute("aria-activedescendant", next.id);
}

/** Go up or down from the query to the titles of hits, and back. */
function step(event) {
  const stops = [$("query"), ...document.querySelectorAll(".hit h2 a")];
  const at = stops.indexOf(document.activeElement);
  const next = stops[at + (event.key === "ArrowDown" ? 1 : -1)];
  if (at < 0 || !next) return;
  event.preventDefault();
  next.focus();
}

function switchTheme() {
  const dark = $("theme").getAttribute("aria-pressed") !== "true";
  $("theme").setAttribute("aria-pressed", String(dark));
  root.dataset.theme = dark ? "dark" : "light";
  localStorage.setItem("theme", root.dataset.theme);
}

document.addEventListener("DOMContentLoaded", () => {
  const system = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
  $("theme").setAttribute("aria-pressed", String((root.dataset.theme ?? system) === "dark"));
  $("theme").addEventListener("click", switchTheme);
  $("add-send").addEventListener("click", add);
  $("form").addEventListener("submit", (event) => {
    event.preventDefault();
    search();
  });
  $("query").setAttribute("role", "combobox");
  $("query").setAttribute("aria-controls", "completions");
  $("query").setAttribute("aria-autocomplete", "list");
  $("query").setAttribute("aria-expanded", "false");
  $("query").addEventListener("input", complete);
  $("query").addEventListener("input", searchSoon);
  $("query").addEventListener("compositionend", searchSoon);
  $("key").addEventListener("submit", (event) => {
    event.preventDefault();
    show(location.href, {}, "");
  });
  $("query").addEventListener("blur", () => offer([]));
  $("completions").addEventListener("pointerdown", (event) => {
    event.preventDefault(); // the query keeps the focus
    const item = event.target.closest("li");
    if (!item) return;
    $("query").value = item.dataset.text;
    search();
  });
  document.addEventListener("change", (event) => {
    if (event.target.form === $("form") && event.target.matches("#options *, #filters *")) search();
  });
  document.addEventListener("click", (event) => {
    const link = event.target.closest("main a[href^='./']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    if (link.dataset.card) {
      open(link);
      return;
    }
    const address = new URL(link.href);
    $("query").value = address.searchParams.get("q") ?? "";
    typing = false;
    show(address.pathname + address.search).then(() => scrollTo({ top: 0 }));
  });
  document.addEventListener("keydown", (event) => {
    if (event.key === "/" && !event.target.matches("input, textarea, select")) {
      event.preventDefault();
      $("query").select();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      if ($("completions").hidden) step(event);
      else {
        event.preventDefault();
        choose(event.key === "ArrowDown" ? 1 : -1);
      }
    } else if (event.key === "Escape" && !$("completions").hidden) {
      event.preventDefault(); // it would empty the query
      offer([]);
    } else if (event.key === "Escape" && event.target.closest(".hit")) {
      $("query").focus();
    }
  });
  addEventListener("popstate", () => {
    $("query").value = new URLSearchParams(location.search).get("q") ?? "";
    typing = false;
    show(location.href, {}, "");
  });
  if (sessionStorage.getItem(KEY)) show(location.href, {}, "");
});
