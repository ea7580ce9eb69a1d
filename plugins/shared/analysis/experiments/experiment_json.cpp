// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/experiments/experiment_json.h"

#include <simdjson.h>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "plugins/shared/io/time/time_text.h"

namespace atalaya::experiments {
namespace {

using simdjson::dom::element;

constexpr size_t kMaxDocuments = 10'000;
constexpr size_t kMaxTags = 64;

[[noreturn]] void wrong(const std::string &what) {
  throw query::Wrong("not JSON of experiments: " + what);
}

// The text of the first of the keys that exists in the object; "" if none exists or its value is null.
std::string text_at(const element &object, std::initializer_list<const char *> keys) {
  for (const char *key : keys) {
    element value;
    if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) continue;
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) wrong(std::string("\"") + key + "\" is no text");
    return std::string(text);
  }
  return "";
}

std::optional<int64_t> time_at(const element &object, std::initializer_list<const char *> keys, int64_t now_ns) {
  for (const char *key : keys) {
    element value;
    if (object[key].get(value) != simdjson::SUCCESS || value.is_null()) continue;
    std::string_view text;
    int64_t integer = 0;
    double number = 0;
    std::string spelled;
    if (value.get(text) == simdjson::SUCCESS)
      spelled = text;
    else if (value.get(integer) == simdjson::SUCCESS)
      spelled = std::to_string(integer);
    else if (value.get(number) == simdjson::SUCCESS)
      core::append_number(spelled, number);
    const auto time = io::parse_time(spelled, now_ns);
    if (!time) wrong(std::string("\"") + key + "\": " + time.error());
    return time.value();
  }
  return std::nullopt;
}

query::Tags tags_at(const element &object) {
  store::Tags tags;
  simdjson::dom::object members;
  if (object["tags"].get(members) != simdjson::SUCCESS) return tags;
  for (const auto &[key, value] : members) {
    std::string_view text;
    if (value.get(text) != simdjson::SUCCESS) wrong("a tag's value is no text");
    if (tags.size() >= kMaxTags) wrong("more than 64 tags");
    tags.insert_or_assign(std::string(key), std::string(text));
  }
  return tags;
}

Experiment read_one(const element &document, int64_t now_ns) {
  if (!document.is_object()) wrong("expected an object, or a list of objects");
  element info;
  const element &object = document["info"].get(info) == simdjson::SUCCESS && info.is_object() ? info : document;
  Experiment one;
  one.name = text_at(object, {"experiment", "experiment_id"});
  one.workload = text_at(object, {"workload", "test_name"});
  one.user = text_at(object, {"user", "username"});
  one.notes = text_at(object, {"notes"});
  one.tags = tags_at(object);
  check_name("experiment", one.name);
  const auto start = time_at(object, {"start", "start_time"}, now_ns);
  const auto end = time_at(object, {"end", "end_time"}, now_ns);
  if (!start) wrong("experiment " + core::in_quotes(one.name) + " has no start");
  if (end && *end <= *start) wrong("experiment " + core::in_quotes(one.name) + " ends before it begins");
  one.start_ns = *start;
  one.duration_ns = end ? *end - *start : -1;
  return one;
}

}  // namespace

std::string experiments_json(const std::vector<Experiment> &experiments) {
  core::JsonWriter json;
  json.list();
  for (const Experiment &one : experiments) {
    core::JsonObject object(json.line());
    object.text("experiment", one.name);
    object.text("workload", one.workload);
    object.text("user", one.user);
    object.text("notes", one.notes);
    if (!one.tags.empty()) {
      core::JsonObject tags(object.key("tags"));
      for (const auto &[key, value] : one.tags) tags.text(key, value);
    }
    object.text("start", io::time_text(one.start_ns));
    object.key("end").text_or_null(one.open() ? "" : io::time_text(one.end_ns(0)));
  }
  return json.end_list().take() + "\n";
}

std::string reference_document(const Experiment &experiment) {
  core::JsonWriter json;
  {
    core::JsonObject object(json);
    object.text("experiment_id", experiment.name);
    if (!experiment.workload.empty()) {
      object.text("test_id", experiment.name + "_" + experiment.workload);
      object.text("test_name", experiment.workload);
    }
    object.text("username", experiment.user);
    json.key("start_time").integer(experiment.start_ns / 1'000'000'000);
    if (!experiment.open()) json.key("end_time").integer(experiment.end_ns(0) / 1'000'000'000);
  }
  return json.take();
}

std::vector<Experiment> read_experiments(std::string_view json, int64_t now_ns) {
  simdjson::dom::parser parser;
  element root;
  if (const auto error = parser.parse(json.data(), json.size()).get(root); error != simdjson::SUCCESS)
    wrong(simdjson::error_message(error));
  std::vector<Experiment> all;
  simdjson::dom::array list;
  if (root.get(list) != simdjson::SUCCESS) return {read_one(root, now_ns)};
  for (const element &document : list) {
    if (all.size() >= kMaxDocuments) wrong("more than 10000 experiments");
    all.push_back(read_one(document, now_ns));
  }
  return all;
}

}  // namespace atalaya::experiments
