// SPDX-License-Identifier: Apache-2.0
// The results of format readers: records, and counts of accepted and refused documents.
#pragma once

#include <atalaya/plugin.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace atalaya::protocols {

struct RecordTag {
  std::string_view key, value;
};
struct RecordField {
  std::string_view name;
  uint32_t type = ATALAYA_F64;  // or ATALAYA_I64
  double f64 = 0;
  int64_t i64 = 0;
};

// The content of one document. Its texts are valid during the call of RecordReceiver::take.
struct Record {
  uint32_t kind = ATALAYA_METRICS;
  bool point = false;  // one field of a sample, which may be merged with others of the same tags and time
  int64_t time_ns = 0, duration_ns = 0;
  std::string_view text;
  std::vector<RecordTag> tags;
  std::vector<RecordField> fields;
};

// Receives the records of a reader.
class RecordReceiver {
 public:
  virtual ~RecordReceiver() = default;
  // Accepts a record. False: rejected, because the limit of names is reached.
  virtual bool take(const Record &record) = 0;
  // Receives the sender's declaration of a metric. False: the metric is of another kind already, so that a value of this kind would
  // be read as one of the other.
  virtual bool declare(std::string_view /*name*/, const atalaya_metric_info & /*info*/) { return true; }
};

struct Rules {
  bool strict = true;    // refuse documents that OpenTSDB refuses: characters outside its alphabet, more than 8 tags
  bool details = false;  // report the error of each refused document
};

// The result of one body.
struct Account {
  uint64_t good = 0, failed = 0;
  std::string fatal;   // the reason if the whole body is refused; no record of it is stored
  std::string errors;  // with details: members of a JSON list, one per refused document, up to kMaxErrors bytes
  std::string note;    // for OTLP: the reasons of refusals with their numbers, and the parts that are not stored; "": none
  static constexpr size_t kMaxErrors = size_t{4} << 20;
};

constexpr std::string_view kTooManyNames = "Unknown metric";  // OpenTSDB's error for a name that it does not add
constexpr std::string_view kOtherKind = "the metric is of another kind already: gauge, delta or total";

// Counts a refused document; with details `append` adds the error.
template <class Append>
void refuse(Account &account, const Rules &rules, Append &&append) {
  ++account.failed;
  if (!rules.details || account.errors.size() > Account::kMaxErrors) return;
  if (!account.errors.empty()) account.errors += ',';
  append(account.errors);
}
// Appends {"line":3,"error":"..."}. `what` is the first key: "line", or "document" or "sample" for an index in a list.
void append_numbered(std::string &out, std::string_view what, uint64_t number, std::string_view error);

}  // namespace atalaya::protocols
