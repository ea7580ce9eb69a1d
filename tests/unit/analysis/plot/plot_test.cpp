// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <map>
#include <random>
#include <tuple>

#include "plugins/commands/report/page.h"
#include "plugins/shared/analysis/plot/axis_unit.h"
#include "plugins/shared/analysis/plot/lines.h"
#include "plugins/shared/analysis/plot/stack.h"
#include "plugins/shared/analysis/plot/svg.h"
#include "plugins/shared/analysis/plot/ticks.h"
#include "plugins/shared/store/query/windows/downsample.h"

namespace atalaya::plot {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kTen = 1'700'042'400 * kSecond;  // 2023-11-15 10:00:00 UTC

struct InUtc {
  InUtc() {
    setenv("TZ", "UTC", 1);
    tzset();
  }
};

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST_CASE("an axis has round numbers around its values, and 0 when that is near") {
  const auto check = [](double low, double high, double from, double to, double step) {
    const Scale scale = scale_of(low, high, 5);
    CHECK(scale.low == doctest::Approx(from));
    CHECK(scale.high == doctest::Approx(to));
    CHECK(scale.step == doctest::Approx(step));
  };
  check(0, 97, 0, 100, 20);
  check(3, 97, 0, 100, 20);
  check(-3, 7, -4, 8, 2);
  check(1001, 1009, 1000, 1010, 2);
  check(0, 0, 0, 1, 0.2);
  check(5, 5, 0, 5, 1);
  check(-5, -5, -5, 0, 1);
  check(INFINITY, -INFINITY, 0, 1, 0.2);
}

TEST_CASE("numbers on an axis have the decimals of its step") {
  CHECK(tick_text(0.4, 0.2) == "0.4");
  CHECK(tick_text(20, 20) == "20");
  CHECK(tick_text(0.25, 0.05) == "0.25");
  CHECK(tick_text(2e9, 5e8) == "2e+09");
  CHECK(tick_text(50'002'000'000, 2e6) == "5.0002e+10");
  CHECK(tick_text(-50'000'000'000, 2e6) == "-5e+10");
  CHECK(tick_text(0, 5e8) == "0");
}

TEST_CASE("times on an axis are round, and few") {
  const InUtc utc;
  const auto ticks = time_ticks(kTen - kSecond, kTen + 600 * kSecond, 6);
  REQUIRE(ticks.size() == 6);
  CHECK(ticks[0].text == "10:00");
  CHECK(ticks[1].text == "10:02");
  CHECK(time_ticks(kTen, kTen + 30 * kSecond, 6)[0].text == "10:00:05");
  CHECK(time_ticks(kTen, kTen + 432'000 * kSecond, 6)[0].text == "16 Nov");
  CHECK(time_title(kTen, kTen + 600 * kSecond) == "2023-11-15 10:00:00 to 10:10:00 UTC");
  CHECK(round_interval(3600 * kSecond, 720) == 5 * kSecond);
  CHECK(round_interval(86'400 * kSecond, 720) == 120 * kSecond);
}

Plot plot_of(const std::vector<Line> &lines) {
  Plot plot;
  plot.title = "a <title> & more";
  plot.from_ns = kTen;
  plot.to_ns = kTen + 60 * kSecond;
  plot.lines = lines;
  return plot;
}

std::vector<query::Point> ramp() {
  std::vector<query::Point> points;
  for (int i = 0; i <= 60; i += 5) points.push_back({kTen + i * kSecond, static_cast<double>(i)});
  return points;
}

TEST_CASE("a picture has a line a series, its label and its unit, and texts that are only texts") {
  const std::string svg = svg_of(plot_of({{"proc.cpu.user{host=<h>}", "%", ramp()}, {"other", "%", ramp(), Role::reference}})).svg;
  CHECK(svg.find("a &lt;title&gt; &amp; more") != std::string::npos);
  CHECK(svg.find("proc.cpu.user{host=&lt;h&gt;}<") != std::string::npos);
  CHECK(count(svg, "<path ") == 2);
  CHECK(count(svg, "stroke-dasharray=\"8 4\"") == 2);  // the reference, and its legend
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("two units share a panel, a third one gets another") {
  const auto height = [](const Picture &picture) { return picture.height; };
  const int one = height(svg_of(plot_of({{"a", "%", ramp()}})));
  CHECK(height(svg_of(plot_of({{"a", "%", ramp()}, {"b", "MiB", ramp()}}))) == one);
  CHECK(height(svg_of(plot_of({{"a", "%", ramp()}, {"b", "MiB", ramp()}, {"c", "s", ramp()}}))) > one + 300);
}

TEST_CASE("a line breaks where nothing is known") {
  auto points = ramp();
  points.erase(points.begin() + 4, points.begin() + 8);
  const std::string gap = svg_of(plot_of({{"a", "%", points}})).svg;
  CHECK(count(gap.substr(gap.find("<path d="), 300), "M") == 2);
  points = ramp();
  points[5].value = std::nan("");
  const std::string unknown = svg_of(plot_of({{"a", "%", points}})).svg;
  CHECK(count(unknown.substr(unknown.find("<path d="), 300), "M") == 2);
}

TEST_CASE("a point without neighbours is a dot") {
  auto points = ramp();
  CHECK(count(svg_of(plot_of({{"a", "%", points}})).svg, "<circle") == 0);
  points[3].value = points[5].value = std::nan("");
  CHECK(count(svg_of(plot_of({{"a", "%", points}})).svg, "<circle") == 1);
  const std::vector<query::Point> seldom = {ramp().front(), ramp().back()};
  CHECK(count(svg_of(plot_of({{"a", "%", seldom}})).svg, "<circle") == 0);
  CHECK(count(svg_of(plot_of({{"a", "%", seldom}, {"b", "%", ramp()}})).svg, "<circle") == 2);
}

TEST_CASE("experiments are bands with their names") {
  Plot plot = plot_of({{"a", "%", ramp()}});
  plot.bands = {{kTen - 100 * kSecond, kTen + 30 * kSecond, "run 1"}, {kTen + 40 * kSecond, kTen + 900 * kSecond, "run 2"}};
  const std::string svg = svg_of(plot).svg;
  CHECK(count(svg, "fill-opacity") == 2);
  CHECK(count(svg, "run 1") == 2);  // the text, and the tooltip
}

TEST_CASE("thirty lines have thirty names, in as many columns as fit, and each its own look") {
  std::vector<Line> lines;
  lines.reserve(30);
  for (int i = 0; i < 30; ++i) lines.push_back({"pid=" + std::to_string(i), "%", ramp()});
  const Picture short_names = svg_of(plot_of(lines));
  CHECK(short_names.svg.find(">pid=29</text>") != std::string::npos);
  CHECK(short_names.svg.find("more lines") == std::string::npos);
  for (Line &line : lines) line.label += " and a name that needs much more room than the others do";
  CHECK(svg_of(plot_of(lines)).height > short_names.height);
  lines.resize(70, lines[0]);
  CHECK(svg_of(plot_of(lines)).svg.find("and 10 more lines") != std::string::npos);
  lines.push_back({"avg of all", "%", ramp(), Role::reference});
  CHECK(svg_of(plot_of(lines)).svg.find(">avg of all</text>") != std::string::npos);
}

TEST_CASE("units are rendered for people; an unknown unit is not shown") {
  query::Answer answer{"made.up", {}, {}, ramp(), {}};
  CHECK(unit_of(answer).empty());
  for (const auto &[unit, shown] : {std::pair("%", "%"),
                                    {"MiBy/s", "MiB/s"},
                                    {"Mibit/s", "Mibit/s"},
                                    {"By", "B"},
                                    {"1", ""},
                                    {"/s", "/s"},
                                    {"1/s", "/s"},
                                    {"Cel", "°C"},
                                    {"us", "µs"},
                                    {"{core}", "core"},
                                    {"%{core}", "%"},
                                    {"{a/b}/s", "a/b/s"},
                                    {"ms/s", "ms/s"},
                                    {"Symbols", "Symbols"}}) {
    CAPTURE(unit);
    answer.info = std::make_shared<const store::MetricInfo>(store::MetricInfo{store::Kind::gauge, 1, unit, ""});
    CHECK(unit_of(answer) == shown);
  }
}

TEST_CASE("a group is named by its keys, without the keys that all groups share") {
  command_line::Question question;
  question.query.group_by = {"host", "process"};
  Plot plot;
  add_lines(
      plot,
      {{"m", {{"host", "h"}, {"pid", "7"}, {"process", "java"}}, {}, ramp(), {}}, {"m", {{"host", "h"}}, {"process"}, ramp(), {}}},
      question);
  CHECK(plot.subtitle == "host=h");
  CHECK(plot.lines[0].label == "process=java");
  CHECK(plot.lines[1].label == "process=");
}

TEST_CASE("in a page of a report names are only texts") {
  using report_command::Page;
  const query::Usage usage{.tags = {{"process", "\"><img src=x>"}},
                           .metric = "proc.cpu.user",
                           .sum = 1.5,
                           .average = 2,
                           .min = 3,
                           .max = 4,
                           .unit = "%",
                           .sum_unit = "core-seconds"};
  Page page{
      "<b>title", "sqlite:<a>", {kTen, kTen + 60 * kSecond}, kTen, {}, {}, {{"process"}, {{{}, {kTen, kTen + 60}, {usage}, {}}}},
      {}};
  page.experiments.push_back({"<i>", "", "&", "<script>", {{"k", "'\""}}, kTen, -1});
  const std::string html = report_command::as_page(page);
  for (const char *part : {"<b>", "<a>", "<i>", "<script", "<img"}) CHECK(html.find(part) == std::string::npos);
  CHECK(html.find("<td>&quot;&gt;&lt;img src=x&gt;</td>") != std::string::npos);
  CHECK(html.find(">open</td>") != std::string::npos);
  CHECK(html.find("<th class=\"n\">sum, core-seconds</th>") != std::string::npos);
}

// Points at some of the seconds, and for each second the sum of all lines: an oracle without the code of the stack.
std::vector<Line> random_lines(std::mt19937_64 &random, std::map<int64_t, double> &sums) {
  std::vector<Line> lines;
  const size_t count = std::uniform_int_distribution<size_t>(1, 12)(random);
  for (size_t i = 0; i < count; ++i) {
    const bool mib = random() % 2 == 0;
    Line line{"line " + std::to_string(i), mib ? "MiB" : "B", {}};
    for (int second = 0; second <= 60; ++second) {
      if (random() % 3 == 0) continue;
      const double value = static_cast<double>(random() % 1000);
      line.points.push_back({kTen + second * kSecond, random() % 50 == 0 ? std::nan("") : value});
      if (!std::isnan(line.points.back().value)) sums[line.points.back().time_ns] += mib ? value * 1024 * 1024 : value;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

TEST_CASE("the areas of a stack never cross, and their top is the sum of all lines at each time") {
  std::mt19937_64 random(11);
  for (int round = 0; round < 50; ++round) {
    std::map<int64_t, double> sums;
    const std::vector<Line> lines = random_lines(random, sums);
    std::vector<size_t> members(lines.size());
    for (size_t i = 0; i < members.size(); ++i) members[i] = i;
    const Stack stack = stack_of(lines, members);
    REQUIRE(stack.times_ns.size() == sums.size());
    REQUIRE(stack.tops.size() == lines.size());
    double highest = 0;
    for (size_t at = 0; at < stack.times_ns.size(); ++at) {
      CHECK(stack.tops.back()[at] == doctest::Approx(sums.at(stack.times_ns[at])));
      highest = std::max(highest, sums.at(stack.times_ns[at]));
      for (size_t i = 0; i < lines.size(); ++i) CHECK(stack.tops[i][at] >= (i == 0 ? 0 : stack.tops[i - 1][at]));
    }
    CHECK(stack.highest() == doctest::Approx(highest));
  }
}

TEST_CASE("the areas of each panel begin with the same colour, as in its legend") {
  Plot plot = plot_of({{"a", "%", ramp()}, {"b", "%", ramp()}, {"c", "MiB", ramp()}});
  plot.stacked = true;
  const std::string svg = svg_of(plot).svg;
  CHECK(count(svg, "fill=\"#0072b2\"") == 4);  // a and c, each with its legend
  CHECK(count(svg, "fill=\"#d55e00\"") == 2);
}

TEST_CASE("lines without an area of their own are other, whose area is their sum") {
  query::Budget budget(query::Limits{});
  Plot plot = plot_of({{"a", "%", ramp()}});
  plot.stacked = true;
  budget.reserve(2 * ramp().size());
  add_others(plot, {{"m", {{"process", "b"}}, {}, ramp(), {}}, {"m", {{"process", "c"}}, {}, ramp(), {}}}, budget);
  REQUIRE(plot.lines.size() == 2);
  CHECK(plot.lines[1].label == "other (2)");
  for (size_t i = 0; i < ramp().size(); ++i) CHECK(plot.lines[1].points[i].value == 2 * ramp()[i].value);
}

TEST_CASE("an axis of bytes has the prefix of its largest value, and lines of all prefixes share it") {
  for (const auto &[largest, name, factor] : {std::tuple(0.5, "B", 1.0),
                                              {1023.0, "B", 1.0},
                                              {1024.0, "KiB", 1024.0},
                                              {3e6, "MiB", 1048576.0},
                                              {5e9, "GiB", 1073741824.0},
                                              {1e30, "PiB", std::pow(2, 50)}}) {
    CHECK(axis_unit("MiB", largest).name == name);
    CHECK(axis_unit("MiB", largest).factor == factor);
  }
  CHECK(axis_unit("MiB/s", 2048).name == "KiB/s");
  CHECK(axis_unit("Mibit/s", 5e9).name == "Gibit/s");
  CHECK(axis_unit("MiB", 0).name == "MiB");
  for (const char *unit : {"%", "", "Bq", "ms/s", "Mi", "/s", "% of one core"}) {
    CHECK(axis_unit(unit, 5e9).name == unit);
    CHECK(base_factor(unit) == 1);
  }
  std::vector<query::Point> bytes = ramp();
  for (query::Point &point : bytes) point.value *= 1024 * 1024;
  const std::string svg = svg_of(plot_of({{"a", "MiB", ramp()}, {"b", "B", bytes}})).svg;
  const auto path = [&](size_t from) {
    return svg.substr(svg.find("<path d=", from), svg.find(" fill=", svg.find("<path d=", from)) - svg.find("<path d=", from));
  };
  CHECK(path(0) == path(svg.find("</path>")));
  CHECK(count(svg, ">MiB</text>") == 1);
}

TEST_CASE("axes start at 0, but for counters") {
  std::vector<query::Point> high = ramp();
  for (query::Point &point : high) point.value += 1000;
  CHECK(count(svg_of(plot_of({{"a", "%", high}})).svg, ">0</text>") == 1);
  CHECK(count(svg_of(plot_of({{"a", "%", high, Role::member, false}})).svg, ">0</text>") == 0);
  high[3].value = -1000;
  CHECK(count(svg_of(plot_of({{"a", "%", high}})).svg, "class=\"zero\"") == 1);
}

TEST_CASE("each panel has the names of its own lines below it, once") {
  const std::string svg = svg_of(plot_of({{"first", "%", ramp()}, {"second", "ms", ramp()}, {"third", "s", ramp()}})).svg;
  for (const char *name : {"first [%]", "second [ms]", "third"}) CHECK(count(svg, ">" + std::string(name) + "</text>") == 1);
  CHECK(svg.find(">second [ms]</text>") < svg.find("third"));
}

TEST_CASE("a picture without points has its axes") {
  CHECK(svg_of(plot_of({})).svg.find("</svg>") != std::string::npos);
}

TEST_CASE("a report shows no number for a missing value") {
  query::Usage usage;
  usage.metric = "m";
  usage.sum_unit = "value-seconds";
  usage.sum = INFINITY;
  usage.average = -INFINITY;
  usage.max = usage.min = 1;
  const report_command::Usages usages{{}, {{{}, {}, {usage}, {}}}};
  CHECK(report_command::as_csv(usages) == "metric,sum,of,share %,avg,max,min,unit\r\nm,,value-seconds,,,1,1,\r\n");
  const std::string table = report_command::as_table(usages);
  CHECK(table.find("1.000") != std::string::npos);
  CHECK(table.find("inf") == std::string::npos);
}

}  // namespace
}  // namespace atalaya::plot
