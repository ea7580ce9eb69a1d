// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/report/page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/base/text/units.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/io/time/time_text.h"
#include "plugins/shared/io/units/unit_text.h"

namespace atalaya::report_command {
namespace {

using command_line::xml_text;
using experiments::Experiment;

// The content security policy: no text, such as the name of a process, can load or run anything.
constexpr const char *kHead = R"(<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="color-scheme" content="light dark"><meta name="viewport" content="width=device-width, initial-scale=1">
<style>
body{font:14px/1.45 "DejaVu Sans",Helvetica,Arial,sans-serif;color:#222;max-width:1080px;margin:24px auto;padding:0 16px}
h1{font-size:22px;margin:0 0 4px}h2{font-size:17px;margin:32px 0 8px}h3{font-size:14px;margin:20px 0 4px}
p{margin:4px 0;color:#555}svg{max-width:100%;height:auto;margin:8px 0}
table{border-collapse:collapse;margin:4px 0 12px}th,td{padding:3px 12px 3px 0;text-align:left;vertical-align:top;
border-bottom:1px solid #e4e4e4;max-width:420px;overflow-wrap:break-word}th{font-weight:600}
th,td.n,td.t{white-space:nowrap}td.n,th.n{text-align:right;font-variant-numeric:tabular-nums}
td.b{width:120px;min-width:80px}td.b i{display:block;height:9px;margin-top:5px;background:#0072b2;border-radius:2px}
tr.total td{font-weight:600}.note{font-size:12px}.frames text{pointer-events:none}
@media (prefers-color-scheme:dark){body{background:#101215;color:#d6d9de}p{color:#9aa0a8}th,td{border-color:#30343b}
.flamegraph>rect{fill:#16181c}.flamegraph>text{fill:#d6d9de}td.b i{background:#4aa3df}}
@media print{body{max-width:none;margin:0}h2{break-after:avoid}svg,tr{break-inside:avoid}}
</style>
)";

// CSS classes of columns: "n" for numbers, "t" for times, "" for texts, which may wrap.
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

// Formats the times of the page, rounded to seconds.
class Times {
 public:
  explicit Times(const Page &page) {
    for (const int64_t time : {page.range.from_ns, page.range.to_ns, page.now_ns}) times_.add(time);
    for (const Experiment &one : page.experiments) {
      times_.add(one.start_ns);
      times_.add(one.end_ns(page.now_ns));
    }
    for (const Part &part : page.usages.parts) {
      times_.add(part.range.from_ns);
      times_.add(part.range.to_ns);
    }
  }
  std::string text(int64_t time_ns) const { return times_.text(time_ns / kSecond * kSecond); }
  std::string range(const query::Range &range) const { return text(range.from_ns) + " to " + text(range.to_ns); }
  // The time zone, printed once if it is the same for all times of the page.
  std::string zone(const Page &page) const { return times_.one_zone() ? ", times in " + io::zone_text(page.now_ns) : ""; }

 private:
  static constexpr int64_t kSecond = 1'000'000'000;
  io::LocalTimes times_;
};
std::string length_text(int64_t length_ns) {
  constexpr int64_t kSecond = 1'000'000'000;
  return core::format_duration(length_ns < kSecond ? length_ns : length_ns / kSecond * kSecond);
}

void add_experiments(std::string &out, const Page &page, const Times &times) {
  if (page.experiments.empty()) return;
  out += "<h2>Experiments</h2>\n";
  add_header(out, {"experiment", "workload", "start", "end", "duration", "user", "tags", "notes"}, {});
  for (const Experiment &one : page.experiments) {
    out += "<tr>";
    add_cell(out, one.name);
    add_cell(out, one.workload);
    add_cell(out, times.text(one.start_ns), "t");
    add_cell(out, one.open() ? "open" : times.text(one.end_ns(page.now_ns)), "t");
    add_cell(out, length_text(one.end_ns(page.now_ns) - one.start_ns), "t");
    add_cell(out, one.user);
    add_cell(out, command_line::tags_text(one.tags));
    add_cell(out, one.notes);
    out += "</tr>\n";
  }
  out += "</table>\n";
}

// Draws a share as a bar.
void add_bar(std::string &out, double share) {
  out += "<td class=\"b\">";
  if (std::isfinite(share) && share > 0) {
    std::array<char, 32> width{};
    std::snprintf(width.data(), width.size(), "%.1f", std::min(share, 100.0));
    out += "<i style=\"width:" + std::string(width.data()) + "%\"></i>";
  }
  out += "</td>";
}

void add_numbers(std::string &out, const Part &part, const query::Usage &usage) {
  const double share = share_of(part, usage.metric, usage.sum);
  for (const double value : {usage.sum, share, usage.average, usage.max, usage.min}) add_cell(out, shown(value), "n");
  add_bar(out, share);
  out += "</tr>\n";
}

// Adds the rows below the last one of a metric.
void add_totals(std::string &out, const Page &page, const Part &part, const std::string &metric) {
  const auto found = part.totals.find(metric);
  if (found == part.totals.end() || page.usages.keys.empty()) return;
  const Total &total = found->second;
  const auto add_names = [&](const std::string &name) {
    for (size_t i = 0; i < page.usages.keys.size(); ++i) add_cell(out, i == 0 ? name : "");
  };
  if (total.others > 0) {
    query::Usage other = total.whole;
    other.sum = total.other;
    other.average = other.max = other.min = std::nan("");
    out += "<tr>";
    add_names("other (" + std::to_string(total.others) + ")");
    add_numbers(out, part, other);
  }
  out += "<tr class=\"total\">";
  add_names("total");
  add_numbers(out, part, total.whole);
}

// Adds a table per metric of a part, with the unit in its heading.
void add_usages(std::string &out, const Page &page, const Part &part) {
  for (size_t i = 0; i < part.usages.size(); ++i) {
    const query::Usage &usage = part.usages[i];
    if (i == 0 || part.usages[i - 1].metric != usage.metric) {
      out += "<h3>" + xml_text(usage.metric) + "</h3>\n";
      const std::string shown_unit = io::shown_unit(usage.unit);
      const std::string unit = shown_unit.empty() ? "" : ", " + shown_unit;
      add_header(out, page.usages.keys, {"sum, " + usage.sum_unit, "share, %", "avg" + unit, "max" + unit, "min" + unit, ""});
    }
    out += "<tr>";
    for (const std::string &key : page.usages.keys) add_cell(out, cell(part, usage, key));
    add_numbers(out, part, usage);
    if (i + 1 < part.usages.size() && part.usages[i + 1].metric == usage.metric) continue;
    add_totals(out, page, part, usage.metric);
    out += "</table>\n";
  }
}

void add_part(std::string &out, const Page &page, const Part &part, const Times &times) {
  if (!part.tags.empty()) {
    const auto workload = part.tags.find("workload");
    out += "<h2>" +
           xml_text("Usage: " + part.tags.at("experiment") + (workload == part.tags.end() ? "" : ", " + workload->second)) +
           "</h2>\n<p>" + times.range(part.range) + "</p>\n";
  } else {
    out += "<h2>Usage</h2>\n";
  }
  if (part.usages.empty()) out += "<p>No points in this time range.</p>\n";
  add_usages(out, page, part);
}

}  // namespace

std::string as_page(const Page &page) {
  const Times times(page);
  std::string out = kHead;
  out += "<title>" + xml_text(page.title) + "</title></head><body>\n<h1>" + xml_text(page.title) + "</h1>\n<p>" +
         times.range(page.range) + " (" + length_text(page.range.to_ns - page.range.from_ns) + ")" + times.zone(page) + "; of " +
         xml_text(page.store) + ", written " + times.text(page.now_ns) + "</p>\n";
  add_experiments(out, page, times);
  if (!page.pictures.empty()) out += "<h2>Over the time</h2>\n";
  for (const std::string &picture : page.pictures) out += picture;
  for (const Part &part : page.usages.parts) add_part(out, page, part, times);
  for (const Section &section : page.sections) out += "<h2>" + xml_text(section.title) + "</h2>\n" + section.html;
  return out + "</body></html>\n";
}

std::string as_page(const Comparison &comparison, const std::string &store, int64_t now_ns) {
  Page sides;
  sides.now_ns = now_ns;
  sides.range = {comparison.first.range.from_ns, comparison.second.range.to_ns};
  for (const Side *side : {&comparison.first, &comparison.second}) sides.usages.parts.push_back({{}, side->range, {}, {}});
  const Times times(sides);
  const std::string title = comparison.first.name + " compared with " + comparison.second.name;
  std::string out = kHead;
  out += "<title>" + xml_text(title) + "</title></head><body>\n<h1>" + xml_text(title) + "</h1>\n<p>Of " + xml_text(store) +
         ", written " + times.text(now_ns) + times.zone(sides) + "</p>\n";
  for (const Side *side : {&comparison.first, &comparison.second})
    out += "<p>" + xml_text(side->name) + ": " + times.range(side->range) + "</p>\n";
  std::string_view metric;
  for (const Difference &row : comparison.rows) {
    if (row.metric != metric) {
      if (!metric.empty()) out += "</table>\n";
      metric = row.metric;
      out += "<h3>" + xml_text(row.metric + ", " + row.unit) + "</h3>\n";
      add_header(out, comparison.keys, {comparison.first.name, comparison.second.name, "difference", "%"});
    }
    out += row.total ? "<tr class=\"total\">" : "<tr>";
    for (const std::string &key : comparison.keys) {
      const auto tag = row.tags.find(key);
      add_cell(out, tag != row.tags.end() ? tag->second : row.total && &key == &comparison.keys.front() ? "total" : "");
    }
    for (const double value : {row.first, row.second, row.change(), row.percent()}) add_cell(out, shown(value), "n");
    out += "</tr>\n";
  }
  return out + "</table>\n</body></html>\n";
}

std::string as_page(const Bill &bill, const query::Range &range, const std::string &store, int64_t now_ns) {
  Page head;
  head.range = range;
  head.now_ns = now_ns;
  const Times times(head);
  const std::string title = "Bill by " + bill.key;
  std::string out = kHead;
  out += "<title>" + xml_text(title) + "</title></head><body>\n<h1>" + xml_text(title) + "</h1>\n<p>" + times.range(range) + " (" +
         length_text(range.to_ns - range.from_ns) + ")" + times.zone(head) + "; of " + xml_text(store) + ", written " +
         times.text(now_ns) + "</p>\n";
  std::vector<std::string> titles;
  for (const Resource &resource : kResources) titles.push_back(std::string(resource.title) + ", " + std::string(resource.unit));
  add_header(out, {bill.key}, titles);
  for (const BillRow &row : bill.rows) {
    out += row.kind == RowKind::total ? "<tr class=\"total\">" : "<tr>";
    add_cell(out, row.name);
    for (const double amount : row.amounts) add_cell(out, shown(amount), "n");
    out += "</tr>\n";
  }
  return out + "</table>\n</body></html>\n";
}

}  // namespace atalaya::report_command
