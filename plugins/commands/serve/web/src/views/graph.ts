// SPDX-License-Identifier: Apache-2.0
// Traffic between processes, commands, containers or hosts: the graph of `atalaya graph`, and its table of senders and receivers.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { heat_colour } from "../charts/colours";
import { h, replace, select } from "../parts/dom";
import { simple_table } from "../parts/simple_table";
import { current, go, own, window_span } from "../data/state";
import { svg_element } from "../charts/svg";
import type { Info, Matrix, Traffic } from "../data/types";
import { share_text, value_text } from "../data/units";
import type { View } from "../view";

const kBy = [["process", "processes"], ["command", "commands"], ["container", "containers"], ["host", "hosts"]] as const;
const kShares = [["0%", "all edges"], ["1%", "edges from 1 %"], ["5%", "edges from 5 %"], ["10%", "edges from 10 %"], ["25%", "edges from 25 %"]] as const;
const kMaxEdges = 200;

function by(): string {
  return kBy.find(([name]) => name === own("by"))?.[0] ?? "process";
}

function share(): string {
  return kShares.find(([name]) => name === own("share"))?.[0] ?? "5%";
}

export function make_graph(_info: Info): View {
  const picture = new Card("Traffic", "graph-card");
  const edges = new Card("Largest flows", "edges-card");
  const heat = new Card("Senders and receivers", "heat-card");
  const choose = (key: string) => (value: string) => go({ own: { [key]: value } }, true);
  const hint = { text: "There is no traffic in this window.", pipeline: "traffic" };

  const show = (traffic: Traffic) => {
    picture.say(`${value_text(traffic.total, "By")}${traffic.estimated > 0 ? `, of which ${value_text(traffic.estimated, "By")} are estimated` : ""}`);
    if (traffic.nodes.length === 0) {
      picture.nothing(hint);
      edges.nothing({ text: "There are no edges." });
      return;
    }
    const svg = svg_element(traffic.svg);
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Graph of ${traffic.nodes.length} nodes and ${traffic.edges.length} edges; the table below has the same edges`);
    picture.show(h("div", { class: "picture", tabindex: "0", role: "group", "aria-label": "Traffic graph, scrollable" }, svg));
    const name = (i: number) => {
      const node = traffic.nodes[i];
      return node === undefined ? "?" : [node.host, node.name, node.pid].filter((part) => part !== null && part !== "").join(" ");
    };
    const largest = [...traffic.edges].sort((a, b) => b.bytes - a.bytes).slice(0, kMaxEdges);
    edges.show(simple_table("Edges by traffic", ["from", "to", "traffic", "share"], largest.map((edge) => [
      name(edge.from), name(edge.to), { content: value_text(edge.bytes, "By"), number: true }, { content: share_text(traffic.total > 0 ? edge.bytes / traffic.total : null), number: true }])));
  };

  const show_heat = (matrix: Matrix) => {
    if (matrix.names.length === 0) return heat.nothing(hint);
    const most = matrix.values.reduce((top, row) => row.reduce<number>((best, value) => Math.max(best, value ?? 0), top), 0);
    const cell = (value: number | null, from: string, to: string) => {
      const part = most > 0 ? (value ?? 0) / most : 0;
      const element = h("td", { class: part > 0.5 ? "number strong" : "number", title: `${from} to ${to}: ${value_text(value, matrix.unit)}` }, value === null || value === 0 ? "" : value_text(value, matrix.unit));
      element.style.backgroundColor = heat_colour(part);
      return element;
    };
    heat.show(h("div", { class: "scrolls" }, h("table", { class: "heat" }, h("caption", {}, "A row sends, a column receives."),
      h("thead", {}, h("tr", {}, h("td"), ...matrix.names.map((name) => h("th", { scope: "col", title: name }, h("span", {}, name))))),
      h("tbody", {}, ...matrix.names.map((from, i) => h("tr", {}, h("th", { scope: "row", title: from }, from), ...matrix.names.map((to, j) => cell(matrix.values[i]?.[j] ?? null, from, to))))))));
  };

  return {
    root: h("div", { class: "view graph" }, picture.root, h("div", { class: "grid" }, heat.root, edges.root)),
    update: () => {
      replace(picture.tools, select("Nodes", kBy, by(), choose("by")), select("Edges", kShares, share(), choose("share")));
      const { from, to } = window_span(), host = exactly(current().host);
      void picture.load<Traffic>("graph", { from, to, host, by: by(), min_share: share() }, show);
      void heat.load<Matrix>("matrix", { from, to, host, by: by(), top: 20 }, show_heat);
    },
    close: () => [picture, edges, heat].forEach((card) => card.close()),
  };
}
