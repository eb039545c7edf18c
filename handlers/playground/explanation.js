// One piece of the query at a time: which marks carried it. All amounts stand in the page already.

for (const hit of document.querySelectorAll(".hit")) {
  const marks = [...hit.querySelectorAll("mark[data-by]")].map((mark) => ({
    mark,
    heat: mark.style.getPropertyValue("--heat"),
    title: mark.title,
    by: new Map(mark.dataset.by.split(" ").map((pair) => pair.split(":").map(Number))),
  }));
  const buttons = [...hit.querySelectorAll("button[data-asked]")];
  const rows = [...hit.querySelectorAll("tr[data-asked]")];
  let pinned = null; // the number of the piece that was chosen, null for all of them

  function show(asked) {
    hit.classList.toggle("one", asked !== null);
    const largest = Math.max(0, ...marks.map(({ by }) => by.get(asked) ?? 0));
    for (const { mark, heat, title, by } of marks) {
      const value = by.get(asked) ?? 0;
      const share = asked === null ? Number(heat) : largest > 0 ? Math.max(0, value / largest) : 0;
      mark.style.setProperty("--heat", share.toFixed(3));
      mark.classList.toggle("faint", share < 0.02);
      mark.classList.toggle("strong", share > 0.5);
      mark.title = asked === null ? title : `adds ${value.toFixed(4)} for this piece`;
    }
    for (const row of rows) row.classList.toggle("chosen", Number(row.dataset.asked) === asked);
    for (const button of buttons) {
      button.setAttribute("aria-pressed", String(Number(button.dataset.asked) === pinned && pinned !== null));
    }
  }

  for (const each of [...buttons, ...rows]) {
    const asked = Number(each.dataset.asked);
    each.addEventListener("mouseenter", () => show(asked));
    each.addEventListener("mouseleave", () => show(pinned));
  }
  for (const button of buttons) {
    const asked = Number(button.dataset.asked);
    button.addEventListener("focus", () => show(asked));
    button.addEventListener("blur", () => show(pinned));
    button.addEventListener("click", () => {
      pinned = pinned === asked ? null : asked;
      show(pinned);
    });
  }
  hit.addEventListener("keydown", (event) => {
    if (event.key === "Escape") show((pinned = null));
  });
}
