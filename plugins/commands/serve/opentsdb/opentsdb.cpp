// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/opentsdb/opentsdb.h"

#include <simdjson.h>

#include <algorithm>
#include <cctype>
#include <cmath>

#include "core/base/text/json.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/suggest.h"
#include "core/base/text/text.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::exact_pattern;
using query::parts_of;
using query::Query;
using query::set_aggregator;
using query::set_downsample;
using query::Wrong;
using simdjson::dom::element;

constexpr size_t kMaxQueries = 64;
constexpr size_t kMaxFilters = 64;

// Converts a wildcard filter to a pattern: a star matches any text, other characters match themselves.
std::string wildcard(std::string_view text) {
  std::string pattern;
  for (const std::string &part : parts_of(text, '*')) pattern += exact_pattern(part) + "*";
  pattern.pop_back();
  return pattern;
}

// Converts a text to a case-insensitive regular expression.
std::string any_case(std::string_view text, bool stars) {
  std::string pattern = "~^";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '*' && stars)
      pattern += ".*";
    else if (std::isalpha(byte) != 0)
      pattern += {'[', static_cast<char>(std::tolower(byte)), static_cast<char>(std::toupper(byte)), ']'};
    else if (std::ispunct(byte) != 0)
      pattern += {'\\', c};
    else
      pattern += c;
  }
  return pattern + "$";
}

std::vector<std::string> patterns_of(const std::string &type, std::string_view filter) {
  std::vector<std::string> patterns;
  const bool negated = type.starts_with("not_");
  const std::string kind = negated ? type.substr(4) : type;
  if (kind == "regexp") return {"~" + std::string(filter)};
  if (kind == "wildcard") return {wildcard(filter)};
  if (kind == "iwildcard") return {any_case(filter, true)};
  if (kind != "literal_or" && kind != "iliteral_or")
    throw Wrong("filter " + core::in_quotes(type) + " is not known" +
                core::did_you_mean(
                    type, {"literal_or", "iliteral_or", "not_literal_or", "not_iliteral_or", "wildcard", "iwildcard", "regexp"}));
  for (const std::string &part : parts_of(filter, '|'))
    patterns.push_back((negated ? "!" : "") + (kind == "literal_or" ? exact_pattern(part) : any_case(part, false)));
  return patterns;
}

void add_filter(Query &query, const std::string &key, const std::string &type, std::string_view filter, bool group) {
  if (key.empty()) throw Wrong("a filter has no key");
  if (query.tags.size() >= kMaxFilters) throw Wrong("more than 64 filters");
  query.tags.push_back({key, patterns_of(type, filter)});
  if (group) query.group_by.push_back(key);
}

// Parses a tag value: "*", "web*", "a|b", "a" or "wildcard(web*)".
void add_tag(Query &query, const std::string &key, const std::string &value, bool group) {
  const size_t open = value.find('(');
  if (open != std::string::npos && value.back() == ')')
    return add_filter(query, key, value.substr(0, open), std::string_view(value).substr(open + 1, value.size() - open - 2), group);
  add_filter(query, key, value.find('*') == std::string::npos ? "literal_or" : "wildcard", value, group);
}

double number_of(const std::string &text) {
  const auto number = core::number_from<double>(text);
  if (!number || !std::isfinite(*number)) throw Wrong(core::in_quotes(text) + " is not a number");
  return *number;
}

// Parses "rate", "rate{counter}", "rate{counter,100,10}" and "rate{dropcounter}".
query::Rate rate_of(const std::string &text) {
  query::Rate rate;
  rate.counter = false;
  if (text == "rate") return rate;
  if (text.back() != '}') throw Wrong(core::in_quotes(text) + " is not a rate; write rate or rate{counter,MAX,RESET}");
  const auto parts = parts_of(std::string_view(text).substr(5, text.size() - 6), ',');
  rate.counter = parts[0] == "counter" || parts[0] == "dropcounter";
  if (parts.size() > 1 && !parts[1].empty() && parts[0] == "counter") rate.largest = number_of(parts[1]);
  if (parts.size() > 2 && !parts[2].empty()) rate.reset_value = number_of(parts[2]);
  return rate;
}

