// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/serve/http/api.h"

#include <simdjson.h>

#include <algorithm>
#include <set>

#include "core/base/now.h"
#include "core/base/text/json_writer.h"
#include "core/base/text/text.h"
#include "plugins/commands/serve/http/parts.h"
#include "plugins/commands/serve/mcp/mcp.h"
#include "plugins/commands/serve/opentsdb/opentsdb.h"
#include "plugins/commands/serve/page/page_api.h"
#include "plugins/commands/serve/page/page_files.h"
#include "plugins/commands/serve/pprof/pprof.h"
#include "plugins/commands/serve/pprof/stacks.h"
#include "plugins/commands/serve/prometheus/prometheus.h"
#include "plugins/shared/analysis/command_line/render.h"
#include "plugins/shared/analysis/experiments/experiment_json.h"
#include "plugins/shared/analysis/experiments/experiment_log.h"
#include "plugins/shared/store/query/engine.h"
#include "plugins/shared/store/query/pid_parts.h"
#include "plugins/shared/store/query/pieces.h"

namespace atalaya::serve {
namespace {

using query::Wrong;

// The filter types that Grafana offers.
constexpr const char *kFilters = R"~({
"literal_or":{"examples":"host=literal_or(a|b)","description":"One of these texts."},
"iliteral_or":{"examples":"host=iliteral_or(a|b)","description":"The same in any case."},
"not_literal_or":{"examples":"host=not_literal_or(a|b)","description":"None of these texts."},
"not_iliteral_or":{"examples":"host=not_iliteral_or(a|b)","description":"The same in any case."},
"wildcard":{"examples":"host=wildcard(web*)","description":"* stands for any text."},
"iwildcard":{"examples":"host=iwildcard(web*)","description":"The same in any case."},
"regexp":{"examples":"host=regexp(^web.*)","description":"An extended regular expression."}})~";
constexpr const char *kVersion =
    R"({"version":"2.4.0","short_revision":"","full_revision":"","repo":"atalaya","host":"","user":""})";

// Selects stacks of one profile: CPU time and waiting time must not be mixed in one graph. Stacks of other senders may lack the tag
// profile.
bool is_of_cpus(const store::Stack &stack) {
  const auto profile = stack.tags.find("profile");
  return profile == stack.tags.end() || profile->second == "cpu";
}

size_t limit_of(const std::string &text, size_t otherwise) {
  if (text.empty()) return otherwise;
  const size_t limit = core::number_from<size_t>(text).value_or(0);
  if (limit == 0) throw Wrong("\"" + text + "\" is not a count");
  return limit;
}

Answer not_found() {
  return error_answer(404, "Endpoint not found");
}
Answer wrong_method(const Request &request) {
  return error_answer(405, "The HTTP method [" + request.method + "] is not permitted for this endpoint");
}

bool is_of_experiments(const Request &request) {
  return request.path.starts_with("/experiments") || request.path.starts_with("/tests");
}

bool reads(const Request &request) {
  return request.method == "GET" || request.method == "HEAD" || request.method == "POST";
}

// A folded stack in the format of the reference design's profiler: "java-7;a;b".
std::string reference_stack(const store::Stack &stack) {
  const auto process = stack.tags.find("process");
  const auto pid = stack.tags.find("pid");
  std::string text;
  if (process != stack.tags.end()) text += process->second;
  if (pid != stack.tags.end()) text += (text.empty() ? "" : "-") + pid->second;
  return (text.empty() ? text : text + ";") + std::string(stack.folded);
}

// A member of a JSON body as text; "" if absent.
std::string body_text(const std::string &body, const char *key) {
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  if (parser.parse(body).get(root) != simdjson::SUCCESS || !root.is_object()) throw Wrong("Unable to parse the given JSON");
  std::string_view text;
  int64_t number = 0;
  if (root[key].get(text) == simdjson::SUCCESS) return std::string(text);
  return root[key].get(number) == simdjson::SUCCESS ? std::to_string(number) : "";
}

std::string argument_of(const Request &request, const char *key) {
  const bool json = request.method == "POST" && !request.body.empty() && request.body[0] == '{';
  return json ? body_text(request.body, key) : request.text(key);
}

}  // namespace

store::Store &Api::store() {
  if (!store_) store_ = store::open_store(stores_, std::chrono::nanoseconds(limits_.time_ns));
  return *store_;
}

