// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>

namespace atalaya::store {

// The reaction to an error.
enum class Cause {
  retry,      // busy, an I/O error: may work later
  full,       // no space on the disk: may work after something was deleted
  permanent,  // damaged database, impossible value
  config,     // the path or the file cannot work: tell the operator
};

// The store failed. The cause selects the reaction, far above the statement that failed.
class Error : public std::runtime_error {
 public:
  Error(Cause cause, const std::string &text) : std::runtime_error(text), cause_(cause) {}
  Cause cause() const { return cause_; }

 private:
  Cause cause_;
};

}  // namespace atalaya::store
