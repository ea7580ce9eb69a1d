// SPDX-License-Identifier: Apache-2.0
// Reads bodies of flat records (core/base/encode/flat.h), which other agents send.
#pragma once

#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// A body has one record or several. If a record is damaged, the whole body is refused; a sample that violates a rule is refused
// alone.
class FlatReader {
 public:
  Account read(std::string_view body, const Rules &rules, Taker &taker);

 private:
  Record record_;
};

}  // namespace atalaya::protocols