Answer Api::answer(const Request &request) {
  const bool prometheus_form = request.path.starts_with("/api/v1/");
  const auto refuse = [&](unsigned status, const char *why) {
    return prometheus_form ? prometheus_error(status, why) : error_answer(status, why);
  };
  limits_.cancelled = request.cancelled;
  try {
    query::Budget(limits_).check_time();
    Answer answer = route(request);
    if (const std::string damage = store_ ? store_->take_damage() : ""; !damage.empty()) host_.log(Level::warning, damage);
    return answer;
  } catch (const Wrong &wrong) {
    return refuse(400, wrong.what());
  } catch (const query::TooMuch &much) {
    return refuse(prometheus_form ? 422 : 413, much.what());
  } catch (const query::Cancelled &cancelled) {
    return refuse(503, cancelled.what());
  } catch (const store::Error &error) {
    store_.reset();
    return refuse(503, error.what());
  } catch (const std::bad_alloc &) {
    return refuse(503, "out of memory");
  } catch (const std::exception &error) {
    return refuse(500, error.what());
  }
}

std::string Api::next_part(AnswerRest &rest) {
  try {
    return rest.next(store());
  } catch (const store::Error &) {
    store_.reset();
    throw;
  }
}

bool Api::writes(const Request &request) {
  return is_of_experiments(request) && request.method != "GET" && request.method != "HEAD";
}

Answer Api::route(const Request &request) {
  const std::string &path = request.path;
  if (path == "/health") return {200, R"({"status":"ok"})"};
  if (path == "/mcp") return mcp(request);
  if (is_of_experiments(request)) return experiments(request);
  if (!reads(request)) return wrong_method(request);
  if (path.starts_with("/api/v1/")) return prometheus(request);
  if (path.starts_with("/api/page/")) return page(request);
  if (path == "/debug/pprof/profile") return pprof(request);
  if (path.starts_with("/api/")) return opentsdb(request);
  if (path == "/stacks" || path == "/stacks/" || path == "/flamegraph" || path == "/flamegraph/") return stacks(request);
  return not_found();
}

Answer Api::page(const Request &request) {
  if (request.method == "POST") return wrong_method(request);
  PageCall call{request, store(), query::Budget(limits_), core::realtime(), status_socket_};
  return page_data(call);
}

Answer Api::pprof(const Request &request) {
  PageCall call{request, store(), query::Budget(limits_), core::realtime(), status_socket_};
  return pprof_answer(call);
}

std::string Api::message(std::string_view text, const std::atomic<bool> *cancelled) {
  return mcp_answer(text, kPageVersion, [this, cancelled](Request request) {
    request.cancelled = cancelled;
    return answer(request);
  });
}

// The transport "streamable HTTP", without streams.
Answer Api::mcp(const Request &request) {
  if (request.method != "POST") return wrong_method(request);
  if (!request.content_type.starts_with("application/json")) return error_answer(415, "content type is not application/json");
  std::string body = message(request.body, request.cancelled);
  const unsigned status = body.empty() ? 202 : 200;
  return {status, std::move(body)};
}

Answer Api::opentsdb(const Request &request) {
  const std::string_view path = std::string_view(request.path).substr(4);
  if (path == "/query") return query(request);
  if (path == "/metrics") return metrics();
  if (path == "/suggest") return suggest(request);
  if (path == "/search/lookup") return lookup(request);
  if (path == "/aggregators") return {200, list_json(query::Aggregator::names())};
  if (path == "/version") return {200, kVersion};
  if (path == "/config/filters") return {200, kFilters};
  return not_found();
}

Answer Api::query(const Request &request) {
  const auto question = std::make_shared<OpenTsdbQuestion>(read_opentsdb(request, core::realtime()));
  const auto tail = [host = host_](const std::string &damage) {
    if (!damage.empty()) host.log(Level::warning, damage);
    return std::string("]");
  };
  const auto parts = std::make_shared<QueryParts>("[", tail, request.part_points, limits_);
  for (const query::Query &one : question->queries) {
    const auto fill = one.downsample ? one.downsample->fill : query::Fill::none;
    parts->add(one, [question, fill](const std::vector<query::Answer> &answers, query::Budget &) {
      return opentsdb_json(answers, fill, *question);
    });
  }
  return QueryParts::answer(parts, store());
}

// All metrics with their declarations.
Answer Api::metrics() {
  core::JsonWriter json;
  json.list();
  for (const auto &[metric, info] : store().catalogue()) {
    command_line::write_info(json.object().key("metric").text(metric), info.get());
    json.end_object();
  }
  return {200, json.end_list().take()};
}

Answer Api::suggest(const Request &request) {
  const std::string type = argument_of(request, "type");
  const std::string prefix = argument_of(request, "q");
  const size_t maximum = limit_of(argument_of(request, "max"), 25);
  std::set<std::string> known;
  if (type == "metrics") {
    for (std::string &name : store().metrics()) known.insert(std::move(name));
  } else if (type == "tagk") {
    for (std::string &key : store().tag_keys()) known.insert(std::move(key));
  } else if (type == "tagv") {
    for (const std::string &key : store().tag_keys())
      for (std::string &value : store().tag_values(key)) known.insert(std::move(value));
  } else {
    throw Wrong("Invalid 'type' parameter: \"" + type + "\"; write metrics, tagk or tagv");
  }
  std::vector<std::string> fitting;
  for (auto name = known.lower_bound(prefix); name != known.end() && name->starts_with(prefix) && fitting.size() < maximum; ++name)
    fitting.push_back(*name);
  return {200, list_json(fitting)};
}

