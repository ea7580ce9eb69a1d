// SPDX-License-Identifier: Apache-2.0
// The text formats, read by a small reader of the specification that shares no code with the writer.
#include "plugins/shared/protocols/prometheus/exposition.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <map>

#include "tests/unit/protocols/random.h"
#include "tests/unit/protocols/records.h"
#include "tests/unit/rounds.h"

namespace atalaya::prometheus {
namespace {

using protocols::testing::fixture;
using protocols::testing::Lines;
using protocols::testing::Random;
using protocols::testing::real_text;

// Without the escapes of a label or a help text.
std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) {
      ++i;
      out += text[i] == 'n' ? '\n' : text[i];
    } else {
      out += text[i];
    }
  }
  return out;
}

std::string value_text(const std::string &text) {
  const double value = std::stod(text);
  return std::isnan(value) ? "NaN" : std::isinf(value) ? (value > 0 ? "+Inf" : "-Inf") : real_text(value);
}

// "NAME{LABEL=VALUE,...} VALUE" or with " @TIME" for each series, "HELP|TYPE|UNIT FAMILY TEXT" for each line of a head.
Lines parse(const std::string &text) {
  Lines lines;
  for (size_t at = 0; at < text.size();) {
    if (text.compare(at, 2, "# ") == 0) {
      const size_t end = text.find('\n', at);
      lines.push_back(unescaped(text.substr(at + 2, end - at - 2)));
      at = end + 1;
      continue;
    }
    std::string line;
    size_t end = text.find_first_of("{ ", at);
    line = text.substr(at, end - at) + "{";
    if (text[end] == '{') {
      for (at = end + 1; text[at] != '}';) {
        const size_t equals = text.find("=\"", at);
        size_t close = equals + 2;
        while (text[close] != '"') close += text[close] == '\\' ? 2 : 1;
        line += (at == end + 1 ? "" : ",") + text.substr(at, equals - at) + "=" +
                unescaped(std::string_view(text).substr(equals + 2, close - equals - 2));
        at = close + 1;
        if (text[at] == ',') ++at;
      }
      end = at + 1;
    }
    REQUIRE(text[end] == ' ');
    const size_t stop = text.find('\n', end);
    std::string value = text.substr(end + 1, stop - end - 1), time;
    if (const size_t space = value.find(' '); space != std::string::npos) {
      time = " @" + value.substr(space + 1);
      value.resize(space);
    }
    lines.push_back(line + "} " + value_text(value) + time);
    at = stop + 1;
  }
  return lines;
}

atalaya_field real(double value) {
  atalaya_field field{0, ATALAYA_F64, {}};
  field.value.f64 = value;
  return field;
}
std::string labels_of(const std::vector<std::pair<std::string, std::string>> &pairs) {
  std::string labels;
  for (const auto &[name, value] : pairs) append_label(labels, name, value);
  return labels;
}

Metric metric(std::string family, Type type, std::string help, std::string unit = "") {
  return {.original = family, .family = std::move(family), .type = type, .help = std::move(help), .unit = std::move(unit)};
}

// The metrics of the recorded documents.
std::string recorded(Form form) {
  std::string out;
  const Metric threads = metric("proc_threads", Type::gauge, "Threads; a \\ and a \"quote\",\nof a process");
  append_head(threads, form, out);
  append_series(threads, labels_of({{"host", "vm"}, {"name", "a\\b\n\"c\""}}), real(3), std::nullopt, form, out);
  append_series(threads, labels_of({{"host", "vm"}, {"name", "é"}}), real(-0.5), std::nullopt, form, out);
  const Metric bytes = metric("net_bytes", Type::counter, "Received data");
  append_head(bytes, form, out);
  append_series(bytes, labels_of({{"device", "lo"}}), real(1e21), std::nullopt, form, out);
  const Metric edge = metric("edge", Type::gauge, "Edges");
  append_head(edge, form, out);
  append_series(edge, labels_of({{"k", "inf"}}), real(HUGE_VAL), std::nullopt, form, out);
  append_series(edge, labels_of({{"k", "nan"}}), real(std::numeric_limits<double>::quiet_NaN()), std::nullopt, form, out);
  append_series(edge, labels_of({{"k", "low"}}), real(-HUGE_VAL), std::nullopt, form, out);
  append_end(form, out);
  return out;
}

}  // namespace

