// SPDX-License-Identifier: Apache-2.0
// Images in the form of the server's: a flame graph and a traffic graph.
import { kFrames, kProcesses } from "./data.mjs";

export const escaped = (text) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`).replace(/[\u0000-\u0008]/g, "\ufffd");
const kColours = ["#5ed65e", "#d8d840", "#e4645a", "#b0b0b0"];

// Frames of a tree that branches by fixed shares.
function frames(count) {
  const list = [{ name: "all", begin: 0, width: 1_000_000, depth: 0 }];
  for (let i = 0; i < list.length && list.length < count; ++i) {
    const parent = list[i];
    let begin = parent.begin;
    const parts = 2 + ((parent.depth * 7 + i) % 3);
    for (let k = 0; k < parts && list.length < count; ++k) {
      const width = Math.floor((parent.width * (k === 0 ? 0.5 : 0.45 / (parts - 1))));
      if (width < 1) continue;
      list.push({ name: parent.depth === 0 ? kProcesses[k * 3 + 1].process : kFrames[(i + k * 5) % kFrames.length], begin, width, depth: parent.depth + 1 });
      begin += width;
    }
  }
  return list;
}

export function flamegraph(width, count, compared) {
  const list = frames(count), room = width - 20, row = 16;
  const depth = list.reduce((most, frame) => Math.max(most, frame.depth), 0), height = 94 + (depth + 1) * row;
  const groups = list.map((frame, i) => {
    const x = 10 + (frame.begin / 1e6) * room, w = (frame.width / 1e6) * room, y = 94 + frame.depth * row;
    const letters = Math.floor((w - 6) / 7.25);
    const label = letters < 3 ? "" : `<text x="${(x + 3).toFixed(1)}" y="${y + 12}">${escaped(frame.name.slice(0, letters))}</text>`;
    const fill = compared ? ["#ffb0b0", "#b0b0ff", "#f4f4f4"][i % 3] : kColours[i % 4];
    return `<g data-p="${frame.begin} ${frame.width}"><title>${escaped(`${frame.name} (${frame.width} samples, ${(frame.width / 1e4).toFixed(2)} %)`)}</title><rect x="${x.toFixed(1)}" y="${y}" width="${w.toFixed(1)}" height="15" fill="${fill}"/>${label}</g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" class="flamegraph" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" data-unit="samples" data-row="16" font-family="monospace" font-size="12">
<rect width="100%" height="100%" fill="#fff"/><text x="${width / 2}" y="22" text-anchor="middle" font-size="16">CPU</text><g class="frames">${groups.join("")}</g>
<text class="reset" x="10" y="64" display="none">Reset zoom</text><text class="matched" x="${width - 190}" y="64" text-anchor="end"></text>
<foreignObject class="search" x="${width - 180}" y="48" width="170" height="24" display="none"><input xmlns="http://www.w3.org/1999/xhtml" type="search" placeholder="Search (text or regex)"/></foreignObject>
<text class="about" x="10" y="86">green: application, yellow: JVM or another runtime, red: system, grey: unknown</text></svg>`;
}

// An image of a broken or hostile server: everything in it that acts must be gone.
export const kHostileImage = `<svg xmlns="http://www.w3.org/2000/svg" class="flamegraph" width="400" height="200" viewBox="0 0 400 200" data-row="16" onload="window.injected=4">
<style>body{display:none}</style><script>window.injected=5</script><g class="frames"><g data-p="0 10"><title>all (10 samples)</title><rect x="10" y="94" width="380" height="15" fill="url(http://192.0.2.1/x)" onclick="window.injected=6"/></g></g>
<image href="http://192.0.2.1/y.png"/><a href="javascript:window.injected=7"><text>x</text></a><text class="reset"/><text class="matched"/><text class="about"/>
<foreignObject class="search" width="10" height="10"><input xmlns="http://www.w3.org/1999/xhtml" type="search" onfocus="window.injected=8" autofocus="autofocus"/><iframe xmlns="http://www.w3.org/1999/xhtml" src="http://192.0.2.1/"/></foreignObject></svg>`;

export function traffic_image(nodes, edges) {
  const width = 900, height = 480, at = (i) => [width / 2 + 340 * Math.cos((2 * Math.PI * i) / nodes.length), height / 2 + 190 * Math.sin((2 * Math.PI * i) / nodes.length)];
  const lines = edges.map((edge) => {
    const [x1, y1] = at(edge.from), [x2, y2] = at(edge.to);
    return `<line x1="${x1}" y1="${y1}" x2="${x2}" y2="${y2}" stroke="#56b4e9" stroke-width="${(1 + edge.bytes / 2e8).toFixed(1)}"/>`;
  });
  const boxes = nodes.map((node, i) => {
    const [x, y] = at(i);
    return `<g><title>${escaped(node.name)}</title><rect x="${x - 70}" y="${y - 14}" width="140" height="28" rx="4" fill="#f0e442" stroke="#333"/><text x="${x}" y="${y + 4}" text-anchor="middle" font-size="11" fill="#000">${escaped(node.name.slice(0, 20))}</text></g>`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"><rect width="100%" height="100%" fill="#fff"/><style>@media (prefers-color-scheme:dark){.chart .paper{fill:#16181c}}</style>${lines.join("")}${boxes.join("")}</svg>`;
}