Answer Api::lookup(const Request &request) {
  const std::string m = argument_of(request, request.method == "POST" && !request.body.empty() ? "metric" : "m");
  const query::Query wanted = read_lookup(m);
  const size_t maximum = limit_of(argument_of(request, "limit"), 25);
  std::vector<store::Series> found;
  size_t total = 0;
  query::Budget budget(limits_);
  query::each_known_series(wanted, store(), budget, [&](const store::Series &one) {
    if (total++ < maximum) found.push_back(one);
  });
  core::JsonWriter json;
  json.object().key("type").text("LOOKUP").key("metric").text(m.substr(0, m.find('{'))).key("limit").count(maximum);
  json.key("time").integer(0).key("startIndex").integer(0).key("totalResults").count(total).key("results").list();
  for (const store::Series &one : found) {
    json.object().key("metric").text(one.metric).key("tags").members(one.tags);
    command_line::write_info(json, one.info.get());
    json.key("tsuid").text("").end_object();
  }
  return {200, json.end_list().end_object().take()};
}

Answer Api::stacks(const Request &request) {
  const std::string start = request.text("start_time"), end = request.text("end_time"), host = request.text("hostname");
  if (start.empty() || end.empty()) throw Wrong("start_time and end_time are needed, in seconds");
  const int64_t now = core::realtime();
  const int64_t from = query::time_of("start_time", start, now);
  const int64_t to = query::time_of("end_time", end, now);
  store::Selection selection{{}, {}, {from - 1, to}};
  if (!host.empty() && host != "ALL") selection.tags.push_back({"host", {query::exact_pattern(host)}});
  StackSums sums;
  query::Budget budget(limits_);
  store().stacks(selection, [&](const store::Stack &stack) {
    if (!is_of_cpus(stack)) return;
    budget.reserve(1);
    budget.work(1);
    if (sums.size() > limits_.series) throw query::TooMuch("too many stacks in this time range; use a shorter one");
    for (const store::Field &field : stack.fields)
      if (field.name == "profile.samples") sums[reference_stack(stack)] += field.value;
  });
  return {200, request.path.starts_with("/stacks") ? sums_json(sums) : tree_json(sums)};
}

Answer Api::experiments(const Request &request) {
  const bool workloads = request.path.starts_with("/tests");
  std::string name = request.path.substr(workloads ? 6 : 12);
  if (name.starts_with('/'))
    name.erase(0, 1);
  else if (!name.empty())
    return not_found();
  if (request.method == "GET" || request.method == "HEAD") return list_experiments(request, workloads, name);
  // Protects against cross-site requests: the page of another site can make a browser send a form, but not JSON.
  if (!request.content_type.starts_with("application/json") && request.method == "POST")
    return error_answer(415, "Content-Type must be application/json");
  if (request.method == "POST" && name.empty()) return put_experiments(request);
  if (request.method != "DELETE" || name.empty()) return wrong_method(request);
  const std::string workload = workloads ? request.text("test_name") : "";
  if (workloads && workload.empty()) throw Wrong("missing test_name; use DELETE /tests/EXPERIMENT?test_name=WORKLOAD");
  log().remove(name, workload);
  return {204, ""};
}

experiments::ExperimentLog Api::log() const {
  if (stores_.size() > 1) throw Wrong("this server reads several stores; write experiments to a server of one, or by the command");
  return {host_, stores_.empty() ? "" : stores_.front()};
}

Answer Api::list_experiments(const Request &request, bool workloads, const std::string &name) {
  const std::string where = request.text("where");
  const std::string wanted = !name.empty() ? name : where.empty() ? "" : body_text(where, "experiment_id");
  const std::string user = where.empty() ? "" : body_text(where, "username");
  const std::string workload = where.empty() ? "" : body_text(where, "test_name");
  core::JsonWriter json;
  json.object().key("_items").list();
  size_t count = 0;
  for (const experiments::Experiment &one : experiments::experiments(store(), wanted)) {
    if (one.workload.empty() == workloads) continue;
    if ((!user.empty() && one.user != user) || (!workload.empty() && one.workload != workload)) continue;
    json.raw(experiments::reference_document(one));
    ++count;
  }
  if (!name.empty() && count == 0) return error_answer(404, "experiment not found");
  json.end_list().key("_links").object().end_object().key("_meta").object().key("page").integer(1);
  return {200, json.key("max_results").count(count).key("total").count(count).end_object().end_object().take()};
}

Answer Api::put_experiments(const Request &request) {
  const auto read = experiments::read_experiments(request.body, core::realtime());
  log().put(read);
  return {201, R"({"_status":"OK"})"};
}

}  // namespace atalaya::serve
