// Mark a text: turn spans with amounts into pieces that are shown one after another.
// Positions count code points, as in Python, so texts are arrays of characters here.

export const SNIPPET = 320; // characters of a text that are shown at first

/** Cut characters [from, to) into pieces {text, value}. The values of overlapping spans add up. */
export function pieces(characters, spans, from, to) {
  const edges = new Set([from, to]);
  for (const { begin, end } of spans) {
    if (begin < to && end > from) {
      edges.add(Math.max(begin, from));
      edges.add(Math.min(end, to));
    }
  }
  const ordered = [...edges].sort((a, b) => a - b);
  const cut = [];
  for (let at = 0; at + 1 < ordered.length; at++) {
    const [begin, end] = [ordered[at], ordered[at + 1]];
    const value = spans
      .filter((span) => span.begin <= begin && span.end >= end)
      .reduce((sum, span) => sum + span.value, 0);
    cut.push({ text: characters.slice(begin, end).join(""), value });
  }
  return cut;
}

/** Return the stretch [from, to) of a text that adds most to the score. */
export function best(characters, spans, size = SNIPPET) {
  const length = characters.length;
  if (length <= size) return [0, length];
  const lead = Math.floor(size / 4); // characters before the first mark
  let from = 0;
  let most = -1;
  for (const { begin } of [{ begin: 0 }, ...spans]) {
    const start = Math.min(Math.max(0, begin - lead), length - size);
    const sum = spans
      .filter((span) => span.begin >= start && span.end <= start + size)
      .reduce((total, span) => total + span.value, 0);
    if (sum > most) [from, most] = [start, sum];
  }
  // Begin and end at a space if one is near.
  const before = characters.slice(from, from + 40).findIndex((char) => /\s/.test(char));
  if (from > 0 && before >= 0) from += before + 1;
  let to = Math.min(length, from + size);
  if (to < length) {
    const back = characters.slice(to - 40, to).reverse().findIndex((char) => /\s/.test(char));
    if (back >= 0) to -= back + 1;
  }
  return [from, to];
}

/** Fill an element with a text and its marks. Documents are set as text, never as markup. */
export function show(element, characters, spans, [from, to], largest) {
  element.replaceChildren();
  if (from > 0) element.append("… ");
  let before = null; // the mark of the previous piece
  for (const { text, value } of pieces(characters, spans, from, to)) {
    const heat = largest > 0 ? Math.min(1, value / largest) : 0;
    if (heat < 0.02) {
      element.append(text);
      before = null;
      continue;
    }
    const mark = document.createElement("mark");
    mark.textContent = text;
    mark.title = `adds ${value.toFixed(4)}`;
    mark.style.setProperty("--heat", heat.toFixed(3));
    if (heat > 0.5) mark.classList.add("strong");
    if (before) {
      before.classList.add("goes-on");
      mark.classList.add("went-on");
    }
    element.append(mark);
    before = mark;
  }
  if (to < characters.length) element.append(" …");
}
