// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <cmath>
#include <cstdlib>
#include <ctime>

#include "plugins/commands/plot/svg.h"
#include "plugins/commands/plot/ticks.h"

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
  const std::string svg = svg_of(plot_of({{"proc.cpu.user{host=<h>}", "%", ramp(), false}, {"other", "%", ramp(), true}}));
  CHECK(svg.find("a &lt;title&gt; &amp; more") != std::string::npos);
  CHECK(svg.find("proc.cpu.user{host=&lt;h&gt;} [%]") != std::string::npos);
  CHECK(count(svg, "<path ") == 2);
  CHECK(count(svg, "stroke-dasharray=\"8 4\"") == 2);  // the reference, and its legend
  CHECK(svg.find("nan") == std::string::npos);
}

TEST_CASE("two units share a panel, a third one gets another") {
  const auto height = [](const std::string &svg) { return std::atoi(svg.c_str() + svg.find("height=\"") + 8); };
  const int one = height(svg_of(plot_of({{"a", "%", ramp(), false}})));
  CHECK(height(svg_of(plot_of({{"a", "%", ramp(), false}, {"b", "MiB", ramp(), false}}))) == one);
  CHECK(height(svg_of(plot_of({{"a", "%", ramp(), false}, {"b", "MiB", ramp(), false}, {"c", "s", ramp(), false}}))) > one + 300);
}

TEST_CASE("a line breaks where nothing is known") {
  auto points = ramp();
  points.erase(points.begin() + 4, points.begin() + 8);
  const std::string gap = svg_of(plot_of({{"a", "%", points, false}}));
  CHECK(count(gap.substr(gap.find("<path d="), 300), "M") == 2);
  points = ramp();
  points[5].value = std::nan("");
  const std::string unknown = svg_of(plot_of({{"a", "%", points, false}}));
  CHECK(count(unknown.substr(unknown.find("<path d="), 300), "M") == 2);
}

TEST_CASE("experiments are bands with their names") {
  Plot plot = plot_of({{"a", "%", ramp(), false}});
  plot.bands = {{kTen - 100 * kSecond, kTen + 30 * kSecond, "run 1"}, {kTen + 40 * kSecond, kTen + 900 * kSecond, "run 2"}};
  const std::string svg = svg_of(plot);
  CHECK(count(svg, "fill-opacity") == 2);
  CHECK(count(svg, "run 1") == 2);  // the text, and what hovering shows
}

TEST_CASE("a picture without points has its axes") {
  CHECK(svg_of(plot_of({})).find("</svg>") != std::string::npos);
}

}  // namespace
}  // namespace atalaya::plot
