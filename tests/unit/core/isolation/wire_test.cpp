// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "core/base/sample/batch.h"
#include "core/isolation/launcher/capabilities.h"
#include "core/isolation/wire.h"

using namespace atalaya::core;

TEST_CASE("an order arrives as it was given") {
  Parameter deep{.key = "rule", .type = ATALAYA_RECORD, .children = {{.key = "share", .type = ATALAYA_NUMBER, .f64 = 0.25}}};
  Parameter root{
      .type = ATALAYA_RECORD,
      .children = {{.key = "words", .type = ATALAYA_LIST, .children = {{.type = ATALAYA_STRING, .text = "a\nb"}}}, deep}};
  const Order order{"/usr/lib/x.so", ATALAYA_SINK, "x", "sink \"x\"", Parameters(root)};
  const std::string bytes = encode_order(order);
  const auto got = decode_order(bytes);
  REQUIRE(got.has_value());
  CHECK(got->path == order.path);
  CHECK(got->kind == order.kind);
  CHECK(got->name == order.name);
  CHECK(got->label == order.label);
  CHECK(got->parameters == order.parameters);
  for (size_t size = 0; size < bytes.size(); ++size) CHECK(!decode_order(std::string_view(bytes).substr(0, size)));
}

TEST_CASE("a ledger row arrives as it was given") {
  atalaya_ledger_row row{};
  row.type = ATALAYA_ROW_SINK;
  row.pipeline = {"p", 1};
  row.component = {"sink x", 6};
  row.in = 7;
  row.busy_ns = INT64_MAX;
  Writer to;
  write_row(row, to);
  Reader from(to.bytes());
  const atalaya_ledger_row got = read_row(from);
  CHECK(from.ok());
  CHECK(got.type == row.type);
  CHECK(view_of(got.component) == "sink x");
  CHECK(got.in == 7);
  CHECK(got.busy_ns == INT64_MAX);
}

TEST_CASE("capabilities that a component declares") {
  const atalaya_need needs[] = {{ATALAYA_NEED_CAPABILITY, 1, ATALAYA_STR("CAP_BPF"), ATALAYA_STR("")},
                                {ATALAYA_NEED_FILE, 0, ATALAYA_STR("CAP_SYS_ADMIN"), ATALAYA_STR("")},
                                {ATALAYA_NEED_CAPABILITY, 1, ATALAYA_STR("CAP_PERFMON"), ATALAYA_STR("")}};
  atalaya_component component{};
  component.needs = needs;
  component.need_count = 3;
  component.need_size = sizeof(atalaya_need);
  CHECK(capability_names(declared_capabilities(component)) == "CAP_PERFMON, CAP_BPF");
  CHECK(capability_names(0) == "none");
}