// Splits the text at colons outside braces.
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words(1);
  int depth = 0;
  for (const char c : text) {
    depth += c == '{' ? 1 : c == '}' ? -1 : 0;
    if (c == ':' && depth == 0)
      words.emplace_back();
    else
      words.back() += c;
  }
  return words;
}

// Parses "metric{a=b,c=d}{e=f}": tags in the second braces filter only, they do not group.
void set_metric(Query &query, std::string_view text) {
  const size_t brace = std::min(text.find('{'), text.size());
  query.metrics = {exact_pattern(text.substr(0, brace))};
  if (brace == 0) throw Wrong("Missing metric name in " + core::in_quotes(text));
  text.remove_prefix(brace);
  for (bool group = true; !text.empty(); group = false) {
    const size_t end = text.find('}');
    if (text[0] != '{' || end == std::string_view::npos) throw Wrong("braces do not match in " + core::in_quotes(text));
    const std::string_view inside = text.substr(1, end - 1);
    text.remove_prefix(end + 1);
    if (inside.empty()) continue;
    for (const std::string &part : parts_of(inside, ',')) {
      const size_t equals = part.find('=');
      if (equals == std::string::npos || equals + 1 == part.size())
        throw Wrong(core::in_quotes(part) + " is not of the form tag=value");
      add_tag(query, part.substr(0, equals), part.substr(equals + 1), group);
    }
  }
}

// OpenTSDB's range includes both ends.
query::Range range_of(const std::string &start, const std::string &end, int64_t now_ns) {
  if (start.empty()) throw Wrong("Missing start time");
  const int64_t from = query::time_of("start", start, now_ns);
  const int64_t to = end.empty() ? now_ns : query::time_of("end", end, now_ns);
  if (to < from) throw Wrong("end time is before the start time");
  return {from - 1, to};
}

std::string spelled(const element &value) {
  std::string_view text;
  int64_t integer = 0;
  double number = 0;
  std::string out;
  if (value.get(text) == simdjson::SUCCESS) return std::string(text);
  if (value.get(integer) == simdjson::SUCCESS) return std::to_string(integer);
  if (value.get(number) == simdjson::SUCCESS) core::append_number(out, number);
  return out;
}

std::string text_at(const element &object, const char *key) {
  element value;
  return object[key].get(value) == simdjson::SUCCESS ? spelled(value) : "";
}

bool flag_at(const element &object, const char *key) {
  bool flag = false;
  return object[key].get(flag) == simdjson::SUCCESS && flag;
}

query::Rate rate_at(const element &object) {
  query::Rate rate;
  rate.counter = false;
  element options;
  if (object["rateOptions"].get(options) != simdjson::SUCCESS || !options.is_object()) return rate;
  rate.counter = flag_at(options, "counter");
  const auto number = [&](const char *key) {
    const std::string text = text_at(options, key);
    return text.empty() ? 0 : number_of(text);
  };
  if (!flag_at(options, "dropResets")) rate.largest = number("counterMax");
  rate.reset_value = number("resetValue");
  return rate;
}

Query read_subquery(const element &object) {
  if (!object.is_object()) throw Wrong("a query must be an object");
  Query query;
  query.edge = query::Edge::start;
  const std::string aggregator = text_at(object, "aggregator");
  const std::string metric = text_at(object, "metric");
  if (aggregator.empty()) throw Wrong("Missing the aggregation function");
  if (metric.empty()) throw Wrong("Missing the metric");
  set_aggregator(query, "aggregator", aggregator);
  query.metrics = {exact_pattern(metric)};
  if (const std::string text = text_at(object, "downsample"); !text.empty()) set_downsample(query, "downsample", text);
  if (flag_at(object, "explicitTags")) throw Wrong("explicitTags is not supported; filter by the tags of the series");
  if (flag_at(object, "rate")) query.rate = rate_at(object);
  simdjson::dom::object tags;
  if (object["tags"].get(tags) == simdjson::SUCCESS)
    for (const auto &[key, value] : tags) add_tag(query, std::string(key), spelled(value), true);
  simdjson::dom::array filters;
  if (object["filters"].get(filters) == simdjson::SUCCESS)
    for (const element &filter : filters)
      if (filter.is_object())
        add_filter(query, text_at(filter, "tagk"), text_at(filter, "type"), text_at(filter, "filter"), flag_at(filter, "groupBy"));
  return query;
}

