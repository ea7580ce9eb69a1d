// SPDX-License-Identifier: Apache-2.0
// The files that regions lie in. One may come later, be replaced when its package is upgraded, or be written anew in place.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "plugins/sources/uprobe/backend.h"
#include "plugins/sources/uprobe/regions.h"

namespace atalaya::uprobe {

class Binaries {
 public:
  using Attach = std::function<core::Result<std::unique_ptr<Attachment>>(uint32_t region, int file, const Points &points)>;
  // What operators should know: of a problem, once, or that it is over.
  using Say = std::function<void(bool problem, std::string_view text)>;
  Binaries(std::vector<Region> regions, Attach attach, Say say);

  // Attaches what is not yet, or not to the file that has the name now. What is wrong is looked at again after a while, which grows
  // to a minute; `now_ns` is of a clock that only goes forward.
  void look(int64_t now_ns);

  // The file that had the name when it was looked for last.
  bool attached(size_t region) const { return watched_[region].is_current; }
  // When the kernel refuses all regions: why; else empty. Files may yet come or be put right.
  std::string hopeless() const;

 private:
  // Which file it was, and which content it had.
  struct Stamp {
    uint64_t device = 0, inode = 0;
    int64_t size = 0, changed_ns = 0;
    bool operator==(const Stamp &) const = default;
    bool same_file(const Stamp &with) const { return device == with.device && inode == with.inode; }
  };
  struct Watched {
    Region region;
    Stamp stamp;                         // of the file that was looked at last
    std::optional<Points> points;        // in it
    std::unique_ptr<Attachment> now;     // in it
    std::unique_ptr<Attachment> before;  // in the file that was replaced, which processes may go on to run
    std::string problem;
    int64_t pause_ns = 0, retry_ns = 0;  // between two looks at what is wrong; when the next one is
    bool is_current = false;             // `now` is in the file that has the name
    bool refused = false;                // by the kernel
  };
  static std::string where(const Watched &watched);
  static Stamp stamp_of(const struct stat &info);
  void look(uint32_t index, Watched &watched, int64_t now_ns);
  void attach(uint32_t index, Watched &watched, int file, const Stamp &stamp);
  bool try_attach(uint32_t index, Watched &watched, int file);
  void come_back(Watched &watched) const;
  void note(Watched &watched, std::string problem) const;

  Attach attach_;
  Say say_;
  std::vector<Watched> watched_;
};

}  // namespace atalaya::uprobe
