// SPDX-License-Identifier: Apache-2.0
// A flame graph by keys: up and down to callers and callees, left and right to neighbours, Enter zooms, Escape resets.
import { announce } from "../parts/dom";

interface Frame {
  group: Element;
  begin: number;
  width: number;
  level: number;
}

function frames_of(svg: SVGSVGElement): Frame[] {
  const frames = Array.from(svg.querySelectorAll(".frames g"), (group) => {
    const [begin = 0, width = 0] = (group.getAttribute("data-p") ?? "").split(" ").map(Number);
    return { group, begin, width, level: Number(group.querySelector("rect")?.getAttribute("y") ?? 0) };
  });
  const root = frames[0]?.level ?? 0;
  for (const frame of frames) frame.level = Math.abs(frame.level - root);
  return frames;
}

export function add_flame_keys(place: HTMLElement, svg: SVGSVGElement): void {
  const frames = frames_of(svg);
  if (frames.length === 0) return;
  let current: Frame | null = null;
  const levels = [...new Set(frames.map((frame) => frame.level))].sort((a, b) => a - b);
  const row = (levels[1] ?? 16) - (levels[0] ?? 0);
  const visible = (frame: Frame) => frame.group.getAttribute("display") !== "none";
  const on = (level: number) => frames.filter((frame) => Math.abs(frame.level - level) < 1 && visible(frame));

  const select = (frame: Frame | undefined) => {
    if (frame === undefined) return;
    current?.group.classList.remove("current");
    current = frame;
    frame.group.classList.add("current");
    frame.group.querySelector("rect")?.scrollIntoView({ block: "nearest", inline: "nearest" });
    announce(frame.group.querySelector("title")?.textContent ?? "");
  };
  const step = (key: string): Frame | undefined => {
    const at = current;
    if (at === null || !visible(at)) return frames.find(visible);
    const inverse = svg.querySelector(".frames") !== null && is_icicle(svg);
    const deeper = key === (inverse ? "ArrowDown" : "ArrowUp");
    const middle = at.begin + at.width / 2;
    if (key === "ArrowLeft" || key === "ArrowRight") {
      const same = on(at.level).sort((a, b) => a.begin - b.begin);
      return same[same.indexOf(at) + (key === "ArrowLeft" ? -1 : 1)];
    }
    if (deeper) {
      const inside = on(at.level + row).filter((frame) => frame.begin >= at.begin - 1e-9 && frame.begin + frame.width <= at.begin + at.width + 1e-6);
      return inside.sort((a, b) => b.width - a.width)[0];
    }
    return on(at.level - row).find((frame) => frame.begin <= middle && middle <= frame.begin + frame.width);
  };

  place.onkeydown = (event) => {
    if (event.target !== place || event.ctrlKey || event.altKey || event.metaKey) return;
    if (event.key.startsWith("Arrow")) select(step(event.key));
    else if (event.key === "Enter" && current !== null) current.group.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else if (event.key === "Escape") frames[0]!.group.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
}

function is_icicle(svg: SVGSVGElement): boolean {
  const rects = svg.querySelectorAll(".frames rect");
  return rects.length > 1 && Number(rects[1]!.getAttribute("y")) > Number(rects[0]!.getAttribute("y"));
}
