// The page's behaviour: send requests to the server of the page and show its answers.

import { showHits, showTiming } from "./results.js";

const $ = (id) => document.getElementById(id);
const KEY = "ranklet-api-key";
let latest = 0; // the number of the last request; answers to earlier ones are dropped

function headers() {
  const key = $("key").value || sessionStorage.getItem(KEY) || "";
  return { "Content-Type": "application/json", ...(key ? { Authorization: `Bearer ${key}` } : {}) };
}

async function call(path, body) {
  const options = body
    ? { method: "POST", headers: headers(), body: JSON.stringify(body) }
    : { headers: headers() };
  const response = await fetch(path, options);
  const answer = await response.json().catch(() => ({ error: `status ${response.status}` }));
  if (response.status === 401 || (response.status === 403 && path === "/documents")) {
    $("key-row").hidden = false;
    $("key").focus();
  } else if ($("key").value) {
    sessionStorage.setItem(KEY, $("key").value);
    $("key-row").hidden = true;
  }
  if (!response.ok) throw new Error(answer.error);
  return answer;
}

function request() {
  const body = { query: $("query").value, k: Number($("k").value), explain: true, highlight: true };
  if ($("pipeline").value) body.pipeline = $("pipeline").value;
  const where = $("where").value.trim();
  if (where && !$("own").checked) {
    try {
      body.where = JSON.parse(where);
    } catch {
      throw new Error('The filter is not JSON; write for example {"year": {">=": 2020}}.');
    }
  }
  if ($("own").checked) {
    body.documents = $("texts").value.split("\n").filter((line) => line.trim());
  }
  return body;
}

function say(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

async function ask() {
  let body;
  try {
    body = request();
  } catch (error) {
    say(error.message, true);
    return;
  }
  if (!body.query.trim()) return;
  if (body.documents && !body.documents.length) {
    say("Write at least one text to rank.", true);
    $("texts").focus();
    return;
  }
  const number = ++latest;
  $("form").setAttribute("aria-busy", "true");
  try {
    const begin = performance.now();
    const answer = await call("/rank", body);
    if (number !== latest) return;
    const ranking = Object.values(answer.ms).reduce((sum, ms) => sum + ms, 0);
    const total = performance.now() - begin;
    const count = answer.hits.length;
    const ignored = answer.ignored ? ` Left out as stop words: ${answer.ignored.join(", ")}.` : "";
    document.body.classList.add("answered");
    $("examples").hidden = true;
    showHits($("results"), answer.hits);
    showTiming($("timing"), answer.ms);
    say(
      count
        ? `${count} ${count === 1 ? "hit" : "hits"}, ranked and explained in ` +
            `${ranking.toFixed(1)} ms (${total.toFixed(0)} ms including the network).${ignored}`
        : `No hits for this query.${ignored}`,
    );
    remember(body);
  } catch (error) {
    if (number !== latest) return;
    $("results").replaceChildren();
    $("timing").hidden = true;
    say(error.message || "The server cannot be reached.", true);
  } finally {
    if (number === latest) $("form").removeAttribute("aria-busy");
  }
}

/** Put the query into the page's address, so that the address can be shared. */
function remember(body) {
  const parts = new URLSearchParams({ q: body.query });
  if (body.pipeline) parts.set("pipeline", body.pipeline);
  history.replaceState(null, "", body.documents ? "/" : `/?${parts}`);
  document.title = `${body.query.slice(0, 60)} · ranklet`;
}

/** Add the text that was written, so that the next query finds it. */
async function add() {
  const text = $("add-text").value;
  if (!text.trim()) {
    say("Write a text to add.", true);
    return;
  }
  const id = `${Date.now().toString(36)}-${Math.random().toString(36).slice(2, 8)}`;
  try {
    const document = { id, title: $("add-title").value, text };
    const answer = await call("/documents", { documents: [document] });
    $("add-title").value = $("add-text").value = "";
    say(`Added as ${id}; there are ${answer.documents.toLocaleString("en")} documents now.`);
  } catch (error) {
    say(error.message || "The server cannot be reached.", true);
  }
}

function exampleButton(text) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = text;
  button.addEventListener("click", () => {
    $("query").value = text;
    ask();
  });
  return button;
}

async function prepare() {
  try {
    const info = await call("/info");
    if ($("status").classList.contains("error")) say(""); // such as a missing key
    $("pipeline").replaceChildren();
    for (const [name, recipe] of Object.entries(info.pipelines)) {
      const isDefault = name === info.default_pipeline;
      const option = new Option(name, name, isDefault, isDefault);
      option.title = recipe;
      $("pipeline").append(option);
    }
    const most = info.limits.explained; // hits that the server explains
    for (const size of [...$("k").options]) if (Number(size.value) > most) size.remove();
    if (!$("k").options.length) $("k").append(new Option(most, most));
    const fields = Object.entries(info.metadata).map(([name, type]) => `${name} (${type})`);
    $("fields").textContent = fields.join(", ");
    $("where-row").hidden = !fields.length || $("own").checked;
    $("add").hidden = !info.writable;
    const known = Object.keys(info.rankers).join(", ");
    $("about").textContent = `${info.documents.toLocaleString("en")} documents · ${known}`;
    const examples = info.examples.filter((each) => each.length < 50).slice(0, 4);
    $("examples").replaceChildren($("examples").firstElementChild, ...examples.map(exampleButton));
    $("examples").hidden = !examples.length || latest > 0;
    if (!info.documents) {
      $("own").checked = true;
      $("own").dispatchEvent(new Event("change"));
    }
  } catch (error) {
    say(error.message || "The server cannot be reached.", true);
  }
}

async function copy() {
  let body;
  try {
    body = request();
  } catch (error) {
    say(error.message, true);
    return;
  }
  const quoted = JSON.stringify(body).replaceAll("'", "'\\''");
  const command = `curl -s ${location.origin}/rank -H 'Content-Type: application/json' -d '${quoted}'`;
  try {
    await navigator.clipboard.writeText(command);
    say("The request was copied as a curl command.");
  } catch {
    say(command);
  }
}

$("form").addEventListener("submit", (event) => {
  event.preventDefault();
  ask();
});
$("own").addEventListener("change", () => {
  $("own-texts").hidden = !$("own").checked;
  $("where-row").hidden = !$("fields").textContent || $("own").checked;
});
$("copy").addEventListener("click", copy);
$("add-send").addEventListener("click", add);
$("key").addEventListener("change", () => prepare());
for (const id of ["pipeline", "k"]) $(id).addEventListener("change", ask);
document.addEventListener("keydown", (event) => {
  const inField = event.target.matches("input, textarea, select");
  if (event.key === "/" && !inField) {
    event.preventDefault();
    $("query").focus();
  }
});

const address = new URLSearchParams(location.search);
await prepare();
for (const option of $("pipeline").options) if (option.value === address.get("pipeline")) option.selected = true;
if (address.get("q")) {
  $("query").value = address.get("q");
  ask();
}
