// SPDX-License-Identifier: Apache-2.0
// The pages that `atalaya plugins NAME` prints, in each format.
#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <iterator>

#include "core/cli/help/plugin_pages.h"

using namespace atalaya::core;
using namespace atalaya::core::cli;
using namespace atalaya::literals;

namespace {

constexpr atalaya::Param kRule[] = {
    {.name = "match"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "Purpose of the rule"_str}};
constexpr atalaya::Param kRecord[] = {{.name = "rule"_str,
                                       .type = ATALAYA_RECORD,
                                       .summary = "A rule."_str,
                                       .items = kRule,
                                       .item_count = 1,
                                       .item_size = sizeof(kRule[0])}};
constexpr atalaya::Param kParams[] = {
    {.name = "mode"_str, .type = ATALAYA_ENUM, .default_text = "a"_str, .allowed = "a|b"_str, .summary = "One | other."_str},
    {.name = "wait"_str,
     .type = ATALAYA_DURATION,
     .flags = ATALAYA_BOUNDED,
     .default_text = "5s"_str,
     .summary = "A wait."_str,
     .min = 1e9,
     .max = 6e10},
    {.name = "rules"_str,
     .type = ATALAYA_LIST,
     .summary = "Rules."_str,
     .items = kRecord,
     .item_count = 1,
     .item_size = sizeof(kRecord[0])}};
constexpr atalaya::MetricTag kTags[] = {{"pid"_str, ATALAYA_TAG_IDENTITY, 0}, {"user"_str, ATALAYA_TAG_EXTRA, 0}};
constexpr atalaya::Metric kMetrics[] = {{.name = "demo.cpu"_str,
                                         .unit = "%"_str,
                                         .kind = ATALAYA_RATE,
                                         .decimals = 2,
                                         .tags = kTags,
                                         .tag_count = 2,
                                         .tag_size = sizeof(kTags[0]),
                                         .source = "/proc/stat"_str,
                                         .summary = "Time."_str}};
constexpr atalaya::Need kNeeds[] = {{ATALAYA_NEED_FILE, 1, "/proc/pressure"_str, "no PSI"_str, "pressure"_str}};

class Demo : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {
      .name = "demo"_str, .summary = "A demo."_str, .params = kParams, .metrics = kMetrics, .needs = kNeeds};
  explicit Demo(atalaya::Host) {}
  atalaya::Code collect(const atalaya::Window &, atalaya::Batch &) override { return atalaya::Code::ok; }
};

Page demo_page(const Schema &common = Schema(nullptr, 0, 0)) {
  static constexpr atalaya_plugin plugin = atalaya::detail::make_plugin<Demo>("demo"_str, "1.0.0"_str);
  const auto opened = Plugin::from_descriptor(&plugin, "/x/demo.so");
  REQUIRE(opened.ok());
  return page_of(*opened.value(), *opened.value()->components()[0], common);
}

}  // namespace

TEST_CASE("a page for the terminal") {
  CHECK(render(std::vector{demo_page()}, PageFormat::text) ==
        "source demo: A demo.\n"
        "demo 1.0.0, /x/demo.so\n"
        "\n"
        "Parameters\n"
        "  name           type            default   values    summary\n"
        "  mode           enum            a         a, b      One | other.\n"
        "  wait           duration        5s        1s to 1m  A wait.\n"
        "  rules          list of record                      Rules.\n"
        "  rules[].match  string          required            Purpose of the rule\n"
        "\n"
        "Needs\n"
        "  type  name            optional  feature   if missing\n"
        "  file  /proc/pressure  yes       pressure  no PSI\n"
        "\n"
        "Metrics\n"
        "  name      unit  kind  decimals  tags         source      summary\n"
        "  demo.cpu  %     rate  2         pid, (user)  /proc/stat  Time.\n");
}

TEST_CASE("a line of a table ends with its last text") {
  CHECK(render(Table{"", {"state", "action"}, {{"off", "load it"}, {"on", ""}}}, PageFormat::text) ==
        "state  action\noff    load it\non\n");
}

