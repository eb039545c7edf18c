// Show the marks of one query token at a time. The page already holds all amounts.

for (const hit of document.querySelectorAll(".hit")) {
  const marks = [...hit.querySelectorAll("mark[data-by]")].map((mark) => ({
    mark,
    heat: mark.style.getPropertyValue("--heat"),
    title: mark.title,
    by: new Map(mark.dataset.by.split(" ").map((pair) => pair.split(":").map(Number))),
  }));
  const buttons = [...hit.querySelectorAll("button[data-query-token]")];
  const rows = [...hit.querySelectorAll("tr[data-query-token]")];
  const numberOf = (element) => Number(element.dataset.queryToken);
  let pinned = null; // the number of the chosen query token, null for all

  function show(token) {
    hit.classList.toggle("one", token !== null);
    const largest = Math.max(0, ...marks.map(({ by }) => by.get(token) ?? 0));
    for (const { mark, heat, title, by } of marks) {
      const value = by.get(token) ?? 0;
      const share = token === null ? Number(heat) : largest > 0 ? Math.max(0, value / largest) : 0;
      mark.style.setProperty("--heat", share.toFixed(3));
      mark.classList.toggle("faint", share < 0.02);
      mark.classList.toggle("strong", share > 0.5);
      mark.title = token === null ? title : `adds ${value.toFixed(4)} for this query token`;
    }
    for (const row of rows) row.classList.toggle("chosen", numberOf(row) === token);
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(pinned !== null && numberOf(button) === pinned));
    }
  }

  for (const element of [...buttons, ...rows]) {
    element.addEventListener("mouseenter", () => show(numberOf(element)));
    element.addEventListener("mouseleave", () => show(pinned));
  }
  for (const button of buttons) {
    const token = numberOf(button);
    button.addEventListener("focus", () => show(token));
    button.addEventListener("blur", () => show(pinned));
    button.addEventListener("click", () => {
      pinned = pinned === token ? null : token;
      show(pinned);
    });
  }
  hit.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show((pinned = null));
  });
}
