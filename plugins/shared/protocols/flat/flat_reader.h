// SPDX-License-Identifier: Apache-2.0
// Bodies of flat records (core/base/encode/flat.h), which other agents send, to samples.
#pragma once

#include <string_view>

#include "plugins/shared/protocols/base/record.h"

namespace atalaya::protocols {

// The body is one record or several. A damaged one refuses the whole body; a sample that breaks a rule is refused alone.
class FlatReader {
 public:
  Account read(std::string_view body, const Rules &rules, Taker &taker);

 private:
  Record record_;
};

}  // namespace atalaya::protocols
