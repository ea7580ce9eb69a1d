// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "plugins/shared/store/sqlite/file/database.h"
#include "plugins/shared/store/sqlite/packing/packer.h"

namespace atalaya::store {

// A window that receives samples later than this after its first one is late: `late_windows` has the arrival of its last
// samples. So arrival times are exact to this error.
constexpr int64_t kLateNs = 10'000'000'000;

// The row of `windows` to which samples of this time and duration refer.
struct Window {
  int64_t time_ns = 0, duration_ns = 0, id = 0;
  bool is_new = false;          // only samples of the current batch refer to the window
  std::vector<int64_t> others;  // windows that end at the same time and have another duration or are packed
};

// The windows of a batch that is being written. Calls are in its transaction. Ids ascend; an id is not used again while
// anything refers to it, or while the writer exists.
class WindowList {
 public:
  WindowList(Database &database, Packer &packer);

  void start_batch() { last_.reset(); }
  // Returns the window; creates it if it is missing, and informs the packer. Valid until the next call.
  const Window &find_or_add(int64_t time_ns, int64_t duration_ns, int64_t now_ns);

 private:
  Packer &packer_;
  Statement find_, add_, note_late_;
  std::optional<Window> last_;
  int64_t next_id_;
};

}  // namespace atalaya::store
