// SPDX-License-Identifier: Apache-2.0
#include "core/cli/help/completion.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/text/text.h"
#include "core/cli/commands.h"

namespace atalaya::core::cli {
namespace {

using Named = std::pair<std::string_view, Values>;

template <size_t Count>
Values named(const std::array<Named, Count> &table, std::string_view name) {
  const auto found = std::find_if(table.begin(), table.end(), [&](const Named &one) { return one.first == name; });
  return found == table.end() ? Values::none : found->second;
}

constexpr std::array<Named, 9> kByOption = {{
    {"--metric", Values::metrics},
    {"--process", Values::processes},
    {"--host", Values::hosts},
    {"--tag", Values::tag_key},
    {"--group-by", Values::tag_keys},
    {"--experiment", Values::experiments},
    {"--train-experiment", Values::experiments},
    {"--against", Values::experiments},
    {"--store", Values::stores},
}};

constexpr std::array<Named, 10> kByCommand = {{
    {"run", Values::pipelines},
    {"check", Values::pipelines},
    {"test", Values::pipelines},
    {"try", Values::sources},
    {"plugins", Values::components},
    {"metrics", Values::metrics},
    {"processes", Values::processes},
    {"tags", Values::tag_keys},
    {"experiment", Values::experiments},
    {"report", Values::experiments},
}};

// "table|json": the words that an option takes.
bool is_list(std::string_view placeholder) {
  return placeholder.find('|') != std::string_view::npos &&
         placeholder.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789|-") == std::string_view::npos;
}

// The verbs in "start|end|show NAME | list": "start|end|show|list".
std::string verbs_of(std::string_view operands) {
  std::string verbs;
  while (!operands.empty()) {
    const std::string_view part = cut_at(operands, ' ');
    if (part.size() > 1 && part.find_first_not_of("abcdefghijklmnopqrstuvwxyz|") == std::string_view::npos)
      verbs.append(verbs.empty() ? "" : "|").append(part);
  }
  return verbs;
}

// "--store=PATH": the name and, if there is one, the value.
std::string_view name_of(std::string_view word) {
  return word.substr(0, word.find('='));
}

bool is_option(std::string_view word) {
  return word.size() > 1 && word[0] == '-';
}

// Moves the text up to the last `separator` from the value to the part in front of it.
void keep_up_to(char separator, Position &position) {
  const size_t end = position.value.find_last_of(separator);
  if (end == std::string::npos) return;
  position.begin += position.value.substr(0, end + 1);
  position.value.erase(0, end + 1);
}

void set_tag(Position &position) {
  const size_t equals = position.value.find('=');
  if (equals == std::string::npos) return;
  position.values = Values::tag_values;
  position.key = position.value.substr(0, equals);
  position.begin += position.key + "=";
  position.value.erase(0, equals + 1);
}

void set_value_of(const OptionSpec &option, Position &position) {
  position.values = named(kByOption, option.name);
  if (position.values == Values::tag_key) set_tag(position);
  if (position.values == Values::tag_keys) keep_up_to(',', position);
  if (position.values != Values::none) return;
  if (is_list(option.value)) {
    position.values = Values::words;
    position.words = option.value;
  }
  for (const std::string_view file : {"FILE", "PATH", "DIR"})
    if (option.value.find(file) != std::string_view::npos) position.values = Values::files;
}

void set_operand(const Command &command, const std::vector<std::string> &before, Position &position) {
  const std::string verbs = verbs_of(command.operands);
  position.values = named(kByCommand, command.name);
  if (before.empty() && !verbs.empty()) {
    position.values = Values::words;
    position.words = verbs;
  } else if (position.values == Values::tag_keys && !before.empty()) {
    position.values = Values::tag_values;
    position.key = before[0];
  } else if (position.values == Values::none && !command.operands.empty()) {
    position.values = Values::files;
  }
}

// The words in front of the cursor.
struct Before {
  std::vector<std::string> operands, stores;
  const OptionSpec *open = nullptr;  // an option whose value is under the cursor
  bool options_ended = false;
};

Before read(const Command &command, const std::vector<std::string> &words) {
  Before before;
  for (size_t i = 0; i + 1 < words.size(); ++i) {
    const std::string &word = words[i];
    if (before.options_ended || !is_option(word)) {
      before.operands.push_back(word);
    } else if (word == "--") {
      before.options_ended = true;
    } else if (const OptionSpec *option = find_option(command, name_of(word)); option != nullptr && !option->value.empty()) {
      const bool joined = name_of(word).size() < word.size();
      const bool last = !joined && i + 2 == words.size();
      if (last) before.open = option;
      if (!last && option->name == "--store") before.stores.push_back(joined ? word.substr(word.find('=') + 1) : words[i + 1]);
      if (!last && !joined) ++i;
    }
  }
  return before;
}

}  // namespace

Position position_of(const Command &command, const std::vector<std::string> &words) {
  Before before = read(command, words);
  const std::string &word = words.back();
  Position position;
  position.stores = std::move(before.stores);
  position.value = word;
  const OptionSpec *option = before.open;
  const bool joined = option == nullptr && !before.options_ended && is_option(word) && word.find('=') != std::string::npos;
  if (joined) {
    option = find_option(command, name_of(word));
    position.begin = word.substr(0, word.find('=') + 1);
    position.value = word.substr(position.begin.size());
  }
  if (option != nullptr && !option->value.empty())
    set_value_of(*option, position);
  else if (!joined && !before.options_ended && word.starts_with('-'))
    position.values = Values::options;
  else if (!joined)
    set_operand(command, before.operands, position);
  return position;
}

}  // namespace atalaya::core::cli
