// SPDX-License-Identifier: Apache-2.0
#include "plugins/store/clickhouse/writer.h"

#include <algorithm>
#include <utility>

#include "plugins/store/clickhouse/conditions.h"
#include "plugins/store/clickhouse/schema.h"

namespace atalaya::store::clickhouse {
namespace {

// A request touches so many partitions at most; servers refuse more than 100.
constexpr size_t kMostDays = 50;
// How often a request is halved while a row that is refused is looked for.
constexpr size_t kMostSearches = 256;

WriterOptions checked(const WriterOptions &options) {
  if (!options.cluster.empty() && !is_plain_name(options.cluster))
    throw Error(Cause::config, "the cluster's name has other characters than letters, digits and _");
  return options;
}

// The highest version that was written lately. A clock that was set back, or that of another agent, must not make a newer row the
// older one.
uint64_t highest_version(Client &client, int64_t now_ns) {
  const Sql recent = day_conditions({now_ns, INT64_MAX});
  Sql from("(SELECT max(version) AS highest FROM points WHERE 1");
  from << recent << " UNION ALL SELECT max(version) AS highest FROM stacks WHERE 1" << recent
       << " UNION ALL SELECT max(version) AS highest FROM spans WHERE 1)";
  uint64_t highest = 0;
  client.select({{{"max(highest)", "version", Type::u64}}, from, "version"},
                [&](const std::vector<Cell> &row) { return highest = row[1].bits, true; });
  return highest;
}

}  // namespace

Writer::Writer(const WriterOptions &options, core::NameOf name_of)
    : options_(checked(options)), client_(options.client), rows_(std::move(name_of)) {}

void Writer::prepare(int64_t now_ns) {
  if (ready_) return;
  client_.connect();
  prepare_for_writing(client_, options_.cluster);
  version_ = std::max(version_, highest_version(client_, now_ns));
  ready_ = true;
}

Refused Writer::write(std::span<const atalaya_sample> samples, int64_t now_ns) {
  refused_.clear();
  try {
    prepare(now_ns);
    return put(samples, now_ns);
  } catch (...) {
    // Whatever happened to the server, it is asked anew what it has.
    ready_ = false;
    rows_.clear();
    rows_.forget();
    throw;
  }
}

Refused Writer::put(std::span<const atalaya_sample> samples, int64_t now_ns) {
  Refused refused;
  version_ = std::max(version_ + 1, static_cast<uint64_t>(std::max<int64_t>(now_ns, 0)));
  for (size_t i = 0; i < samples.size(); ++i) {
    if (!rows_.add(samples[i], i, version_, refused))
      refused_.push_back({i, kAllFields, {0, "its time is before 1970 or after 2099, and the tables have no partition for it"}});
    if (rows_.count() >= options_.batch_rows || rows_.bytes() >= options_.batch_bytes || rows_.days() >= kMostDays) send();
  }
  send();
  return refused;
}

// Series first: no point without one.
void Writer::send() {
  send(kSeriesColumns, rows_.series);
  rows_.announced();
  send(kPointsColumns, rows_.points);
  send(kStacksColumns, rows_.stacks);
  send(kSpansColumns, rows_.spans);
  rows_.clear();
}

void Writer::send(const char *columns, const TableRows &rows) {
  size_t searches = 0;
  if (!rows.places.empty()) search(columns, rows, {0, rows.places.size()}, searches);
}

// The database takes or refuses a request as a whole: what is refused is halved until the rows to blame stand alone.
void Writer::search(const char *columns, const TableRows &rows, Part part, size_t &searches) {
  const size_t begin = rows.places[part.first].begin;
  const size_t end = rows.places[part.last - 1].end;
  const auto refusal = client_.insert(columns, std::string_view(rows.bytes).substr(begin, end - begin));
  if (!refusal) return;
  if (part.last - part.first == 1 || searches++ >= kMostSearches) {
    for (size_t i = part.first; i < part.last; ++i) refused_.push_back({rows.places[i].sample, rows.places[i].field, *refusal});
    return;
  }
  const size_t middle = part.first + (part.last - part.first) / 2;
  search(columns, rows, {part.first, middle}, searches);
  search(columns, rows, {middle, part.last}, searches);
}

}  // namespace atalaya::store::clickhouse
