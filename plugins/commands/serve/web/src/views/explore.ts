// SPDX-License-Identifier: Apache-2.0
// Charts and flame graphs of one window next to each other. One drag retimes all of them.
import { ChartCard } from "../charts/chart_card";
import { choice, h, press, select } from "../parts/dom";
import { named_times } from "../data/experiments";
import { FlameCard } from "../charts/flame";
import { kFirstPanels, panel_of_text, spec_of, text_of_panel, type Panel } from "../parts/panel";
import { PanelEditor } from "../parts/panel_editor";
import { compare as compare_with, current, go, own, window_span } from "../data/state";
import { span_text } from "../data/time";
import type { Info } from "../data/types";
import type { View } from "../view";

const kHeights = { small: 110, medium: 180, large: 320 };
type Height = keyof typeof kHeights;
const kMostPanels = 12;

interface Shown {
  chart: ChartCard;
  editor: PanelEditor;
  text: string;
}

function panels(): Panel[] {
  const texts = current().own.getAll("p").slice(0, kMostPanels);
  return texts.length === 0 ? kFirstPanels : texts.map(panel_of_text);
}

function store(list: readonly Panel[]): void {
  go({ own: { p: list.map(text_of_panel) } });
}

function height(): Height {
  const wanted = own("height");
  return wanted in kHeights ? (wanted as Height) : "medium";
}

export function make_explore(_info: Info): View {
  const left = h("div", { class: "column charts" });
  const flame = new FlameCard(() => ({ process: own("process") }), true);
  const heights = choice<Height>("Height of all charts", [["small", "S"], ["medium", "M"], ["large", "L"]], height(), (value) => go({ own: { height: value } }, true));
  const compare = h("button", { type: "button", title: "Compare with the time before, of the same length (b). Shift and drag selects any other time.", onclick: () => compare_with_before() }, "Compare with before");
  const others = h("span");
  named_times().then((times) => {
    if (times.length === 0) return;
    others.append(select("Compare with", [["", "choose…"], ...times.map((time, i) => [String(i), time.label] as const)], "", (value) => {
      const time = times[Number(value)];
      if (value !== "" && time !== undefined) compare_with(time);
    }));
  }, () => undefined);  // the charts report a store that cannot be read
  const base = h("span", { class: "muted" });
  const tools = h("div", { class: "toolbar" },
    h("button", { type: "button", onclick: () => store([...panels(), { ...kFirstPanels[0]!, metrics: [], by: [] }]) }, "Add a panel"), heights, compare, others, base);
  let shown: Shown[] = [];

  const rebuild = (list: readonly Panel[]) => {
    while (shown.length > list.length) {
      const last = shown.pop()!;
      last.chart.close();
      last.chart.card.root.remove();
    }
    list.forEach((panel, i) => {
      const text = text_of_panel(panel), spec = { ...spec_of(panel), height: kHeights[height()] };
      const old = shown[i];
      if (old === undefined) {
        const chart = new ChartCard(spec, "panel");
        const editor = new PanelEditor((edit) => store(panels().map((one, at) => (at === i ? edit(one) : one))), () => store(panels().filter((_, at) => at !== i)));
        editor.show(panel);
        const folded = h("details", {}, h("summary", {}, "Metrics, filters, grouping"), editor.root);
        folded.open = panel.metrics.length === 0;
        chart.card.root.append(folded);
        left.append(chart.card.root);
        shown.push({ chart, editor, text });
      } else if (old.text !== text) {
        old.text = text;
        old.chart.change(spec);
        old.editor.show(panel);
      }
      shown[i]!.chart.resize(kHeights[height()]);
      shown[i]!.chart.update();
    });
  };

  return {
    root: h("div", { class: "view explore" }, tools, h("div", { class: "sides" }, left, h("div", { class: "column" }, flame.card.root))),
    update: () => {
      press(heights, height());
      const baseline = current().baseline;
      base.textContent = baseline === null ? "Drag on a chart: all charts and the flame graph show that time." : `Compared with ${span_text(baseline)}`;
      rebuild(panels());
      flame.update();
    },
    redraw: () => shown.forEach(({ chart }) => chart.redraw()),
    close: () => {
      for (const { chart } of shown) chart.close();
      flame.close();
    },
  };
}

export function compare_with_before(): void {
  const { from, to } = window_span();
  compare_with({ from: 2 * from - to, to: from });
}
