// SPDX-License-Identifier: Apache-2.0
// Names of kinds, the order of folders, and the checks on descriptors in memory.
#include <doctest/doctest.h>
#include <atalaya/plugin.hpp>

#include <cstdlib>

#include "core/plugin/registry.h"

using namespace atalaya::core;
using namespace atalaya::literals;

namespace {

class Demo : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {.name = "demo"_str, .summary = "A demo."_str};
  explicit Demo(atalaya::Host) {}
  atalaya::Code collect(const atalaya::Window &, atalaya::Batch &) override { return atalaya::Code::ok; }
};

constexpr atalaya_plugin kDemo = atalaya::detail::make_plugin<Demo>("demo"_str, "1.0.0"_str);

std::string refusal(const atalaya_plugin &plugin) {
  const auto opened = Plugin::from_descriptor(&plugin, "memory");
  return opened ? "accepted" : opened.error();
}

}  // namespace

TEST_CASE("kinds have names and names have kinds") {
  for (uint32_t kind = ATALAYA_SOURCE; kind <= ATALAYA_COMMAND; ++kind) CHECK(kind_from_name(kind_name(kind)) == kind);
  CHECK(kind_name(0).empty());
  CHECK(kind_name(6).empty());
  CHECK(kind_from_name("") == 0);
  CHECK(kind_from_name("exporter") == 0);
}

TEST_CASE("the option and the environment come before the usual folders") {
  ::setenv("ATALAYA_PLUGINS", "/c:/a::/d", 1);
  const auto folders = Registry::default_folders("/a:/b");
  ::unsetenv("ATALAYA_PLUGINS");
  REQUIRE(folders.size() >= 5);
  CHECK(std::vector(folders.begin(), folders.begin() + 4) == std::vector<std::string>{"/a", "/b", "/c", "/d"});
  CHECK(folders.back() == "/usr/lib/atalaya");
}

TEST_CASE("the first plugin that offers a component has it") {
  atalaya_plugin second = kDemo;
  second.version = "2.0.0"_str;
  Registry registry;
  registry.add(Plugin::from_descriptor(&kDemo, "first").value());
  registry.add(Plugin::from_descriptor(&second, "second").value());
  CHECK(registry.names(ATALAYA_SOURCE) == std::vector<std::string>{"demo"});
  auto opened = registry.open(ATALAYA_SOURCE, "demo");
  REQUIRE(opened.ok());
  CHECK(opened->plugin->version() == "1.0.0");
  CHECK(registry.entries().size() == 2);
}

TEST_CASE("two plugins that declare one metric differently are a problem that names both") {
  atalaya_metric first{.name = "a.b"_str, .unit = "By"_str, .kind = ATALAYA_GAUGE, .decimals = 0, .summary = "A."_str};
  atalaya_metric second = first;
  const auto describe = [](atalaya_component &component, const atalaya_metric &metric) {
    component = *kDemo.components[0];
    component.metrics = &metric;
    component.metric_count = 1;
    component.metric_size = sizeof(metric);
  };
  atalaya_component components[2];
  describe(components[0], first);
  describe(components[1], second);
  const atalaya_component *offered[] = {&components[0], &components[1]};
  atalaya_plugin plugins[] = {kDemo, kDemo};
  for (int i = 0; i < 2; ++i) plugins[i].components = &offered[i];
  plugins[1].name = "other"_str;
  const auto problems = [&] {
    Registry registry;
    registry.add(Plugin::from_descriptor(&plugins[0], "/first.so").value());
    registry.add(Plugin::from_descriptor(&plugins[1], "/second.so").value());
    Symbols symbols;
    auto found = registry.declare_metrics(symbols);
    CHECK(registry.declare_metrics(symbols) == found);  // a reload
    return found;
  };
  second.summary = "Another summary."_str;
  CHECK(problems().empty());
  second.kind = ATALAYA_DELTA;
  second.decimals = -1;
  CHECK(problems() ==
        std::vector<std::string>{
            "metric \"a.b\" is declared differently: plugin \"demo\" (/first.so) as a gauge in \"By\" with 0 decimals, "
            "plugin \"other\" (/second.so) as a delta in \"By\" without decimals, a count; use one of the two plugins, "
            "and report it to the author of the other"});
  second = first;
  second.unit = "B"_str;
  REQUIRE(problems().size() == 1);
  CHECK(problems()[0].find("plugin \"other\" (/second.so): metric \"a.b\" has a unit that is not UCUM") == 0);
}

TEST_CASE("an unknown name is an error") {
  Registry registry;
  CHECK_FALSE(registry.known(ATALAYA_SINK, "demo"));
  CHECK(registry.open(ATALAYA_SINK, "demo").error() == "sink \"demo\" is not known");
}

TEST_CASE("descriptors in memory are checked like files") {
  CHECK(refusal(kDemo) == "accepted");
  atalaya_plugin plugin = kDemo;
  plugin.name = "Bad Name"_str;
  CHECK(refusal(plugin) ==
        "memory: the plugin's name is \"Bad Name\", its version \"1.0.0\"; wanted lower-case letters, digits, \"_\" and \"-\", a "
        "letter "
        "first, and a version without spaces");
  plugin = kDemo;
  plugin.component_count = 0;
  CHECK(refusal(plugin) == "memory: offers 0 components, wanted 1 to 256; list them");
  const atalaya_component *twice[] = {kDemo.components[0], kDemo.components[0]};
  plugin.components = twice;
  plugin.component_count = 2;
  CHECK(refusal(plugin) == "memory: offers source \"demo\" twice; rename one");
}

TEST_CASE("tables whose elements are too small or absent") {
  atalaya_component component = *kDemo.components[0];
  const atalaya_component *components[] = {&component};
  atalaya_plugin plugin = kDemo;
  plugin.components = components;
  component.param_count = 2;
  CHECK(refusal(plugin) == "memory: source \"demo\" counts 2 params but has none; set both");
  const atalaya_param params[2] = {};
  component.params = params;
  component.param_size = 24;
  CHECK(refusal(plugin) == "memory: an element of the params of source \"demo\" has 24 bytes, wanted at least " +
                               std::to_string(sizeof(atalaya_param)) + "; rebuild it with this atalaya's atalaya/plugin.h");
}
