// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/store/clickhouse/writer.h"

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <utility>

#include "plugins/shared/store/clickhouse/conditions.h"
#include "plugins/shared/store/clickhouse/schema.h"

namespace atalaya::store::clickhouse {
namespace {

// The maximum number of partitions of a request; servers refuse more than 100.
constexpr size_t kMaxDays = 50;
// The maximum number of requests of a call that searches for refused rows; the search goes on when the batch comes again.
constexpr size_t kMaxRequests = 1024;
// Of a request with more rows than this a few are tried alone before the search for the refused ones.
constexpr size_t kManyRows = 64;
constexpr size_t kTrials = 16;

WriterOptions checked(const WriterOptions &options) {
  if (!options.cluster.empty() && !is_plain_name(options.cluster))
    throw Error(Cause::config, "invalid name of a cluster; it has letters, digits and _");
  return options;
}

ClientOptions with_warn(const WriterOptions &options) {
  ClientOptions client = options.client;
  client.warn = options.warn;
  return client;
}

// The highest version of the spans among which these would be: those that are replaced have no higher one.
uint64_t highest_version(Client &client, std::span<const atalaya_sample> spans) {
  Range starts{INT64_MAX, INT64_MIN};
  for (const atalaya_sample &span : spans) starts = {std::min(starts.from_ns, span.time_ns), std::max(starts.to_ns, span.time_ns)};
  Sql from("spans WHERE start_ns >= ");
  from << starts.from_ns << " AND start_ns <= " << starts.to_ns << day_conditions(starts);
  uint64_t highest = 0;
  client.select({{{"max(version)", "newest", Type::u64}}, from, "newest"},
                [&](const std::vector<Cell> &row) { return highest = row[1].bits, true; });
  return highest;
}

uint64_t read_version(const std::string &path) {
  uint64_t version = 0;
  if (!path.empty()) std::ifstream(path) >> version;
  return version;
}

// Atomic. If it cannot be written, only a clock that is set back while the agent does not run has an effect.
void write_version(const std::string &path, uint64_t version) {
  if (path.empty()) return;
  const std::string fresh = path + ".new";
  std::ofstream(fresh) << version << '\n';
  (void)std::rename(fresh.c_str(), path.c_str());
}

// The content of a row without its version: the same when its batch comes again.
std::string identity(const char *columns, const TableRows &rows, const RowPlace &place) {
  return columns + rows.bytes.substr(place.begin, place.end - place.begin - sizeof(uint64_t));
}

}  // namespace

Writer::Writer(const WriterOptions &options, core::NameOf name_of, MetricOf metric_of)
    : options_(checked(options)),
      client_(with_warn(options)),
      rows_(name_of),
      declarations_(std::move(name_of), std::move(metric_of), options.warn),
      version_(read_version(options.version_file)) {}

void Writer::prepare() {
  if (ready_) return;
  client_.connect();
  if (options_.corrects) {
    check_for_reading(client_);
  } else {
    prepare_for_writing(client_, options_.cluster);
  }
  declarations_.load(client_);
  ready_ = true;
}

// Rows that a failed server has already stored come again: the last one wins, on every server of a cluster.
Refused Writer::write(std::span<const atalaya_sample> samples, int64_t now_ns) {
  if (client_.could_return()) ready_ = false;
  for (size_t left = client_.servers();; --left) {
    try {
      return write_to_server(samples, now_ns);
    } catch (const Error &error) {
      if (error.cause() != Cause::retry) throw;
      const bool is_last = left == 1 || !client_.connected();
      if (client_.connected()) client_.give_up(error.what());
      if (is_last) throw;
    }
  }
}

Refused Writer::write_to_server(std::span<const atalaya_sample> samples, int64_t now_ns) {
  refused_.clear();
  try {
    prepare();
    const Refused refused = put(samples, now_ns);
    client_.mark_available();
    known_.clear();
    write_version(options_.version_file, version_);
    return refused;
  } catch (...) {
    // Whatever happened to the server, its tables are read again.
    ready_ = false;
    rows_.clear();
    rows_.forget();
    throw;
  }
}

// A clock that was set back must not make a newer row the older one.
void Writer::next_version(std::span<const atalaya_sample> samples, int64_t now_ns) {
  version_ = std::max(version_ + 1, static_cast<uint64_t>(std::max<int64_t>(now_ns, 0)));
  if (options_.corrects && !samples.empty()) version_ = std::max(version_, highest_version(client_, samples) + 1);
}

Refused Writer::put(std::span<const atalaya_sample> samples, int64_t now_ns) {
  Refused refused;
  next_version(samples, now_ns);
  send_declarations(samples, now_ns);
  for (size_t i = 0; i < samples.size(); ++i) {
    const char *const why = rows_.add(samples[i], i, version_, refused);
    if (*why != 0) refused_.push_back({i, kAllFields, {0, why}});
    if (rows_.count() >= options_.batch_rows || rows_.bytes() >= options_.batch_bytes || rows_.days() >= kMaxDays) send();
  }
  send();
  return refused;
}

void Writer::send() {
  send_series();
  send(kPointsColumns, rows_.points);
  send(kStacksColumns, rows_.stacks);
  send(kSpansColumns, rows_.spans);
  rows_.clear();
}

void Writer::send_declarations(std::span<const atalaya_sample> samples, int64_t now_ns) {
  const std::string rows = declarations_.rows_for(samples, now_ns);
  if (rows.empty()) return;
  if (const auto refusal = client_.insert(kMetricsColumns, rows))
    throw Error(Cause::retry, name() + " refuses declarations of metrics (" + refusal->server_message +
                                  "); fix the table metrics, its constraints and views");
}

// First: no point without its series.
void Writer::send_series() {
  if (rows_.series.places.empty()) return;
  if (const auto refusal = client_.insert(kSeriesColumns, rows_.series.bytes))
    throw Error(Cause::retry, name() + " refuses series (" + refusal->server_message +
                                  "), and no point is stored without its series; fix the table series, its constraints and views");
  rows_.mark_series_written();
}

// The database accepts or refuses a request as a whole.
void Writer::send(const char *columns, const TableRows &all) {
  const TableRows rest = known_.empty() ? TableRows{} : not_known(columns, all);
  const TableRows &rows = known_.empty() ? all : rest;
  if (rows.places.empty()) return;
  const Part whole{0, rows.places.size()};
  const auto refusal = insert(columns, rows, whole);
  if (!refusal) return;
  if (whole.last >= kManyRows && !accepts_any(columns, rows))
    throw Error(Cause::retry, name() + " accepts no row (" + refusal->server_message + "): INSERT INTO " + columns +
                                  "; fix the table, its constraints and views");
  size_t requests = 0;
  search(columns, rows, whole, *refusal, requests);
}

std::optional<Refusal> Writer::insert(const char *columns, const TableRows &rows, Part part) {
  const size_t begin = rows.places[part.first].begin;
  const size_t end = rows.places[part.last - 1].end;
  return client_.insert(columns, std::string_view(rows.bytes).substr(begin, end - begin));
}

bool Writer::accepts_any(const char *columns, const TableRows &rows) {
  for (size_t i = 0; i < kTrials; ++i) {
    const size_t row = i * (rows.places.size() - 1) / (kTrials - 1);
    if (!insert(columns, rows, {row, row + 1})) return true;
  }
  return false;
}

// Halves the refused rows until each wrong row is alone.
void Writer::search(const char *columns, const TableRows &rows, Part part, const Refusal &refusal, size_t &requests) {
  if (part.last - part.first == 1) {
    const RowPlace &place = rows.places[part.first];
    refused_.push_back({place.sample, place.field, refusal});
    known_.insert_or_assign(identity(columns, rows, place), refusal);
    return;
  }
  const size_t middle = part.first + (part.last - part.first) / 2;
  for (const Part half : {Part{part.first, middle}, Part{middle, part.last}}) {
    if (requests++ >= kMaxRequests)
      throw Error(Cause::retry, name() + " refuses many rows, " + std::to_string(known_.size()) + " so far (" +
                                    refusal.server_message + "); the search goes on when the batch comes again");
    if (const auto again = insert(columns, rows, half)) search(columns, rows, half, *again, requests);
  }
}

TableRows Writer::not_known(const char *columns, const TableRows &all) {
  TableRows rest;
  rest.places.reserve(all.places.size());
  for (const RowPlace &place : all.places) {
    if (const auto known = known_.find(identity(columns, all, place)); known != known_.end()) {
      refused_.push_back({place.sample, place.field, known->second});
      continue;
    }
    const size_t begin = rest.bytes.size();
    rest.bytes.append(all.bytes, place.begin, place.end - place.begin);
    rest.places.push_back({begin, rest.bytes.size(), place.sample, place.field});
  }
  return rest;
}

}  // namespace atalaya::store::clickhouse
