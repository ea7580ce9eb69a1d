// SPDX-License-Identifier: Apache-2.0
// atalaya complete: the values that the last word of a command line can have, for the completion of shells. It prints no error and
// writes nothing; a store that does not reply offers nothing.
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/files.h"
#include "core/base/text/safe_text.h"
#include "core/base/text/text.h"
#include "core/cli/cli.h"
#include "core/cli/commands.h"
#include "core/cli/help/completion.h"
#include "core/cli/help/help_pages.h"

namespace atalaya::core::cli {
namespace {

constexpr size_t kMaxOffers = 10'000;

struct Offer {
  std::string value, summary;
};

struct Offers {
  std::string_view files = "-";  // pattern of files that the shell offers too; "-": none
  std::vector<Offer> offers;

  void add(std::string value, std::string_view summary = "") { offers.push_back({std::move(value), std::string(summary)}); }
};

// ---- Names in the store ----

// The standard output of a call; "" if it fails.
std::string printed_by(const std::function<int()> &call) {
  const Descriptor text(::memfd_create("names", MFD_CLOEXEC)), output(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0));
  if (!text || !output || std::fflush(stdout) != 0 || ::dup2(text.get(), STDOUT_FILENO) < 0) return "";
  const int status = call();
  std::fflush(stdout);
  ::dup2(output.get(), STDOUT_FILENO);
  std::string bytes(static_cast<size_t>(std::max<off_t>(::lseek(text.get(), 0, SEEK_END), 0)), '\0');
  const ssize_t size = status == kDone ? ::pread(text.get(), bytes.data(), bytes.size(), 0) : 0;
  bytes.resize(static_cast<size_t>(std::max<ssize_t>(size, 0)));
  return bytes;
}

// bash passes a word as it is written.
std::string with_home(const std::string &path) {
  const char *home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

class StoreNames {
 public:
  StoreNames(PluginCommands &plugins, const std::vector<std::string> &stores) : plugins_(plugins) {
    for (const std::string &store : stores) stores_.push_back(with_home(store));
  }

  // The names that a command of a plugin prints.
  void add(std::string_view command, std::vector<std::string> operands, Offers &offers, std::string_view end = "") const {
    if (!plugins_.known(command)) return;
    const auto row = plugins_.row(command);
    if (!row) return;
    Arguments arguments{std::move(operands), {{"--format", {"names"}}}};
    if (find_option(*row.value(), "--limit") != nullptr) arguments.options["--limit"] = {"1000000"};
    if (!stores_.empty()) arguments.options["--store"] = stores_;
    const std::string names = printed_by([&] { return row.value()->run(arguments); });
    for (const std::string_view name : lines_of(names)) offers.add(std::string(name).append(end));
  }

 private:
  PluginCommands &plugins_;
  std::vector<std::string> stores_;
};

void add_names(const Position &position, PluginCommands &plugins, Offers &offers) {
  const StoreNames store(plugins, position.stores);
  switch (position.values) {
    case Values::metrics:
      return store.add("metrics", {}, offers);
    case Values::processes:
      return store.add("tags", {"process"}, offers);
    case Values::hosts:
      return store.add("tags", {"host"}, offers);
    case Values::experiments:
      return store.add("experiment", {"list"}, offers);
    case Values::tag_keys:
      return store.add("tags", {}, offers);
    case Values::tag_key:
      return store.add("tags", {}, offers, "=");
    case Values::tag_values:
      return store.add("tags", {position.key}, offers);
    default:
      return;
  }
}

// ---- Names of the program ----

void add_words(std::string_view list, Offers &offers) {
  while (!list.empty()) offers.add(std::string(cut_at(list, '|')));
}

void add_options(const Command &command, Offers &offers) {
  const CommandLine common = common_options();
  for (const auto &options : {command.options, common.every})
    for (const OptionSpec &option : options) offers.add(std::string(option.name), option.summary);
}

void add_components(const std::vector<std::string> &words, bool sources_only, Offers &offers) {
  const Registry registry = scan_plugins(plugin_folder(words));
  for (const uint32_t kind : kComponentKinds)
    if (!sources_only || kind == ATALAYA_SOURCE)
      for (const std::string &name : registry.names(kind)) offers.add(name, kind_name(kind));
}

// Pipelines of an installation, next to the binary's folder.
void add_bundled_pipelines(const std::string &begin, Offers &offers) {
  if (begin.find('/') != std::string::npos) return;
  std::error_code error;
  const auto folder = std::filesystem::canonical(binary_folder() + "/../share/atalaya/pipelines", error);
  if (error) return;
  for (const auto &file : std::filesystem::directory_iterator(folder, error))
    if (const std::string name = file.path().filename(); name.ends_with(".lua") && name.starts_with(begin)) offers.add(file.path());
}

void add_commands(PluginCommands &plugins, bool pages, Offers &offers) {
  for (const CommandGroup &group : command_line(plugins, false).groups)
    for (const Command *command : group.commands) offers.add(std::string(command->name), command->summary);
  if (pages)
    add_words("options|man|bash|zsh|fish", offers);
  else
    add_words("help|--help|--version", offers);
}

// ---- The line ----

std::string_view files_of(Values values) {
  switch (values) {
    case Values::files:
      return "*";
    case Values::pipelines:
      return "*.lua";
    case Values::stores:
      return "*.db";
    default:
      return "-";
  }
}

// Only offers that begin as the word does. A name that a terminal cannot show as it is, is left out.
void keep_matching(const Position &position, Offers &offers) {
  std::erase_if(offers.offers, [&](const Offer &offer) {
    return offer.value.empty() || !offer.value.starts_with(position.value) || visible(offer.value) != offer.value;
  });
  std::sort(offers.offers.begin(), offers.offers.end(), [](const Offer &a, const Offer &b) { return a.value < b.value; });
  const auto same = [](const Offer &a, const Offer &b) { return a.value == b.value; };
  offers.offers.erase(std::unique(offers.offers.begin(), offers.offers.end(), same), offers.offers.end());
  if (offers.offers.size() > kMaxOffers) offers.offers.resize(kMaxOffers);
  for (Offer &offer : offers.offers) offer.value.insert(0, position.begin);
}

// The words after the name of the command.
Offers offers_of(const Command &command, const std::vector<std::string> &words, PluginCommands &plugins) {
  Offers offers;
  const Position position = position_of(command, words);
  offers.files = files_of(position.values);
  if (position.values == Values::words) add_words(position.words, offers);
  if (position.values == Values::options) add_options(command, offers);
  if (position.values == Values::sources || position.values == Values::components)
    add_components(words, position.values == Values::sources, offers);
  add_names(position, plugins, offers);
  keep_matching(position, offers);
  // Of these the file's name matches, not the whole path.
  if (position.values == Values::pipelines) add_bundled_pipelines(position.value, offers);
  return offers;
}

Offers offers_of(const std::vector<std::string> &words) {
  PluginCommands plugins = plugin_commands(words);
  const bool help = words.size() == 2 && words[0] == "help";
  if (words.size() < 2 || help) {
    Offers offers;
    Position position;
    position.value = words.empty() ? "" : words.back();
    add_commands(plugins, help, offers);
    keep_matching(position, offers);
    return offers;
  }
  const Command *command = built_in(words[0]);
  if (command == nullptr && plugins.known(words[0])) {
    const auto row = plugins.row(words[0]);
    command = row ? row.value() : nullptr;
  }
  return command == nullptr ? Offers{} : offers_of(*command, {words.begin() + 1, words.end()}, plugins);
}

// Ends the program when the time is over.
void limit_time() {
  const char *text = std::getenv("ATALAYA_COMPLETION_TIMEOUT");
  const auto seconds = text == nullptr ? std::nullopt : parse_number(text);
  ::signal(SIGALRM, [](int) { ::_exit(kDone); });
  ::alarm(static_cast<unsigned>(std::clamp<int64_t>(seconds.value_or(2), 1, INT_MAX)));
}

int complete(const Arguments &arguments) {
  limit_time();
  const Descriptor nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere) ::dup2(nowhere.get(), STDERR_FILENO);
  const Offers offers = offers_of(arguments.positional);
  std::string text = std::string(offers.files) + "\n";
  for (const Offer &offer : offers.offers) text += offer.value + (offer.summary.empty() ? "" : "\t" + offer.summary) + "\n";
  std::fputs(text.c_str(), stdout);
  return kDone;
}

}  // namespace

const Command complete_command = {
    .name = "complete",
    .operands = "[--] WORD...",
    .summary = "List values of the last word of a line, for shells",
    .example =
        "atalaya complete que\n"
        "atalaya complete -- query --metric proc.\n"
        "atalaya complete -- query --tag process=",
    .min_operands = 0,
    .max_operands = SIZE_MAX,
    .options = {},
    .run = complete,
};

}  // namespace atalaya::core::cli
