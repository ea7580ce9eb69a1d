// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/page.h"

#include "core/base/units.h"
#include "plugins/shared/analysis/query/render.h"
#include "plugins/shared/analysis/query/time_text.h"
#include "plugins/shared/units/unit_text.h"

namespace atalaya::report_command {
namespace {

using query::Experiment;
using query::xml_text;

// The policy protects the host of the page: no text, such as the name of a process, can load or run anything.
constexpr const char *kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:14px/1.45 "DejaVu Sans",Helvetica,Arial,sans-serif;color:#222;max-width:1080px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 8px}h3{font-size:14px;margin:20px 0 4px}
p{margin:4px 0;color:#555}svg{max-width:100%;height:auto;margin:8px 0}
table{border-collapse:collapse;margin:4px 0 12px}th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;
border-bottom:1px solid #e4e4e4;max-width:420px;overflow-wrap:break-word}th{font-weight:600}
th,td.n,td.t{white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}svg,tr{break-inside:avoid}}
</style>
)";

// The classes: "n" numbers, "t" times, "" texts, which may wrap.
void add_cell(std::string &out, std::string_view text, std::string_view kind = "") {
  out += kind.empty() ? "<td>" : "<td class=\"" + std::string(kind) + "\">";
  out += xml_text(text) + "</td>";
}

void add_header(std::string &out, const std::vector<std::string> &names, const std::vector<std::string> &numbers) {
  out += "<table><tr>";
  for (const std::string &name : names) out += "<th>" + xml_text(name) + "</th>";
  for (const std::string &name : numbers) out += "<th class=\"n\">" + xml_text(name) + "</th>";
  out += "</tr>\n";
}

// Rounded to seconds.
std::string second_text(int64_t time_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  return query::time_text(time_ns / kSecond * kSecond);
}
std::string length_text(int64_t length_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  return core::format_duration(length_ns < kSecond ? length_ns : length_ns / kSecond * kSecond);
}

void add_experiments(std::string &out, const Page &page) {
  if (page.experiments.empty()) return;
  out += "<h2>Experiments</h2>\n";
  add_header(out, {"experiment", "workload", "start", "end", "duration", "user", "tags", "notes"}, {});
  for (const Experiment &one : page.experiments) {
    out += "<tr>";
    add_cell(out, one.name);
    add_cell(out, one.workload);
    add_cell(out, second_text(one.start_ns), "t");
    add_cell(out, one.open() ? "open" : second_text(one.end_ns(page.now_ns)), "t");
    add_cell(out, length_text(one.end_ns(page.now_ns) - one.start_ns), "t");
    add_cell(out, one.user);
    add_cell(out, query::tags_text(one.tags));
    add_cell(out, one.notes);
    out += "</tr>\n";
  }
  out += "</table>\n";
}

// A table per metric of a part, with the unit in its heading.
void add_usages(std::string &out, const Page &page, const Part &part) {
  std::string_view metric;
  for (const query::Usage &usage : part.usages) {
    if (usage.metric != metric) {
      if (!metric.empty()) out += "</table>\n";
      metric = usage.metric;
      out += "<h3>" + xml_text(metric) + "</h3>\n";
      const std::string shown_unit = xml_text(core::shown_unit(usage.unit));
      const std::string unit = shown_unit.empty() ? "" : ", " + shown_unit;
      const std::string sum = "sum, " + xml_text(usage.sum_unit);
      add_header(out, page.usages.keys, {sum, "avg" + unit, "max" + unit, "min" + unit});
    }
    out += "<tr>";
    for (const std::string &key : page.usages.keys) add_cell(out, cell(part, usage, key));
    for (const double value : {usage.sum, usage.average, usage.max, usage.min}) add_cell(out, shown(value), "n");
    out += "</tr>\n";
  }
  if (!metric.empty()) out += "</table>\n";
}

void add_part(std::string &out, const Page &page, const Part &part) {
  if (!part.tags.empty()) {
    const auto workload = part.tags.find("workload");
    out += "<h2>" +
           xml_text("Usage: " + part.tags.at("experiment") + (workload == part.tags.end() ? "" : ", " + workload->second)) +
           "</h2>\n<p>" + second_text(part.range.from_ns) + " to " + second_text(part.range.to_ns) + "</p>\n";
  } else {
    out += "<h2>Usage</h2>\n";
  }
  if (part.usages.empty()) out += "<p>No points in this time range.</p>\n";
  add_usages(out, page, part);
}

}  // namespace

std::string as_page(const Page &page) {
  std::string out = kHead;
  out += "<title>" + xml_text(page.title) + "</title></head><body>\n<h1>" + xml_text(page.title) + "</h1>\n<p>" +
         second_text(page.range.from_ns) + " to " + second_text(page.range.to_ns) + " (" +
         length_text(page.range.to_ns - page.range.from_ns) + "), of " + xml_text(page.store) + ", written " +
         second_text(page.now_ns) + "</p>\n";
  add_experiments(out, page);
  if (!page.pictures.empty()) out += "<h2>Over the time</h2>\n";
  for (const std::string &picture : page.pictures) out += picture;
  for (const Part &part : page.usages.parts) add_part(out, page, part);
  return out + "</body></html>\n";
}

}  // namespace atalaya::report_command
