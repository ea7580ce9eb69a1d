// SPDX-License-Identifier: Apache-2.0
// Parses and writes the JSON text of a definition.
#include <simdjson.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/text/json_writer.h"
#include "plugins/shared/analysis/phases/database.h"

namespace atalaya::phases {
namespace {

using simdjson::dom::array;
using simdjson::dom::element;
using simdjson::dom::object;

constexpr size_t kMaxParts = 256, kMaxNames = size_t{64} << 10, kMaxFilePhases = 100'000, kMaxText = 4096, kMaxBefore = 4096;
constexpr double kMaxTimeMs = 7'258'118'400'000;  // the start of the year 2200
constexpr double kMaxNumber = 1e15;

void write_instants(core::JsonWriter &json, std::string_view key, const Moments &moments) {
  if (moments.count <= 0) return;
  json.key(key).list();
  for (const double value : {moments.count, moments.mean, moments.squares, moments.cubes}) json.number(value);
  json.end_list();
}

void write_functions(core::JsonWriter &json, const Profile &profile, const Symbols &symbols) {
  std::vector<Part> parts(profile.parts().begin(), profile.parts().end());
  std::sort(parts.begin(), parts.end(), [](const Part &a, const Part &b) { return a.threads > b.threads; });
  json.key("functions").list();
  size_t names = 0, count = 0;
  for (const Part &part : parts) {
    const std::string &text = symbols.text(part.symbol);
    if (text.size() > kMaxText || names + text.size() > kMaxNames || ++count > kMaxParts) continue;
    names += text.size();
    json.list().text(text).number(part.threads).end_list();
  }
  json.end_list();
}

struct Malformed {
  std::string text;
};

std::string text_at(const element &from, const char *key, size_t maximum = 256) {
  std::string_view text;
  if (from[key].get(text) != simdjson::SUCCESS || text.empty() || text.size() > maximum)
    throw Malformed{std::string("\"") + key + "\" is no text of 1 to " + std::to_string(maximum) + " bytes"};
  return std::string(text);
}

double number_of(const element &value, const char *what, double minimum = 0) {
  double number = 0;
  if (value.get(number) != simdjson::SUCCESS || !std::isfinite(number) || number < minimum || number > kMaxNumber)
    throw Malformed{std::string("\"") + what + "\" has no valid number"};
  return number;
}

double number_at(const element &from, const char *key) {
  element value;
  if (from[key].get(value) != simdjson::SUCCESS) throw Malformed{std::string("\"") + key + "\" is missing"};
  return number_of(value, key);
}

Moments instants_at(const element &from, const char *key) {
  array values;
  if (from[key].get(values) != simdjson::SUCCESS) return {};
  if (values.size() != 4) throw Malformed{std::string("\"") + key + "\" is not [count, mean, squares, cubes]"};
  return {number_of(values.at(0), key), number_of(values.at(1), key, -kMaxNumber), number_of(values.at(2), key),
          number_of(values.at(3), key, -kMaxNumber)};
}

std::vector<Part> parts_at(const element &from, Symbols &symbols) {
  array functions;
  if (from["functions"].get(functions) != simdjson::SUCCESS) throw Malformed{"\"functions\" is missing"};
  std::vector<Part> parts;
  for (const element &one : functions) {
    array pair;
    std::string_view text;
    if (one.get(pair) != simdjson::SUCCESS || pair.size() != 2 || pair.at(0).get(text) != simdjson::SUCCESS || text.empty() ||
        text.size() > kMaxText || parts.size() >= kMaxParts)
      throw Malformed{"\"functions\" is no list of [name, threads]"};
    const double threads = number_of(pair.at(1), "functions");
    if (threads > 0) parts.push_back({symbols.number_of(text), threads});
  }
  if (parts.empty()) throw Malformed{"\"functions\" is empty"};
  return parts;
}

std::map<std::pair<std::string, std::string>, uint64_t> before_at(const element &from) {
  std::map<std::pair<std::string, std::string>, uint64_t> before;
  array list;
  if (from["before"].get(list) != simdjson::SUCCESS) return before;
  for (const element &one : list) {
    array entry;
    std::string_view first, second;
    if (one.get(entry) != simdjson::SUCCESS || entry.size() != 3 || entry.at(0).get(first) != simdjson::SUCCESS ||
        entry.at(1).get(second) != simdjson::SUCCESS || first.size() > kMaxText || second.size() > kMaxText ||
        before.size() >= kMaxBefore)
      throw Malformed{"\"before\" is no list of [phase, phase, count]"};
    before[{std::string(first), std::string(second)}] += static_cast<uint64_t>(number_of(entry.at(2), "before"));
  }
  return before;
}

KnownPhase phase_of(const element &from, Symbols &symbols) {
  if (!from.is_object()) throw Malformed{"expected an object"};
  if (const double version = number_at(from, "version"); version > kDefinitionVersion)
    throw Malformed{"version " + std::to_string(static_cast<int64_t>(version)) + " is newer than this program; update it"};
  KnownPhase known;
  known.application = text_at(from, "application");
  known.id = text_at(from, "phase");
  const std::string key = text_at(from, "key");
  if (key != "function" && key != "stack") throw Malformed{"\"key\" is neither function nor stack"};
  known.key = key == "function" ? Key::function : Key::stack;
  known.phase.epoch = static_cast<size_t>(number_at(from, "epoch"));
  if (std::find(kEpochs.begin(), kEpochs.end(), known.phase.epoch) == kEpochs.end()) throw Malformed{"\"epoch\" is no known size"};
  const double learned_ms = number_at(from, "learned");
  if (learned_ms > kMaxTimeMs) throw Malformed{"\"learned\" is no time in milliseconds before 2200"};
  known.learned_ns = static_cast<int64_t>(learned_ms) * 1'000'000;
  known.phase.profile = Profile(parts_at(from, symbols), instants_at(from, "threads"));
  known.seconds = instants_at(from, "seconds");
  for (size_t r = 0; r < kResources; ++r) known.usage.by_resource[r] = instants_at(from, std::string(kResourceNames[r]).c_str());
  known.before = before_at(from);
  return known;
}

template <class Read>
auto checked(std::string_view json, Read &&read) -> core::Result<decltype(read(element()))> {
  simdjson::dom::parser parser(size_t{256} << 20);
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    return core::Error{std::string("no definition of phases: ") + simdjson::error_message(error)};
  try {
    return read(root);
  } catch (const Malformed &malformed) {
    return core::Error{"no definition of phases: " + malformed.text};
  }
}

}  // namespace

std::string definition_json(const KnownPhase &known, const Symbols &symbols) {
  core::JsonWriter json;
  json.object().key("version").integer(kDefinitionVersion).key("application").text(known.application).key("phase").text(known.id);
  json.key("key").text(text_of(known.key)).key("epoch").count(known.phase.epoch).key("learned").milliseconds(known.learned_ns);
  write_instants(json, "threads", known.phase.profile.threads());
  write_instants(json, "seconds", known.seconds);
  for (size_t r = 0; r < kResources; ++r) write_instants(json, kResourceNames[r], known.usage.by_resource[r]);
  if (!known.before.empty()) {
    json.key("before").list();
    for (const auto &[ids, count] : known.before) json.list().text(ids.first).text(ids.second).count(count).end_list();
    json.end_list();
  }
  write_functions(json, known.phase.profile, symbols);
  return json.end_object().take();
}

core::Result<KnownPhase> read_definition(std::string_view json, Symbols &symbols) {
  return checked(json, [&](const element &root) { return phase_of(root, symbols); });
}

core::Result<std::vector<KnownPhase>> read_export(std::string_view json, Symbols &symbols) {
  return checked(json, [&](const element &root) {
    std::string_view format;
    array list;
    if (root["format"].get(format) != simdjson::SUCCESS || format != "atalaya-phases")
      throw Malformed{"\"format\" is not atalaya-phases"};
    if (root["phases"].get(list) != simdjson::SUCCESS) throw Malformed{"\"phases\" is no list"};
    std::vector<KnownPhase> phases;
    for (const element &one : list) {
      if (phases.size() >= kMaxFilePhases) throw Malformed{"more than 100000 phases"};
      phases.push_back(phase_of(one, symbols));
    }
    return phases;
  });
}

}  // namespace atalaya::phases
