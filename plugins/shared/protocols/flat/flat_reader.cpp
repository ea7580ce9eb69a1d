// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/protocols/flat/flat_reader.h"

#include <bit>
#include <cmath>

#include "core/base/encode/flat.h"

namespace atalaya::protocols {
namespace {

using core::FlatRecord;

// As many as a JSON document may have.
constexpr size_t kMaxOfOneKind = 1024;

std::string fill(Record &to, const FlatRecord::Sample &from, const FlatRecord &record) {
  if (from.tags.size() > kMaxOfOneKind || from.fields.size() > kMaxOfOneKind) return "more than 1024 tags or fields";
  if (from.time_ns <= 0) return "time: must be nanoseconds after 1970";
  if (from.duration_ns < -1) return "duration: must be nanoseconds";
  to.kind = from.kind;
  to.time_ns = from.time_ns;
  to.duration_ns = from.duration_ns;
  to.text = from.text;
  to.tags.clear();
  to.fields.clear();
  for (const FlatRecord::Tag &tag : from.tags) {
    if (record.names()[tag.name].empty()) return "Invalid tag name: empty string";
    to.tags.push_back({record.names()[tag.name], tag.value});
  }
  for (const FlatRecord::Field &field : from.fields) {
    RecordField made{record.names()[field.name], field.type};
    if (made.name.empty()) return "Metric name was empty";
    if (field.type == ATALAYA_I64) {
      made.i64 = std::bit_cast<int64_t>(field.bits);
    } else {
      made.f64 = std::bit_cast<double>(field.bits);
      if (!std::isfinite(made.f64)) continue;
    }
    to.fields.push_back(made);
  }
  return {};
}

}  // namespace

Account FlatReader::read(std::string_view body, const Rules &rules, RecordReceiver &receiver) {
  Account account;
  while (!body.empty() && account.fatal.empty()) {
    auto record = FlatRecord::read(body);
    if (!record || record->size() == 0) {
      account = Account{};
      account.fatal = record ? "The last record is cut off" : record.error();
      return account;
    }
    for (const FlatRecord::Metric &metric : record->metrics()) receiver.declare(record->names()[metric.name], metric.info);
    record->for_each_sample([&](const FlatRecord::Sample &sample) {
      std::string wrong = fill(record_, sample, *record);
      if (wrong.empty() && !receiver.take(record_)) wrong = kTooManyNames;
      if (wrong.empty()) {
        ++account.good;
        return;
      }
      const uint64_t number = account.good + account.failed;
      refuse(account, rules, [&](std::string &out) { append_numbered(out, "sample", number, wrong); });
    });
    body.remove_prefix(record->size());
  }
  return account;
}

}  // namespace atalaya::protocols
