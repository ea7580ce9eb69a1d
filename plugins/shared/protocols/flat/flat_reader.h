// SPDX-License-Identifier: Apache-2.0
// Reads bodies of flat records (drawn in core/base/encode/flat.h), which other agents send.
//   RECORD...    each with its own table of names; the first record of a connection that has a metric declares it
// Refused as a whole: a body with a damaged or cut record. Refused alone: a sample without a time after 1970, with a duration
// below -1, with more than 1024 tags or fields, or with an empty name. Values that are not finite are left out.
#pragma once

#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// A body has one record or several. If a record is damaged, the whole body is refused; a sample that violates a rule is refused
// alone.
class FlatReader {
 public:
  Account read(std::string_view body, const Rules &rules, RecordReceiver &receiver);

 private:
  Record record_;
};

}  // namespace atalaya::protocols