OpenTsdbQuestion read_body(const std::string &body, int64_t now_ns) {
  simdjson::dom::parser parser;
  element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || !root.is_object()) throw Wrong("Unable to parse the given JSON");
  OpenTsdbQuestion question;
  question.milliseconds = flag_at(root, "msResolution");
  const query::Range range = range_of(text_at(root, "start"), text_at(root, "end"), now_ns);
  simdjson::dom::array queries;
  if (root["queries"].get(queries) != simdjson::SUCCESS) throw Wrong("Missing queries");
  for (const element &one : queries) {
    if (question.queries.size() >= kMaxQueries) throw Wrong("more than 64 queries");
    question.queries.push_back(read_subquery(one));
    question.queries.back().range = range;
  }
  return question;
}

std::string value_text(const query::Answer &answer, const query::Point &point, query::Fill fill) {
  if (!std::isfinite(point.value)) return fill == query::Fill::null ? "null" : "\"NaN\"";
  std::string text;
  command_line::append_value(text, answer, point);
  return text;
}

}  // namespace

Query read_m(std::string_view text) {
  std::vector<std::string> words = words_of(text);
  if (words.size() < 2)
    throw Wrong("Invalid parameter m=" + std::string(text) + ": write AGGREGATOR:[DOWNSAMPLE:][rate:]METRIC{TAGS}");
  Query query;
  query.edge = query::Edge::start;
  set_aggregator(query, "aggregator", words[0]);
  for (size_t i = 1; i + 1 < words.size(); ++i) {
    if (words[i] == "explicit_tags") throw Wrong("explicit_tags is not supported; filter by the tags of the series");
    if (words[i].starts_with("rate"))
      query.rate = rate_of(words[i]);
    else
      set_downsample(query, "downsample", words[i]);
  }
  set_metric(query, words.back());
  return query;
}

Query read_lookup(std::string_view text) {
  Query query;
  set_metric(query, text);
  return query;
}

OpenTsdbQuestion read_opentsdb(const Request &request, int64_t now_ns) {
  OpenTsdbQuestion question;
  if (request.method == "POST") {
    question = read_body(request.body, now_ns);
  } else {
    const query::Range range = range_of(request.text("start"), request.text("end"), now_ns);
    for (const std::string &m : request.texts("m")) {
      if (question.queries.size() >= kMaxQueries) throw Wrong("more than 64 queries");
      question.queries.push_back(read_m(m));
      question.queries.back().range = range;
    }
  }
  if (question.queries.empty()) throw Wrong("Missing queries");
  question.milliseconds = question.milliseconds || request.flag("ms");
  question.arrays = request.flag("arrays");
  return question;
}

std::string opentsdb_json(const std::vector<query::Answer> &answers, query::Fill fill, const OpenTsdbQuestion &question) {
  core::JsonWriter json;
  const int64_t unit = question.milliseconds ? 1'000'000 : 1'000'000'000;
  for (const query::Answer &answer : answers) {
    json.object().key("metric").text(answer.metric).key("tags").members(answer.tags);
    json.key("aggregateTags").texts(answer.aggregated_tags);
    command_line::write_info(json, answer.info.get());
    command_line::write_coverage(json, answer);
    json.key("dps").raw(question.arrays ? "[" : "{");
    for (size_t i = 0; i < answer.points.size(); ++i) {
      const int64_t time = answer.points[i].time_ns / unit;
      // Of several points with the same time in this format, the last one counts.
      if (i + 1 < answer.points.size() && answer.points[i + 1].time_ns / unit == time) continue;
      const std::string value = value_text(answer, answer.points[i], fill);
      if (question.arrays)
        json.list().integer(time).raw(value).end_list();
      else
        json.key(time).raw(value);
    }
    (question.arrays ? json.end_list() : json.end_object()).end_object();
  }
  return json.take();
}

}  // namespace atalaya::serve
