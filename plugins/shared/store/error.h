// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace atalaya::store {

// The reaction to an error.
enum class Cause {
  retry,      // busy, or an I/O error: may succeed later
  full,       // no space on the disk: may succeed after something was deleted
  permanent,  // damaged database, impossible value
  config,     // the path or the file is unusable: the operator must act
};

// A failure of the store. The cause selects the reaction of the caller.
class Error : public std::runtime_error {
 public:
  Error(Cause cause, const std::string &text) : std::runtime_error(text), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

}  // namespace atalaya::store
