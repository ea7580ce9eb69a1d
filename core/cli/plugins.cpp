// SPDX-License-Identifier: Apache-2.0
// atalaya plugins: the installed components; the parameters, needs and metrics of one; the lifecycle kit on a file.
#include <array>
#include <cstdio>

#include "core/base/log.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "core/cli/cli.h"
#include "core/cli/help/plugin_pages.h"
#include "core/config/check/common_params.h"
#include "core/config/stubs.h"
#include "core/plugin/verify/verify.h"

namespace atalaya::core::cli {
namespace {

// "top" is each component with that name, and those of the plugin with that name; "filter/top" is one component.
bool is_wanted(const std::string &wanted, uint32_t kind, const std::string &name, std::string_view plugin) {
  if (wanted.empty() || name == wanted || plugin == wanted) return true;
  return wanted == std::string(kind_name(kind)) + "/" + name;
}

// The pages of all components, or of the requested ones.
std::vector<Page> pages_of(Registry &registry, const std::string &wanted) {
  std::vector<Page> pages;
  for (const uint32_t kind : kComponentKinds) {
    for (const std::string &name : registry.names(kind)) {
      auto opened = registry.open(kind, name);
      if (!opened) {
        log(LogLevel::warning, opened.error());
        continue;
      }
      if (!is_wanted(wanted, kind, name, opened->plugin->name())) continue;
      std::vector<atalaya_param> common;
      if (kind != ATALAYA_COMMAND) common = common_params(*opened->component);
      const Schema schema(common.data(), static_cast<uint32_t>(common.size()), sizeof(atalaya_param));
      pages.push_back(page_of(*opened->plugin, *opened->component, schema));
    }
  }
  return pages;
}

int unknown(const Registry &registry, const std::string &wanted) {
  std::vector<std::string> names;
  for (const uint32_t kind : kComponentKinds)
    for (const std::string &name : registry.names(kind)) names.push_back(name);
  const std::string nearest = did_you_mean(wanted, names);
  log(LogLevel::error,
      in_quotes(wanted) + " is not known" + (nearest.empty() ? "; `atalaya plugins` lists all components" : nearest));
  return kWrongUse;
}

int verify(const std::string &path) {
  static constexpr std::chrono::seconds kPatience{30};
  auto note = read_plugin_note(path);
  bool failed = false;
  const auto report = [&failed](const Finding &finding) {
    if (finding.component.empty() && finding.problem.empty()) return;  // it was opened
    if (finding.component.empty())
      log(LogLevel::error, finding.problem);
    else
      std::printf("%s\n", line_of(finding).c_str());
    failed = failed || !finding.problem.empty();
  };
  verify_in_processes([&path] { return Plugin::open(path); }, note ? note->components : std::vector<ComponentName>(), kPatience,
                      report);
  return failed ? kFailed : kDone;
}

int show(Registry &registry, const std::string &wanted, PageFormat format) {
  const std::vector<Page> pages = pages_of(registry, wanted);
  if (!wanted.empty() && pages.empty()) return unknown(registry, wanted);
  std::fputs((wanted.empty() ? render(overview(pages), format) : render(pages, format)).c_str(), stdout);
  return kDone;
}

int show_plugins(const Arguments &arguments) {
  if (const auto file = arguments.get("--verify")) return verify(*file);
  const auto format = page_format(arguments.get("--format").value_or("text"));
  if (!format) {
    log(LogLevel::error, "--format: " + in_quotes(*arguments.get("--format")) + " is not one of text, markdown, json");
    return kWrongUse;
  }
  Registry registry = Registry::scan(Registry::default_folders(arguments.get("--plugins").value_or("")));
  for (const std::string &line : registry.refused()) log(LogLevel::warning, line);
  if (arguments.has("--stubs")) {
    std::fputs(editor_stubs(registry).c_str(), stdout);
    return kDone;
  }
  return show(registry, arguments.positional.empty() ? "" : arguments.positional[0], *format);
}

constexpr OptionSpec kPluginsOptions[] = {
    {"--format", "text|markdown|json", "Output format (default: text)"},
    {"--verify", "FILE", "Run the lifecycle test kit on a plugin file; exit status 1 if a step fails"},
    {"--stubs", "", "Print Lua definitions of all components, for editors"},
};

}  // namespace

Registry scan_plugins(const Arguments &arguments) {
  Registry registry = Registry::scan(Registry::default_folders(arguments.get("--plugins").value_or("")));
  for (const std::string &line : registry.refused()) log(LogLevel::warning, line);
  return registry;
}

const Command plugins_command = {
    .name = "plugins",
    .operands = "[NAME|KIND/NAME]",
    .summary = "List components, or the parameters, needs and metrics of one",
    .example =
        "atalaya plugins\n"
        "atalaya plugins filter/top\n"
        "atalaya plugins --verify ./libatalaya_uptime.so",
    .min_operands = 0,
    .max_operands = 1,
    .options = kPluginsOptions,
    .run = show_plugins,
};

}  // namespace atalaya::core::cli
