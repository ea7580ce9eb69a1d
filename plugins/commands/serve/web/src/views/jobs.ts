// SPDX-License-Identifier: Apache-2.0
// Jobs: tasks and their sub-phases on a time line, the flame graph and the waits of a task, the critical path, five grades of speed, slow tasks per
// node, findings with evidence.
import { exactly } from "../data/api";
import { Card } from "../parts/card";
import { grade_colour } from "../charts/colours";
import { h, replace, s, select } from "../parts/dom";
import { FlameCard } from "../charts/flame";
import { Lanes, type Bar } from "../charts/lanes";
import { simple_table } from "../parts/simple_table";
import { current, go, own, visit, window_span } from "../data/state";
import { clock_text, duration_text, moment_text, now } from "../data/time";
import type { CriticalPath, Info, Job, JobDetail, Task, TaskWaits } from "../data/types";
import { value_text } from "../data/units";
import type { View } from "../view";

// Of speed, 1 to 5.
const kGrades = ["highest", "higher", "medium", "lower", "lowest"];

function colour_of_grade(task: Task): string {
  return task.grade === null ? "#9aa1a9" : grade_colour(task.grade);
}

function about(task: Task): string {
  return [task.grade === null ? "speed not graded" : `${kGrades[task.grade - 1] ?? "unknown"} speed`, task.slow ? "slow" : "", task.on_path ? "on the critical path" : "", task.state ?? ""].filter((text) => text !== "").join(", ");
}

function name_of(task: Task): string {
  return [task.stage, task.id, task.attempt === null ? "" : `attempt ${task.attempt}`].filter((text) => text !== null && text !== "").join(" ");
}

function bar_of(task: Task): Bar {
  return { lane: task.node ?? "unknown node", name: name_of(task), from: task.from, to: task.to, about: about(task), colour: colour_of_grade(task), parts: task.phases, open: () => go({ own: { task: id_of(task), stage: null } }) };
}

function id_of(task: Task): string {
  return task.attempt ?? task.id;
}

// The last stacks of a task are in a window that ends after it.
const kLongestWindow = 60_000;

function path_parts(path: CriticalPath): HTMLElement[] {
  const share = (seconds: number) => `${((100 * seconds) / path.seconds).toFixed(1)} %`;
  const time = (seconds: number) => ({ content: duration_text(1000 * seconds), number: true });
  const part = simple_table("Parts of the critical path", ["part", "time", "of the job"], path.parts.map((one) => [one.name, time(one.seconds), { content: share(one.seconds), number: true }]));
  if (path.predictions.length === 0) return [part];
  const ifs = simple_table("Predicted length of the job", ["if", "predicted", "change"], path.predictions.map((one) => [one.change, time(one.seconds), { content: share(one.seconds - path.seconds), number: true }]));
  const note = path.rough ? [h("p", { class: "muted" }, "These predictions are rough: a replay of the recorded tasks differs from the job by more than 10 %.")] : [];
  return [part, ifs, ...note];
}

// "Step 2 of 5 of the critical path: ..."
function place_on_path(task: Task, path: CriticalPath | null): string {
  if (path === null) return "The job still runs: it has no critical path.";
  const steps = path.steps.filter((step) => step.task !== null), at = steps.findIndex((step) => step.task === id_of(task)), step = steps[at];
  if (step === undefined) return "The job did not wait for this task.";
  const length = step.to - step.from, begun = { slot: "when its slot became free", stage: "when an earlier stage ended", start: "when no task had ended before" }[step.after] ?? "";
  return `Step ${at + 1} of ${steps.length} of the critical path: ${duration_text(length)}, ${((length / path.seconds) / 10).toFixed(1)} % of the job. It began ${begun}.`;
}

// Each part as a bar of the task's time.
function wait_bars(title: string, parts: TaskWaits["reasons"], whole: number): HTMLElement[] {
  if (parts.length === 0) return [];
  const rows = parts.map((part) => {
    const bar = h("span", { class: "bar" });
    bar.style.width = `${Math.min(100, (100 * part.seconds) / whole)}%`;
    return h("li", {}, h("span", { class: "name", title: part.name }, part.name), h("span", { class: "track" }, bar), h("b", {}, duration_text(1000 * part.seconds)));
  });
  return [h("h3", {}, title), h("ul", { class: "bars" }, ...rows)];
}

