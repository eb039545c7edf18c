// Show the answer that the page holds, with every explanation open.

import { showHits } from "./results.js";

const $ = (id) => document.getElementById(id);
const answer = JSON.parse($("answer").textContent);
$("query").textContent = answer.query;
$("pipeline").textContent = answer.pipeline;
$("status").textContent = answer.hits.length ? "" : "No hits for this query.";
showHits($("results"), answer.hits);
for (const button of document.querySelectorAll(".why-button")) button.click();
