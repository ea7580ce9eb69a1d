// SPDX-License-Identifier: Apache-2.0
// Converts bodies of requests to records: OpenTSDB's puts, BDWatchdog's stacks, Atalaya's JSON lines. Pure.
#pragma once

#include <string_view>

#include "core/base/result.h"
#include "plugins/shared/protocols/base/record.h"
#include "plugins/shared/protocols/opentsdb/document.h"

namespace atalaya::protocols {

// DocumentReader::kPadding bytes after each body must be readable. One thread.
class JsonReader {
 public:
  Account read_put(std::string_view body, const Rules &rules, RecordReceiver &receiver);
  Account read_stacks(std::string_view body, const Rules &rules, RecordReceiver &receiver);
  // One document per line, each a point, a stack, a span or a sample. An invalid line does not affect the others.
  Account read_lines(std::string_view body, const Rules &rules, RecordReceiver &receiver);

 private:
  // Each of these fills record_.
  core::Status point(const Document &document, bool strict);
  core::Status stack(const Document &document);
  core::Status span(const Document &document);
  core::Status sample(const Document &document);
  core::Status line(const Document &document);
  core::Status add_tags(const Document &document, std::string_view except = {});
  core::Status add_fields(const Document &document);

  DocumentReader documents_;
  Record record_;
};

}  // namespace atalaya::protocols
