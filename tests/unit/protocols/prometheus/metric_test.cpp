// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/prometheus/metric.h"

#include <doctest/doctest.h>

#include "plugins/shared/protocols/prometheus/legal_text.h"
#include "tests/unit/declarations.h"

namespace atalaya::prometheus {

TEST_CASE("prometheus: names and labels have the characters of the data model") {
  CHECK(legal_metric("proc.cpu.user") == "proc_cpu_user");
  CHECK(legal_metric("9a:b-é") == "_9a_b___");
  CHECK(legal_label("__name__") == "_name__");
  CHECK(legal_label("a.b") == "a_b");
}

TEST_CASE("prometheus: texts are escaped by their place") {
  std::string value, help, plain;
  append_escaped(value, "a\\b\n\"c\"\xff");
  append_help(help, "a\\b\n\"c\"");
  append_utf8(plain, "a\\\n\"\xff");
  CHECK(value == "a\\\\b\\n\\\"c\\\"\xef\xbf\xbd");
  CHECK(help == "a\\\\b\\n\"c\"");
  CHECK(plain == "a\\\n\"\xef\xbf\xbd");
}

TEST_CASE("prometheus: a total is a counter, a delta a gauge, an undeclared metric unknown") {
  const auto of = [](uint32_t kind, std::string_view unit, std::string_view name) {
    return describe(name, MetricInfo{kind, -1, unit, "Sum.", {}});
  };
  const Metric total = of(ATALAYA_TOTAL, "By", "net.bytes.total");
  CHECK(total.type == Type::counter);
  CHECK(total.family == "net_bytes");
  CHECK(total.unit == "bytes");
  CHECK(of(ATALAYA_DELTA, "1", "a").type == Type::gauge);
  CHECK(describe("a", std::nullopt).type == Type::unknown);
}

TEST_CASE("prometheus: an exposed name belongs to the first metric, which is named once") {
  ExposedNames names;
  const Metric dotted = describe("a.b", std::nullopt), underscored = describe("a_b", std::nullopt);
  CHECK(names.claim(dotted));
  CHECK_FALSE(names.claim(underscored));
  CHECK_FALSE(names.claim(underscored));
  CHECK(names.claim(dotted));
  CHECK(bool(names.collisions() == ExposedNames::Collisions{{"a_b", "a.b"}}));
  CHECK(names.collisions().empty());
}

TEST_CASE("prometheus: a counter has its name with and without _total") {
  ExposedNames names;
  CHECK(names.claim(describe("a", MetricInfo{ATALAYA_TOTAL, -1, "1", {}, {}})));
  CHECK_FALSE(names.claim(describe("a.total", std::nullopt)));
}

}  // namespace atalaya::prometheus