TEST_CASE("a long cell continues below, broken behind a comma or at a space; the last one does not, nor a long word") {
  const std::string words = "it is read again and again, each one of the time",
                    names = "one.of.the.many,another.of.the.many,yet.another.one";
  const std::string word(45, 'x'), forty = std::string(40, 'y') + " z";
  const auto row = [](std::string first, const std::string &second) {
    first.resize(47, ' ');
    return first + second + "\n";
  };
  CHECK(render(Table{"", {"a", "b"}, {{words, words}, {names, "1"}, {word, "2"}, {forty, "3"}}}, PageFormat::text) ==
        row("a", "b") + row("it is read again and again, each one of", words) + "the time\n" +
            row("one.of.the.many,another.of.the.many,", "1") + "yet.another.one\n" + row(word, "2") +
            row(std::string(40, 'y'), "3") + "z\n");
}

TEST_CASE("bounds are written as in a pipeline file, without an exponent") {
  constexpr auto bounded = [](uint32_t type, double min, double max) {
    return atalaya::Param{.name = "x"_str, .type = type, .flags = ATALAYA_BOUNDED, .min = min, .max = max};
  };
  static constexpr atalaya::Param kBounded[] = {
      bounded(ATALAYA_INT, 1, 100000),           bounded(ATALAYA_INT, -1e6, 1e9),      bounded(ATALAYA_NUMBER, 0.001, 0.5),
      bounded(ATALAYA_SIZE, 65536, 68719476736), bounded(ATALAYA_DURATION, 0, 5.4e12), bounded(ATALAYA_SIZE, 1, 0),
      bounded(ATALAYA_DURATION, 0, 9.2e18),
  };
  const Page page = demo_page(Schema(kBounded, std::size(kBounded), sizeof(kBounded[0])));
  std::vector<std::string> values;
  for (auto row = page.tables.at(0).rows.begin() + 4; row != page.tables.at(0).rows.end(); ++row) values.push_back(row->at(3));
  CHECK(values == std::vector<std::string>{"1 to 100000", "-1000000 to 1000000000", "0.001 to 0.5", "64 KiB to 64 GiB",
                                           "0s to 1h30m", "at least 1 B", "at least 0s"});
}

TEST_CASE("parameters that the host adds come after the component's own") {
  const Page page = demo_page(Schema(kRule, 1, sizeof(kRule[0])));
  const auto &rows = page.tables.at(0).rows;
  REQUIRE(rows.size() == 5);
  CHECK(rows[4][0] == "match");
}

TEST_CASE("a page for the README") {
  CHECK(render(std::vector{demo_page()}, PageFormat::markdown) ==
        "A demo.\n"
        "\n"
        "### Parameters\n"
        "\n"
        "| name | type | default | values | summary |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| mode | enum | a | a, b | One \\| other. |\n"
        "| wait | duration | 5s | 1s to 1m | A wait. |\n"
        "| rules | list of record |  |  | Rules. |\n"
        "| rules[].match | string | required |  | Purpose of the rule |\n"
        "\n"
        "### Needs\n"
        "\n"
        "| type | name | optional | feature | if missing |\n"
        "| --- | --- | --- | --- | --- |\n"
        "| file | /proc/pressure | yes | pressure | no PSI |\n"
        "\n"
        "### Metrics\n"
        "\n"
        "| name | unit | kind | decimals | tags | source | summary |\n"
        "| --- | --- | --- | --- | --- | --- | --- |\n"
        "| demo.cpu | % | rate | 2 | pid, (user) | /proc/stat | Time. |\n");
}

TEST_CASE("pages for programs") {
  const std::string json = render(std::vector{demo_page()}, PageFormat::json);
  CHECK(json.rfind("[{\"kind\":\"source\",\"name\":\"demo\",\"plugin\":\"demo\",\"version\":\"1.0.0\",\"file\":\"/x/demo.so\","
                   "\"summary\":\"A demo.\",\"parameters\":[{\"name\":\"mode\",\"type\":\"enum\",",
                   0) == 0);
  CHECK(json.find("\"metrics\":[{\"name\":\"demo.cpu\",\"unit\":\"%\",\"kind\":\"rate\",\"decimals\":\"2\",") != std::string::npos);
  CHECK(render(std::vector<Page>{}, PageFormat::json) == "[]\n");
}

TEST_CASE("the overview names the file that each component comes from") {
  CHECK(render(overview({demo_page()}), PageFormat::text) ==
        "kind    name  plugin  version  file        summary\n"
        "source  demo  demo    1.0.0    /x/demo.so  A demo.\n");
}
