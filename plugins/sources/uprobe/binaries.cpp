// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/uprobe/binaries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/files.h"
#include "core/base/text.h"
#include "plugins/shared/symbols/process_root.h"

namespace atalaya::uprobe {
namespace {

constexpr int64_t kFirstPause = 1'000'000'000, kLongestPause = 60'000'000'000;

}  // namespace

Binaries::Binaries(std::vector<Region> regions, Attach attach, Say say) : attach_(std::move(attach)), say_(std::move(say)) {
  for (Region &region : regions) {
    watched_.emplace_back();
    watched_.back().region = std::move(region);
  }
}

void Binaries::look(int64_t now_ns) {
  for (uint32_t i = 0; i < watched_.size(); ++i) look(i, watched_[i], now_ns);
}

std::string Binaries::where(const Watched &watched) {
  return "region " + core::in_quotes(watched.region.name) + ": ";
}

// By when it was changed: a copy may bring the time of its model with it.
Binaries::Stamp Binaries::stamp_of(const struct stat &info) {
  return {info.st_dev, info.st_ino, info.st_size, int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec};
}

// A file that is gone is no reason to let go: processes go on to run it, and the next one comes under its name.
void Binaries::look(uint32_t index, Watched &watched, int64_t now_ns) {
  const std::string &path = watched.region.binary;
  watched.is_current = false;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return note(watched, path + ": " + core::error_text(errno) + (errno == ENOENT ? "; it is waited for" : ""));
  if (stamp_of(info) == watched.stamp) {
    if (watched.now) return come_back(watched);
    if (now_ns < watched.retry_ns) return;
  }
  const core::Descriptor file = symbols::open_regular(path);
  if (!file || ::fstat(file.get(), &info) != 0)
    return note(watched, path + " cannot be read, or is no file; run as root or add CAP_DAC_READ_SEARCH");
  attach(index, watched, file.get(), stamp_of(info));
  watched.pause_ns = watched.now ? 0 : std::clamp(2 * watched.pause_ns, kFirstPause, kLongestPause);
  watched.retry_ns = now_ns + watched.pause_ns;
}

void Binaries::come_back(Watched &watched) const {
  watched.is_current = true;
  note(watched, {});
}

void Binaries::attach(uint32_t index, Watched &watched, int file, const Stamp &stamp) {
  // What was written anew in place is not the code any more that the probe was made for.
  const bool replaced = watched.now && !stamp.same_file(watched.stamp);
  if (replaced) watched.before = std::move(watched.now);
  if (stamp != watched.stamp) {
    watched.now.reset();
    watched.points.reset();
    watched.pause_ns = 0;
  }
  watched.stamp = stamp;
  if (!try_attach(index, watched, file)) return;
  if (replaced) say_(false, where(watched) + "the file that has replaced its binary is seen, too");
  come_back(watched);
}

// What was found in the file stays found: the kernel may be short of something that comes later.
bool Binaries::try_attach(uint32_t index, Watched &watched, int file) {
  watched.refused = false;
  if (!watched.points) {
    auto points = resolve(watched.region, file);
    if (!points) return note(watched, points.error()), false;
    watched.points = *points;
  }
  auto attached = attach_(index, file, *watched.points);
  watched.refused = !attached;
  if (!attached) return note(watched, attached.error()), false;
  watched.now = std::move(*attached);
  return true;
}

void Binaries::note(Watched &watched, std::string problem) const {
  if (problem == watched.problem) return;
  if (problem.empty())
    say_(false, where(watched) + "it is seen now");
  else
    say_(true, where(watched) + problem);
  watched.problem = std::move(problem);
}

std::string Binaries::hopeless() const {
  const bool all_refused = std::all_of(watched_.begin(), watched_.end(), [](const Watched &watched) { return watched.refused; });
  return all_refused ? where(watched_.front()) + watched_.front().problem : std::string();
}

}  // namespace atalaya::uprobe
