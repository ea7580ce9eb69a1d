// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/wire/client.h"

#include <Poco/Exception.h>
#include <Poco/URI.h>
#include <atalaya/plugin.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <exception>
#include <utility>

#include "core/base/now.h"
#include "plugins/shared/io/http/client/words.h"
#include "plugins/shared/io/secret/secret.h"

namespace atalaya::store::clickhouse {
namespace {

// Beyond this size the server sorts and adds up on its disk. A limit of a user's profile ends a query with an error: a
// mode "break", or a shard that is passed over, would make a part of the answer look like all of it.
constexpr std::string_view kSelectSettings =
    "&max_bytes_before_external_sort=268435456&max_bytes_before_external_group_by=268435456"
    "&distributed_aggregation_memory_efficient=1&max_query_size=1048576&skip_unavailable_shards=0&read_overflow_mode=throw"
    "&timeout_overflow_mode=throw&sort_overflow_mode=throw&group_by_overflow_mode=throw&result_overflow_mode=throw"
    "&set_overflow_mode=throw&distinct_overflow_mode=throw&transfer_overflow_mode=throw";
// An acknowledged row of a Distributed table is on its shard.
constexpr std::string_view kInsertSettings = "&insert_distributed_sync=1";
// Rows that are collected first are in memory only when they are acknowledged, and refused together with those of others.
constexpr std::string_view kInsertAtOnce = "&async_insert=0";

// Between two attempts with a failed server of a list. A dead host costs the time limit of a connection each time.
constexpr int64_t kLongestPause_ns = 300'000'000'000;

// Errors of ClickHouse, by number.
constexpr int kUnknownTable = 60;
constexpr int kUnknownDatabase = 81;
constexpr int kTimeoutExceeded = 159;
constexpr int kReadonly = 164;
constexpr std::array kNotLetIn = {192, 193, 194, 195, 516, 497};
// Errors of constraints and materialized views, and values beyond the type of another program's column. An error of
// parsing is not among them: the rows are well formed, so somebody has changed the table.
constexpr std::array kRowErrorCodes = {131, 321, 349, 395, 407, 469};

std::string default_of(Type type) {
  switch (type) {
    case Type::u8:
      return "toUInt8(0)";
    case Type::u64:
      return "toUInt64(0)";
    case Type::i64:
      return "toInt64(0)";
    case Type::f64:
      return "toFloat64(0)";
    case Type::text:
      return "''";
    case Type::texts:
      return "emptyArrayString()";
    case Type::u8s:
      return "emptyArrayUInt8()";
    case Type::i64s:
      return "emptyArrayInt64()";
    case Type::f64s:
      return "emptyArrayFloat64()";
  }
  return {};
}

// The query's rows, each with 0 in front, and after them one with 1: the answer is whole if that one came. Servers write an error
// that comes late into the midst of the rows, and a connection that breaks may look like an end.
Sql framed(const Query &query) {
  Sql sql("SELECT * FROM (SELECT toUInt8(0) AS last");
  for (const Column &column : query.columns) sql << ", " << column.expression << " AS " << column.name;
  sql << " FROM " << query.from << " UNION ALL SELECT toUInt8(1) AS last";
  for (const Column &column : query.columns) sql << ", " << default_of(column.type).c_str() << " AS " << column.name;
  sql << ") ORDER BY last, " << query.order << " FORMAT RowBinary";
  return sql;
}

[[noreturn]] void throw_unusable(const std::string &shown) {
  throw Error(Cause::config, shown +
                                 " names no database that can be used; write http://host:8123/database, with letters, "
                                 "digits and _ in the database's name");
}

// A server that did not respond, or whose proxy did not reach it.
class Unreachable : public Error {
 public:
  using Error::Error;
};

bool is_unreachable(int status) {
  return status == 502 || status == 503 || status == 504;
}

std::vector<std::string> names_of(const Location &location) {
  std::vector<std::string> names;
  for (size_t i = 0; i < location.urls.size(); ++i) names.push_back(location.name(i));
  return names;
}

}  // namespace

bool is_plain_name(std::string_view name) {
  const auto is_plain = [](char byte) {
    return byte == '_' || (static_cast<unsigned char>(byte) < 0x80 && std::isalnum(byte) != 0);
  };
  return !name.empty() && std::all_of(name.begin(), name.end(), is_plain);
}

std::string Location::name() const {
  std::string name = "clickhouse:";
  for (size_t i = 0; i < urls.size(); ++i) name += (i == 0 ? "" : ",") + urls[i].text;
  return name + "/" + database;
}

namespace {

// The database may be missing.
Location parse_server(const std::string &text) {
  Location location;
  try {
    http_client::Url &url = location.urls.emplace_back(http_client::parse_url(text, "/"));
    Poco::URI uri(url.target);
    location.database = uri.getPath().substr(1);
    for (const auto &[key, value] : uri.getQueryParameters()) {
      if (key == "basic") {
        location.basic = value;
      } else if (key == "ca") {
        location.tls.ca = value;
      } else if (key == "certificate") {
        location.tls.certificate = value;
      } else if (key == "key") {
        location.tls.key = value;
      } else {
        throw Error(Cause::config,
                    "a ClickHouse database takes no \"" + key + "\" behind the ?; it takes basic, ca, certificate and key");
      }
    }
  } catch (const Failure &failure) {
    throw Error(Cause::config, failure.what());
  } catch (const Poco::Exception &problem) {
    throw Error(Cause::config, "a url cannot be read (" + problem.displayText() + "); write http://host:8123/database");
  }
  std::string &shown = location.urls.front().text;
  if (!location.database.empty() && !is_plain_name(location.database)) throw_unusable(shown);
  shown.erase(shown.find('/', shown.find("//") + 2));
  return location;
}

// Of servers with the same data: what one does not say is that of the last one.
Location joined(std::vector<Location> servers) {
  Location all = std::move(servers.back());
  servers.pop_back();
  if (all.database.empty()) throw_unusable(all.urls.front().text);
  std::vector<http_client::Url> urls;
  for (Location &server : servers) {
    if (!server.database.empty() && server.database != all.database)
      throw Error(Cause::config, "servers of one list have the same data, but " + server.name() + " and " + all.name() +
                                     " are different databases; write them as two stores, or two sinks");
    urls.push_back(std::move(server.urls.front()));
    if (all.basic.empty()) all.basic = server.basic;
    if (all.tls.ca.empty()) all.tls.ca = server.tls.ca;
    if (all.tls.certificate.empty()) all.tls.certificate = server.tls.certificate;
    if (all.tls.key.empty()) all.tls.key = server.tls.key;
  }
  urls.push_back(std::move(all.urls.front()));
  all.urls = std::move(urls);
  return all;
}

}  // namespace

Location parse_location(const std::vector<std::string> &texts) {
  if (texts.empty()) throw_unusable("an empty list");
  std::vector<Location> servers;
  servers.reserve(texts.size());
  for (const std::string &text : texts) servers.push_back(parse_server(text));
  return joined(std::move(servers));
}

Location parse_location(std::string_view text) {
  std::vector<std::string> servers(1);
  for (const char byte : text.substr(0, text.find('?'))) {
    if (byte == ',') {
      servers.emplace_back();
    } else {
      servers.back() += byte;
    }
  }
  if (const size_t options = text.find('?'); options != std::string_view::npos) servers.back() += text.substr(options);
  return parse_location(servers);
}

Refusal refusal_of(std::string_view body) {
  Refusal refusal;
  constexpr std::string_view kCode = "Code: ";
  if (const size_t at = body.find(kCode); at != std::string_view::npos)
    std::from_chars(body.data() + at + kCode.size(), body.data() + body.size(), refusal.code);
  constexpr std::string_view kWords = "DB::Exception: ";
  if (const size_t at = body.find(kWords); at != std::string_view::npos) body.remove_prefix(at + kWords.size());
  body = body.substr(0, body.find(", e.what() ="));
  refusal.server_message = http_client::error_message(body);
  return refusal;
}

bool belongs_to_rows(int code) {
  return std::find(kRowErrorCodes.begin(), kRowErrorCodes.end(), code) != kRowErrorCodes.end();
}

Client::Client(ClientOptions options)
    : options_(std::move(options)),
      name_(options_.location.name()),
      server_names_(names_of(options_.location)),
      targets_(options_.location.urls, {}, kLongestPause_ns),
      connection_(connection_options_, deadlines_),
      compressor_(io::make_compressor(options_.compress, 1)) {
  connection_options_.timeout = options_.timeout;
  connection_options_.deadline = options_.deadline;
  connection_options_.connect = options_.connect;
  try {
    const auto &urls = options_.location.urls;
    if (std::any_of(urls.begin(), urls.end(), [](const http_client::Url &url) { return url.tls; }))
      connection_options_.tls = http_client::tls_context(options_.location.tls);
  } catch (const Failure &failure) {
    throw Error(Cause::config, name_ + ": " + failure.what());
  }
}

Client::~Client() = default;

void Client::connect() {
  const size_t before = server_;
  std::string problems = std::exchange(why_, {});
  connected_ = false;
  for (const size_t server : targets_.order(core::monotonic())) {
    try {
      connect_to(server);
      if (options_.warn && server != before)
        options_.warn("uses " + server_name() + " instead of " + server_names_[before] + problems);
      return;
    } catch (const Error &error) {
      if (error.cause() != Cause::retry || servers() == 1) throw;
      targets_.mark_failed(server, 0, core::monotonic());
      problems += std::string("; ") + error.what();
    }
  }
  throw Error(Cause::retry, name_ + ": no server responds" + problems);
}

void Client::give_up(const std::string &why) {
  why_ = "; " + why;
  targets_.mark_failed(server_, 0, core::monotonic());
  connected_ = false;
}

bool Client::could_return() const {
  const auto first = targets_.pick(0, core::monotonic());
  return first && first->index < server_;
}

void Client::connect_to(size_t server) {
  server_ = server;
  std::string answer;
  const auto reader = [&](std::string_view piece) { return answer += piece, answer.size() < 100; };
  const http_client::Answer head = ask("", "SELECT version()", {}, reader);
  if (head.status != 200) fail(head);
  const auto version = server_version(answer);
  if (!version)
    throw Error(Cause::config,
                server_name() + ": the server is not ClickHouse; write the port of its HTTP interface, usually 8123");
  version_ = *version;
  connected_ = true;
}

http_client::Answer Client::ask(const std::string &settings, std::string_view body, std::string_view encoding,
                                const http_client::BodyReader &reader) {
  try {
    const std::string authorization =
        options_.location.basic.empty() ? "" : http_client::basic_authorization(io::read_secret(options_.location.basic));
    const std::string target = "/?database=" + options_.location.database + settings;
    return connection_.exchange(targets_.url(server_), {"POST", target, "application/octet-stream", encoding, authorization, body},
                                reader);
  } catch (const Failure &failure) {
    throw Error(Cause::retry, server_name() + ": " + failure.what());
  } catch (const http_client::NoAnswer &none) {
    throw Unreachable(Cause::retry, server_name() + ": " + none.what());
  }
}

void Client::fail(const http_client::Answer &answer) const {
  const Refusal refusal = refusal_of(answer.body);
  const std::string said = server_name() + " answered " + std::to_string(answer.status) + ": " + refusal.server_message;
  if (refusal.code == kUnknownDatabase)
    throw Error(Cause::config, said + "; make it: CREATE DATABASE " + options_.location.database);
  if (answer.status == 401 || answer.status == 403 ||
      std::find(kNotLetIn.begin(), kNotLetIn.end(), refusal.code) != kNotLetIn.end())
    throw Error(Cause::config, said + "; check the file with user:password in `basic`, and the rights of that user");
  if (refusal.code == kReadonly)
    throw Error(Cause::config, said + "; a user that reads needs readonly = 2, one that writes readonly = 0");
  if (refusal.code == kUnknownTable) throw Error(Cause::config, said);
  if (is_unreachable(answer.status)) throw Unreachable(Cause::retry, said);
  throw Error(Cause::retry, said);
}

void Client::execute(const Sql &sql) {
  const Sql::Rendered rendered = sql.render(version_);
  const http_client::Answer answer = ask(rendered.parameters, rendered.text, {});
  if (answer.status != 200) fail(answer);
}

void Client::execute_on_cluster(const Sql &sql) {
  const auto response_timeout = std::chrono::floor<std::chrono::seconds>(std::min(options_.timeout, options_.deadline) / 2);
  const Sql::Rendered rendered = sql.render(version_);
  const std::string settings = "&distributed_ddl_task_timeout=" + std::to_string(std::max<int64_t>(1, response_timeout.count()));
  const http_client::Answer answer = ask(settings + rendered.parameters, rendered.text, {});
  if (answer.status != 200 && refusal_of(answer.body).code != kTimeoutExceeded) fail(answer);
}

void Client::select(const Query &query, const RowVisitor &visitor) {
  bool began = false;
  const auto notice = [&](const std::vector<Cell> &row) {
    began = true;
    return visitor(row);
  };
  for (size_t left = servers();; --left) {
    try {
      return select_on_server(query, notice);
    } catch (const Unreachable &problem) {
      if (began || left == 1) throw;
      give_up(problem.what());
      connect();
    }
  }
}

void Client::select_on_server(const Query &query, const RowVisitor &visitor) {
  const Sql::Rendered rendered = framed(query).render(version_);
  std::vector<Type> types;
  types.reserve(query.columns.size());
  for (const Column &column : query.columns) types.push_back(column.type);
  RowStream rows(types, visitor);
  std::string settings(kSelectSettings);
  const auto seconds = std::chrono::ceil<std::chrono::seconds>(options_.execution).count();
  if (seconds > 0) settings += "&max_execution_time=" + std::to_string(seconds);
  const http_client::Answer answer =
      ask(settings + rendered.parameters, rendered.text, {}, [&](std::string_view piece) { return rows.take(piece); });
  if (answer.status != 200) fail(answer);
  rows.finish(server_name());
}

std::optional<Refusal> Client::insert(std::string_view table_and_columns, std::string_view rows) {
  compressor_->compress(std::span(&rows, 1), body_);
  const std::string statement = "INSERT INTO " + std::string(table_and_columns) + " FORMAT RowBinary";
  const std::string settings = std::string(kInsertSettings).append(version_.collects_inserts() ? kInsertAtOnce : "");
  const http_client::Answer answer = ask(settings + "&query=" + url_encode(statement), body_, compressor_->encoding());
  if (answer.status == 200) return std::nullopt;
  Refusal refusal = refusal_of(answer.body);
  if (!belongs_to_rows(refusal.code)) fail(answer);
  return refusal;
}

}  // namespace atalaya::store::clickhouse
