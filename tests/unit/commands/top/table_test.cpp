// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/top/table.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <stdexcept>

#include "core/base/text/safe_text.h"

namespace atalaya::top {
namespace {

Row row(std::string pid, std::string process, std::optional<double> cpu = std::nullopt, std::string host = "h1") {
  Row made{std::move(host), std::move(pid), std::move(process), "", {}};
  made[Column::cpu] = cpu;
  return made;
}

std::vector<std::string> pids(const std::vector<Row> &rows) {
  std::vector<std::string> found;
  for (const Row &one : rows) found.push_back(one.pid);
  return found;
}

using Pids = std::vector<std::string>;

TEST_CASE("largest first, unknown values last, equal ones by name") {
  const Window window{0, 1, {row("1", "b", 5), row("2", "a"), row("3", "c", 50), row("4", "a", 5)}};
  CHECK(pids(shown_rows(window, {})) == Pids{"3", "4", "1", "2"});
  View by_name;
  by_name.by_name = true;
  CHECK(pids(shown_rows(window, by_name)) == Pids{"2", "4", "1", "3"});
}

TEST_CASE("a word is a part of the name, a pattern is the whole") {
  const Window window{0, 1, {row("1", "java"), row("2", "javac"), row("3", "sh")}};
  const auto found = [&](std::string filter) {
    View view;
    view.filter = std::move(filter);
    return pids(shown_rows(window, view));
  };
  CHECK(found("java") == Pids{"1", "2"});
  CHECK(found("java*") == Pids{"1", "2"});
  CHECK(found("jav?") == Pids{"1"});
  CHECK(found("!java*") == Pids{"3"});
  CHECK(found("~^s") == Pids{"3"});
  CHECK_THROWS_AS(found("~("), std::invalid_argument);
}

TEST_CASE("parts of a value are added up, and samples of one process are one row") {
  RowBuilder builder;
  Row identity{"h1", "7", "java", "", {}};
  builder.add("proc.cpu.user", 60, identity);
  builder.add("proc.cpu.kernel", 20, identity);
  builder.add("proc.net.tcp.in.mb", 8, identity);
  builder.add("proc.start.time", 1, identity);
  identity.container = "web";
  builder.add("proc.mem.resident", 2, identity);
  builder.add("proc.threads", 3, {"h2", "7", "java", "", {}});
  const std::vector<Row> rows = builder.take();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0][Column::cpu] == 80);
  CHECK(rows[0][Column::in] == 1048576);  // 8 Mibit/s are 1 MiB/s
  CHECK(rows[0][Column::memory] == 2097152);
  CHECK(rows[0].container == "web");
  CHECK(!rows[0][Column::out]);
  CHECK(rows[1][Column::threads] == 3);
  CHECK(builder.take().empty());
}

TEST_CASE("amounts have at most five columns") {
  CHECK(amount_text(0) == "0");
  CHECK(amount_text(999) == "999");
  CHECK(amount_text(1000) == "1.0K");
  CHECK(amount_text(1536) == "1.5K");
  CHECK(amount_text(102400) == "100K");
  CHECK(amount_text(5.25 * 1048576) == "5.2M");
  for (double bytes = 1; bytes < 1e17; bytes *= 1.07) CHECK(amount_text(bytes).size() <= 5);
}

TEST_CASE("no line is wider than the terminal, whatever the names and the values") {
  std::mt19937_64 random(11);
  const auto number = [&](size_t below) { return random() % below; };
  for (int round = 0; round < 300; ++round) {
    Window window{static_cast<int64_t>(number(1'800'000'000)) * 1'000'000'000, 5'000'000'000, {}};
    for (size_t i = 0; i < 20; ++i) {
      Row made =
          row(std::to_string(number(5'000'000)), "", static_cast<double>(number(100'000)) / 7, "host" + std::to_string(number(3)));
      for (size_t j = 0; j < number(60); ++j) made.process += static_cast<char>(number(256));
      if (number(2) == 0) made.container = "a container with a very long name \x1b[31m";
      for (auto &value : made.values)
        if (number(3) == 0) value = std::pow(2.0, static_cast<double>(number(60)));
      window.rows.push_back(made);
    }
    View view;
    view.width = 1 + number(200);
    view.height = 1 + number(30);
    const Lines lines = lines_of(window, view);
    CHECK(lines.rows.size() == std::min<size_t>(view.height, 20));
    for (const std::string &line : lines.rows) {
      CHECK(core::display_width(line) <= view.width);
      CHECK(line.find('\x1b') == std::string::npos);
    }
    CHECK(core::display_width(lines.heading) <= view.width);
    CHECK(core::display_width(lines.title) <= view.width);
  }
}

TEST_CASE("columns stand below their headings") {
  Window window{0, 1, {row("7", "java", 12.34)}};
  window.rows[0][Column::threads] = 31;
  View view;
  view.width = 80;
  const Lines lines = lines_of(window, view);
  CHECK(lines.heading.size() == lines.rows[0].size());
  CHECK(lines.rows[0].substr(lines.heading.find("CPU%"), 4) == "12.3");
  CHECK(lines.rows[0].ends_with(" 31"));
  CHECK(lines.heading.find("HOST") == std::string::npos);
  window.rows.push_back(row("8", "java", 1, "h2"));
  view.width = 100;
  CHECK(lines_of(window, view).heading.starts_with("HOST"));
}

}  // namespace
}  // namespace atalaya::top
