// SPDX-License-Identifier: Apache-2.0
// The script of a flame graph in a browser: zoom by click, search, reset, and a line about the frame under the mouse. An image has it
// in itself; the page of serve has it too. It loads nothing. A frame's data-p is its start and width in samples or ns, unlike the
// rounded screen positions; its data-s is a brief name for narrow frames.
export const attach = (svg) => {
  const one = (name) => svg.querySelector("." + name);
  const [reset, search, about, matched] = ["reset", "search", "about", "matched"].map(one);
  const input = search.querySelector("input");
  const side = 10, gap = 0.5, letter = 7.25, row = Number(svg.dataset.row);
  const room = svg.viewBox.baseVal.width - 2 * side;
  const frames = Array.from(svg.querySelectorAll(".frames g"), (g) => {
    const [begin, width] = g.dataset.p.split(" ").map(Number);
    const rect = g.querySelector("rect"), title = g.querySelector("title").textContent;
    const name = title.slice(0, title.lastIndexOf(" ("));
    return { g, rect, title, name, brief: g.dataset.s ?? name, begin, width, y: Number(rect.getAttribute("y")) };
  });
  if (frames.length === 0) return;
  const root = frames[0];
  // Rows from the root on, in either direction.
  for (const frame of frames) frame.depth = Math.abs(frame.y - root.y) / row;

  const label = (frame, x, width) => {
    const letters = Math.floor((width - 6) / letter);
    let text = frame.g.querySelector("text");
    if (letters < 3) {
      if (text) text.remove();
      return;
    }
    if (!text) {
      text = frame.g.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "text"));
      text.setAttribute("y", frame.y + 12);
    }
    const full = Array.from(frame.name), name = full.length <= letters ? full : Array.from(frame.brief);
    text.textContent = name.length <= letters ? name.join("") : name.slice(0, letters - 1).join("") + "…";
    text.setAttribute("x", x + 3);
  };

  const place = (frame, x, width, faded) => {
    frame.g.removeAttribute("display");
    frame.g.classList.toggle("faded", faded);
    frame.rect.setAttribute("x", x);
    frame.rect.setAttribute("width", width > 2 ? width - gap : width);
    label(frame, x, width);
  };

  const of_group = new Map(frames.map((frame) => [frame.g, frame]));
  const close = root.width * 1e-9;  // tolerance for sums of values that are not whole
  const within = (inner, outer) =>
    inner.begin >= outer.begin - close && inner.begin + inner.width <= outer.begin + outer.width + close;

  const zoom = (to) => {
    const scale = room / to.width;
    for (const frame of frames) {
      if (frame.depth >= to.depth && within(frame, to))
        place(frame, side + (frame.begin - to.begin) * scale, frame.width * scale, false);
      else if (frame.depth < to.depth && within(to, frame))
        place(frame, side, room, true);
      else
        frame.g.setAttribute("display", "none");
    }
    if (to === root) reset.setAttribute("display", "none");
    else reset.removeAttribute("display");
  };

  const pattern = (text) => {
    try {
      return new RegExp(text);
    } catch {
      return new RegExp(text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
    }
  };

  // A match within a match counts once: parents come first.
  const find = (text) => {
    const wanted = text && pattern(text);
    const found = [];
    for (const frame of frames) {
      const hit = Boolean(wanted) && wanted.test(frame.name);
      frame.g.classList.toggle("found", hit);
      if (hit) found.push(frame);
    }
    found.sort((a, b) => a.begin - b.begin || b.width - a.width);
    let sum = 0, end = -1;
    for (const frame of found) {
      if (frame.begin < end - close) continue;
      sum += frame.width;
      end = frame.begin + frame.width;
    }
    matched.textContent = wanted ? `Matched: ${(100 * sum / root.width).toFixed(2)} %` : "";
  };

  const frame_at = (event) => {
    const g = event.target.closest && event.target.closest(".frames g");
    return g && of_group.get(g);
  };
  const legend = about.textContent;
  const say = (event) => {
    const frame = frame_at(event);
    about.textContent = frame ? frame.title : legend;
  };
  svg.addEventListener("click", (event) => {
    const frame = frame_at(event);
    if (frame) zoom(frame);
  });
  svg.addEventListener("mouseover", say);
  svg.addEventListener("mouseleave", say);
  reset.addEventListener("click", () => zoom(root));
  input.addEventListener("input", () => find(input.value));
  search.removeAttribute("display");
  // Scrolls a high image to its root.
  if (svg === document.documentElement && frames.some((frame) => frame.y < root.y)) root.g.scrollIntoView();
};
