// SPDX-License-Identifier: Apache-2.0
// Images of the server as elements of the page. Only known elements and attributes come in, although the server escapes all names.

const kElements = new Set(["svg", "g", "rect", "text", "tspan", "title", "desc", "path", "line", "circle", "ellipse", "polygon", "polyline", "defs", "marker", "foreignObject", "input"]);
const kAttributes = new Set(["class", "id", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "width", "height", "viewBox", "d", "points", "fill", "fill-opacity",
  "stroke", "stroke-width", "stroke-dasharray", "stroke-opacity", "stroke-linejoin", "stroke-linecap", "opacity", "transform", "text-anchor", "dominant-baseline", "font-family", "font-size",
  "font-weight", "display", "marker-end", "marker-start", "orient", "refX", "refY", "markerWidth", "markerHeight", "preserveAspectRatio", "role", "aria-label", "type", "placeholder"]);

function allowed(element: Element): boolean {
  if (!kElements.has(element.localName)) return false;
  if (element.localName === "foreignObject") return element.classList.contains("search");
  return element.localName !== "input" || element.getAttribute("type") === "search";
}

function clean(element: Element): void {
  for (const { name, value } of [...element.attributes]) {
    const known = kAttributes.has(name) || name.startsWith("data-") || (name === "xmlns" && /^http:\/\/www\.w3\.org\/(2000\/svg|1999\/xhtml)$/.test(value));
    const local = !/url\s*\(/i.test(value) || /^url\(#[\w-]+\)$/.test(value);
    if (!known || !local) element.removeAttribute(name);
  }
}

// The rules of style of an image are for files. The page has its own, and its policy reports each element that it blocks.
const kRules = /<style>[^<]*<\/style>/g;

export function svg_element(text: string): SVGSVGElement {
  const parsed = new DOMParser().parseFromString(text.replace(kRules, ""), "image/svg+xml");
  const root = parsed.documentElement;
  if (root.localName !== "svg" || parsed.querySelector("parsererror") !== null) throw new Error("The server sent an image that cannot be read.");
  const refused: Element[] = [];
  for (const element of root.querySelectorAll("*")) {
    if (!allowed(element)) refused.push(element);
    else clean(element);
  }
  for (const element of refused) element.remove();
  clean(root);
  return document.importNode(root, true) as unknown as SVGSVGElement;
}