// Each task as a point: start and duration of the task or of one of its phases; its colour is the grade.
function scatter(tasks: readonly Task[], phase: string): SVGElement {
  const points = tasks.flatMap((task) => {
    const part = phase === "" ? task : task.phases.find((one) => one.name === phase);
    return part === undefined || part.to === null ? [] : [{ task, from: part.from, length: part.to - part.from }];
  });
  const width = 600, height = 220, left = 64, bottom = 24;
  const first = Math.min(...points.map((point) => point.from)), last = Math.max(...points.map((point) => point.from), first + 1);
  const most = Math.max(...points.map((point) => point.length), 1);
  const x = (ms: number) => left + ((width - left - 10) * (ms - first)) / (last - first), y = (ms: number) => 8 + (height - bottom - 8) * (1 - ms / most);
  const lines = [0, 0.5, 1].map((part) => s("g", {}, s("line", { class: "lane-grid", x1: String(left), x2: String(width), y1: String(y(most * part)), y2: String(y(most * part)) }), s("text", { class: "lane-mark", x: String(left - 6), y: String(y(most * part) + 4), "text-anchor": "end" }, duration_text(most * part))));
  const marks = [first, last].map((ms, i) => s("text", { class: "lane-mark", x: String(x(ms)), y: String(height - 6), "text-anchor": i === 0 ? "start" : "end" }, clock_text(ms)));
  const dots = points.map((point) => s("circle", { cx: x(point.from).toFixed(1), cy: y(point.length).toFixed(1), r: "3.5", fill: colour_of_grade(point.task), class: "dot" }, s("title", {}, `${point.task.node ?? ""} ${name_of(point.task)}: ${duration_text(point.length)}, ${about(point.task)}`)));
  return s("svg", { class: "scatter", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Durations of ${points.length} tasks by start` }, ...lines, ...marks, ...dots);
}

export function make_jobs(_info: Info): View {
  const list = new Card("Jobs", "jobs-card"), line = new Card("Tasks", "tasks-card"), nodes = new Card("Slow tasks per node", "nodes-card");
  const clusters = new Card("Durations by grade", "clusters-card"), findings = new Card("Findings", "findings-card");
  const path = new Card("Critical path", "path-card"), waits = new Card("Waits of the task", "waits-card");
  let shown: JobDetail | null = null;
  const chosen = () => shown?.tasks.find((task) => id_of(task) === own("task")) ?? null;
  const flame = new FlameCard(() => {
    const task = chosen();
    if (own("stage") !== "" && shown !== null) return { slow_stage: own("stage"), job: shown.job.id, span: { from: shown.job.from, to: (shown.job.to ?? now()) + kLongestWindow } };
    return { task: own("task"), ...(task === null ? {} : { span: { from: task.from, to: (task.to ?? now()) + kLongestWindow } }) };
  });
  const parts = h("div", { class: "job" }, line.root, waits.root, flame.card.root, h("div", { class: "grid" }, path.root, findings.root, h("div", { class: "column" }, nodes.root, clusters.root)));
  const lanes = new Lanes();

  const show_clusters = (detail: JobDetail) => {
    const names = [...new Set(detail.tasks.flatMap((task) => task.phases.map((phase) => phase.name)))].sort();
    replace(clusters.tools, select("Of", [["", "whole tasks"], ...names.map((name) => [name, name] as const)], own("phase"), (value) => go({ own: { phase: value } }, true)));
    const key = h("p", { class: "key" }, "Speed:", ...kGrades.flatMap((grade, i) => {
      const swatch = h("i", { class: "swatch" });
      swatch.style.backgroundColor = grade_colour(i + 1);
      return [swatch, grade];
    }));
    clusters.show(scatter(detail.tasks, own("phase")), key);
  };

  const show_job = (detail: JobDetail) => {
    shown = detail;
    const { job } = detail;
    const stages = [...new Set(detail.tasks.flatMap((task) => (task.stage === null ? [] : [task.stage])))].sort();
    line.title(`Tasks of ${job.name ?? job.id}`);
    line.say(`${detail.more ? "the first " : ""}${detail.tasks.length} tasks, ${moment_text(job.from)}, ${job.to === null ? "still running" : duration_text(job.to - job.from)}`);
    replace(line.tools, h("button", { type: "button", onclick: () => visit({ from: job.from, to: job.to ?? window_span().to }) }, "Show the time of the job"),
      select("Slow tasks", [["", "compare the slow tasks of a stage"], ...stages.map((stage) => [stage, `slow tasks of stage ${stage} against its median ones`] as const)], own("stage"), (value) => go({ own: { stage: value, task: null } })));
    if (detail.tasks.length === 0) line.nothing({ text: "This job has no tasks in the store." });
    else line.show(lanes.show(detail.tasks.map(bar_of), { from: job.from, to: Math.max(job.to ?? now(), job.from + 1000) }));
    const most = detail.slow_per_node.reduce((top, node) => Math.max(top, node.count), 0);
    nodes.show(detail.slow_per_node.length === 0 ? h("p", { class: "muted" }, "No task has a low speed.") : h("ul", { class: "bars" }, ...detail.slow_per_node.map((node) => {
      const bar = h("span", { class: "bar" });
      bar.style.width = `${most > 0 ? (100 * node.count) / most : 0}%`;
      return h("li", {}, h("span", { class: "name", title: node.node ?? "unknown node" }, node.node ?? "unknown node"), h("span", { class: "track" }, bar), h("b", {}, node.count));
    })));
    const notes = detail.notes.map((note) => h("p", { class: "muted" }, note));
    findings.show(...notes, detail.findings.length === 0 ? h("p", { class: "muted" }, "No finding beyond chance.") : h("ul", { class: "findings" }, ...detail.findings.map((finding) =>
      h("li", {}, h("p", {}, finding.text), h("ul", {}, ...finding.evidence.map((one) => h("li", { class: "muted" }, typeof one === "string" ? one : one.text ?? "")))))));
    if (detail.path === null) path.nothing({ text: "A running job has no critical path." });
    else path.show(...path_parts(detail.path));
    show_clusters(detail);
    show_task();
  };

  const show_waits = (task: Task, answer: TaskWaits) => {
    const length = ((task.to ?? now()) - task.from) / 1000;
    const bars = [...wait_bars("By reason", answer.reasons, length), ...wait_bars("By owner, in bursts", answer.owners, length)];
    const none = h("p", { class: "muted" }, "No waits of this task are in the store: the source perf records them with profile = \"both\", tasks = true and tags = { \"reason\" }, or with wakers.");
    waits.show(h("p", {}, place_on_path(task, shown?.path ?? null)), ...(bars.length === 0 ? [none] : bars));
  };

  const show_task = () => {
    const task = chosen();
    flame.card.root.hidden = own("task") === "" && own("stage") === "";
    waits.root.hidden = task === null;
    if (!flame.card.root.hidden) flame.update();
    if (task === null) return;
    waits.title(`Waits of ${name_of(task)}`);
    void waits.load<TaskWaits>("task", { task: id_of(task), from: task.from, to: (task.to ?? now()) + kLongestWindow }, (answer) => show_waits(task, answer));
  };

  const show_list = (jobs: Job[]) => {
    if (jobs.length === 0) return list.nothing({ text: "No job ran in this window.", pipeline: "job" });
    list.show(simple_table("Jobs", ["job", "name", "kind", "start", "duration", "state", "tasks"], jobs.map((job) => [
      job.id, job.name, job.kind, moment_text(job.from), { content: job.to === null ? "running" : duration_text(job.to - job.from), number: true }, job.state, { content: value_text(job.tasks, null), number: true }]),
    (at) => go({ own: { job: jobs[at]!.id, task: null, stage: null } })));
  };

  return {
    root: h("div", { class: "view jobs" }, list.root, parts),
    update: () => {
      const { from, to } = window_span(), id = own("job");
      void list.load<Job[]>("jobs", { from, to, host: exactly(current().host) }, show_list);
      parts.hidden = id === "";
      if (id === "") return;
      void line.load<JobDetail>("job", { id }, show_job);
      if (shown !== null && shown.job.id === id) show_job(shown);
    },
    close: () => {
      flame.close();
      [list, line, path, waits, nodes, clusters, findings].forEach((card) => card.close());
    },
  };
}
