// SPDX-License-Identifier: Apache-2.0
// Keeps probes attached to the regions in binary files. A file may appear later, be replaced by a package upgrade, or be
// rewritten in place.
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
#include "plugins/shared/code/probes/attachment.h"
#include "plugins/shared/code/probes/regions.h"

namespace atalaya::probes {

class Binaries {
 public:
  using Attach = std::function<core::Result<std::unique_ptr<Attachment>>(uint32_t region, int file, const Points &points)>;
  // Receives the start of a problem (`problem` is true) or its end, each once.
  using Report = std::function<void(bool problem, std::string_view text)>;
  Binaries(std::vector<Region> regions, Attach attach, Report report);

  // Attaches each region that is not yet attached to the file that now has its name. Retries failures after a pause that grows to 1
  // minute. `now_ns`: CLOCK_MONOTONIC.
  void update(int64_t now_ns);

  // Whether the region is attached to the file that had the name at the last update.
  bool attached(size_t region) const { return watched_[region].is_current; }
  // The reason if the kernel refuses all regions; else empty. Missing or faulty files are not fatal: they may be fixed later.
  std::string fatal_error() const;

 private:
  // Identity and content version of a file.
  struct FileVersion {
    uint64_t device = 0, inode = 0;
    int64_t size = 0, changed_ns = 0;
    bool operator==(const FileVersion &) const = default;
    bool same_file(const FileVersion &other) const { return device == other.device && inode == other.inode; }
  };
  struct Watched {
    Region region;
    FileVersion version;                 // version of the file at the last update
    std::optional<Points> points;        // offsets of the region in this version of the file
    std::unique_ptr<Attachment> now;     // probes in the file that has the name
    std::unique_ptr<Attachment> before;  // probes in the replaced file, which processes may still run
    std::string problem;
    int64_t pause_ns = 0, retry_ns = 0;  // pause between two attempts; time of the next attempt
    bool is_current = false;             // `now` is attached to the file that has the name
    bool refused = false;                // the kernel refuses the region
  };
  static std::string prefix(const Watched &watched);
  static FileVersion version_of(const struct stat &info);
  void update(uint32_t index, Watched &watched, int64_t now_ns);
  void attach(uint32_t index, Watched &watched, int file, const FileVersion &version);
  bool try_attach(uint32_t index, Watched &watched, int file);
  void mark_current(Watched &watched) const;
  void set_problem(Watched &watched, std::string problem) const;

  Attach attach_;
  Report report_;
  std::vector<Watched> watched_;
};

}  // namespace atalaya::probes