TEST_CASE("exposition: what the writer of the Python client writes") {
  CHECK(parse(recorded(Form::text)) == parse(fixture("prometheus/client.txt")));
  CHECK(parse(recorded(Form::openmetrics)) == parse(fixture("prometheus/client.openmetrics")));
}

TEST_CASE("exposition: the text form") {
  const Metric bytes = metric("a_bytes", Type::counter, "Say \"a\\b\"\n", "bytes");
  atalaya_field count{0, ATALAYA_I64, {}};
  count.value.i64 = INT64_MIN;
  std::string out;
  append_head(bytes, Form::text, out);
  append_series(bytes, "", count, 1'795'219'532'123'999'999, Form::text, out);
  append_end(Form::text, out);
  CHECK(out ==
        "# HELP a_bytes_total Say \"a\\\\b\"\\n\n"
        "# TYPE a_bytes_total counter\n"
        "a_bytes_total -9223372036854775808 1795219532123\n");
}

TEST_CASE("exposition: OpenMetrics has units, seconds and an end") {
  const Metric bytes = metric("a_bytes", Type::counter, "Say \"a\"", "bytes");
  std::string out;
  append_head(bytes, Form::openmetrics, out);
  append_series(bytes, labels_of({{"k", "v"}}), real(2), 1'795'219'532'003'999'999, Form::openmetrics, out);
  append_head(metric("b", Type::unknown, "B"), Form::openmetrics, out);
  append_end(Form::openmetrics, out);
  CHECK(out ==
        "# HELP a_bytes Say \\\"a\\\"\n"
        "# TYPE a_bytes counter\n"
        "# UNIT a_bytes bytes\n"
        "a_bytes_total{k=\"v\"} 2 1795219532.003\n"
        "# HELP b B\n"
        "# TYPE b unknown\n"
        "# EOF\n");
}

TEST_CASE("exposition: random metrics are read as they were written") {
  constexpr std::string_view kCharacters = "ab\\\"\n{}=, #";
  for (uint32_t seed = 0; seed < test::rounds(2000); ++seed) {
    Random random(seed);
    const Form form = random.one_of(2) ? Form::text : Form::openmetrics;
    std::string out;
    Lines expected;
    for (uint64_t i = random.between(1, 3); i > 0; --i) {
      const Metric family =
          metric(random.text("abc_", 6), random.one_of(2) ? Type::gauge : Type::counter, random.text(kCharacters, 8));
      const std::string suffix = family.type == Type::counter ? "_total" : "";
      const std::string named = family.family + (form == Form::text ? suffix : "");
      append_head(family, form, out);
      expected.push_back("HELP " + named + " " + family.help);
      expected.push_back("TYPE " + named + " " + (suffix.empty() ? "gauge" : "counter"));
      for (uint64_t k = random.below(4); k > 0; --k) {
        std::vector<std::pair<std::string, std::string>> pairs;
        std::string shown;
        for (uint64_t p = random.below(3); p > 0; --p) {
          pairs.emplace_back("k" + std::to_string(p), random.text(kCharacters, 6));
          shown += (shown.empty() ? "" : ",") + pairs.back().first + "=" + pairs.back().second;
        }
        const double value = std::ldexp(static_cast<double>(random.below(1U << 30)), static_cast<int>(random.below(60)) - 40);
        const uint64_t ms = random.between(1000, 1'000'000'000);
        const bool timed = random.one_of(2);
        append_series(family, labels_of(pairs), real(value),
                      timed ? std::optional(static_cast<int64_t>(ms * 1'000'000)) : std::nullopt, form, out);
        std::string time = std::to_string(ms);
        if (form == Form::openmetrics) time.insert(time.size() - 3, ".");
        expected.push_back(family.family + suffix + "{" + shown + "} " + real_text(value) + (timed ? " @" + time : ""));
      }
    }
    append_end(form, out);
    if (form == Form::openmetrics) expected.push_back("EOF");
    CAPTURE(out);
    REQUIRE(parse(out) == expected);
  }
}

}  // namespace atalaya::prometheus
