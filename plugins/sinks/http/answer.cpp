// SPDX-License-Identifier: Apache-2.0
#include "plugins/sinks/http/answer.h"

#include <Poco/DateTime.h>
#include <Poco/DateTimeFormat.h>
#include <Poco/DateTimeParser.h>
#include <simdjson.h>

#include <algorithm>
#include <utility>

#include "core/base/text/text.h"
#include "plugins/shared/io/http/client/words.h"

namespace atalaya::http_sink {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr int64_t kMaxWait = 300 * kSecond;

using simdjson::dom::element;

// Returns a scalar as text, because OpenTSDB writes times as numbers or as strings.
std::string text_of(const element &value) {
  if (std::string_view text; value.get_string().get(text) == simdjson::SUCCESS) return std::string(text);
  if (int64_t number = 0; value.get_int64().get(number) == simdjson::SUCCESS) return std::to_string(number);
  return {};
}

std::string key_of(const element &point) {
  element metric;
  element timestamp;
  simdjson::dom::object tags;
  if (point["metric"].get(metric) != simdjson::SUCCESS || point["timestamp"].get(timestamp) != simdjson::SUCCESS ||
      point["tags"].get_object().get(tags) != simdjson::SUCCESS)
    return {};
  std::vector<std::pair<std::string_view, std::string>> sorted;
  for (const auto &tag : tags) sorted.emplace_back(tag.key, text_of(tag.value));
  std::sort(sorted.begin(), sorted.end());
  std::string key = text_of(metric) + '\n' + text_of(timestamp);
  for (const auto &[name, value] : sorted) key.append(1, '\n').append(name).append(1, '=').append(value);
  return key;
}

bool server_could_not(std::string_view error) {
  return error.find("throttle") != std::string_view::npos || error.find("Storage exception") != std::string_view::npos ||
         error.find("timeout") != std::string_view::npos;
}

}  // namespace

Verdict verdict_of(int status) {
  if (status >= 200 && status < 300) return Verdict::accepted;
  return status == 400 || status == 413 || status == 422 ? Verdict::refused : Verdict::retry;
}

int64_t retry_after(std::string_view header, int64_t now_ns) {
  if (const auto seconds = core::number_from<int64_t>(header))
    return std::clamp<int64_t>(*seconds, 0, kMaxWait / kSecond) * kSecond;
  Poco::DateTime date;
  int zone = 0;
  if (header.size() > 40 || !Poco::DateTimeParser::tryParse(Poco::DateTimeFormat::HTTP_FORMAT, std::string(header), date, zone))
    return 0;
  return std::clamp<int64_t>(date.timestamp().epochTime() - now_ns / kSecond, 0, kMaxWait / kSecond) * kSecond;
}

std::optional<std::vector<RefusedPoint>> refused_points(std::string_view body) {
  simdjson::dom::parser parser;
  element root;
  int64_t failed = 0;
  simdjson::dom::array errors;
  if (parser.parse(body.data(), body.size()).get(root) != simdjson::SUCCESS ||
      root["failed"].get_int64().get(failed) != simdjson::SUCCESS || root["errors"].get_array().get(errors) != simdjson::SUCCESS)
    return std::nullopt;
  std::vector<RefusedPoint> points;
  for (const element entry : errors) {
    element point;
    std::string_view error;
    if (entry["datapoint"].get(point) != simdjson::SUCCESS || entry["error"].get_string().get(error) != simdjson::SUCCESS)
      return std::nullopt;
    points.push_back({key_of(point), std::string(error.substr(0, http_client::kMaxErrorMessage)), server_could_not(error)});
    if (points.back().key.empty()) return std::nullopt;
  }
  if (std::cmp_not_equal(points.size(), failed)) return std::nullopt;
  return points;
}

std::string point_key(std::string_view point) {
  simdjson::dom::parser parser;
  element root;
  return parser.parse(point.data(), point.size()).get(root) == simdjson::SUCCESS ? key_of(root) : std::string();
}

}  // namespace atalaya::http_sink
