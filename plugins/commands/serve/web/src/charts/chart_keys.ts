// SPDX-License-Identifier: Apache-2.0
// A chart by keys: arrows read values, with Shift they select, Enter zooms to the selection.
import type uPlot from "uplot";
import { announce } from "../parts/dom";
import { choose } from "../data/state";

export function add_keys(root: HTMLElement, plot_of: () => uPlot | null, readout: (i: number) => string): void {
  let at = -1;      // the index of the cursor
  let start = -1;   // of the selection

  const place = (plot: uPlot) => {
    const times = plot.data[0];
    plot.setCursor({ left: plot.valToPos(times[at]!, "x"), top: plot.over.clientHeight / 2 });
    const ends = [at, start < 0 ? at : start].map((i) => plot.valToPos(times[i]!, "x"));
    const left = Math.min(...ends);
    plot.setSelect({ left, top: 0, width: Math.max(...ends) - left, height: plot.over.clientHeight }, false);
    announce(readout(at));
  };

  const moved = (key: string, last: number): number | null => {
    switch (key) {
      case "ArrowLeft": return at < 0 ? last : Math.max(0, at - 1);
      case "ArrowRight": return at < 0 ? 0 : Math.min(last, at + 1);
      case "PageUp": return Math.max(0, at - 10);
      case "PageDown": return Math.min(last, at + 10);
      case "Home": return 0;
      case "End": return last;
      default: return null;
    }
  };

  root.addEventListener("keydown", (event) => {
    const plot = plot_of();
    if (plot === null || event.target !== root || event.ctrlKey || event.altKey || event.metaKey) return;
    const times = plot.data[0], last = times.length - 1;
    if (last < 0) return;
    at = Math.min(at, last);
    start = Math.min(start, last);
    const next = moved(event.key, last);
    if (next !== null) {
      if (event.shiftKey && start < 0) start = Math.max(0, at);
      if (!event.shiftKey) start = -1;
      at = next;
      place(plot);
    } else if (event.key === "Enter" && start >= 0 && start !== at) {
      const [from, to] = [times[Math.min(start, at)]!, times[Math.max(start, at)]!];
      start = -1;
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      choose({ from, to });
    } else if (event.key === "Escape" && (start >= 0 || at >= 0)) {
      at = start = -1;
      plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      plot.setCursor({ left: -10, top: -10 });
    } else {
      return;
    }
    event.preventDefault();
    event.stopPropagation();
  });
}
