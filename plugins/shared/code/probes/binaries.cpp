// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/code/probes/binaries.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/files.h"
#include "core/base/text/text.h"
#include "plugins/shared/code/symbols/process/process_root.h"

namespace atalaya::probes {
namespace {

constexpr int64_t kFirstPause = 1'000'000'000, kMaxPause = 60'000'000'000;

}  // namespace

Binaries::Binaries(std::vector<Region> regions, Attach attach, Report report)
    : attach_(std::move(attach)), report_(std::move(report)) {
  for (Region &region : regions) {
    watched_.emplace_back();
    watched_.back().region = std::move(region);
  }
}

void Binaries::update(int64_t now_ns) {
  for (uint32_t i = 0; i < watched_.size(); ++i) update(i, watched_[i], now_ns);
}

std::string Binaries::prefix(const Watched &watched) {
  return "region " + core::in_quotes(watched.region.name) + ": ";
}

// Uses the change time, because a copy may keep the modification time of its original.
Binaries::FileVersion Binaries::version_of(const struct stat &info) {
  return {info.st_dev, info.st_ino, info.st_size, int64_t{info.st_ctim.tv_sec} * 1'000'000'000 + info.st_ctim.tv_nsec};
}

// Keeps the probes of a deleted file: processes may still run it, and a new file may appear under its name.
void Binaries::update(uint32_t index, Watched &watched, int64_t now_ns) {
  const std::string &path = watched.region.binary;
  watched.is_current = false;
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return set_problem(watched, path + ": " + core::error_text(errno) + (errno == ENOENT ? "; waiting for it" : ""));
  if (version_of(info) == watched.version) {
    if (watched.now) return mark_current(watched);
    if (now_ns < watched.retry_ns) return;
  }
  const core::Descriptor file = symbols::open_regular(path);
  if (!file || ::fstat(file.get(), &info) != 0)
    return set_problem(watched,
                       "cannot read " + path + " as a regular file; check the path, run as root or grant CAP_DAC_READ_SEARCH");
  attach(index, watched, file.get(), version_of(info));
  watched.pause_ns = watched.now ? 0 : std::clamp(2 * watched.pause_ns, kFirstPause, kMaxPause);
  watched.retry_ns = now_ns + watched.pause_ns;
}

void Binaries::mark_current(Watched &watched) const {
  watched.is_current = true;
  set_problem(watched, {});
}

void Binaries::attach(uint32_t index, Watched &watched, int file, const FileVersion &version) {
  // After a rewrite in place, the probe's offset no longer matches the code.
  const bool replaced = watched.now && !version.same_file(watched.version);
  if (replaced) watched.before = std::move(watched.now);
  if (version != watched.version) {
    watched.now.reset();
    watched.points.reset();
    watched.pause_ns = 0;
  }
  watched.version = version;
  if (!try_attach(index, watched, file)) return;
  if (replaced) report_(false, prefix(watched) + "also attached to the file that replaced its binary");
  mark_current(watched);
}

// Keeps the resolved points: a refusal of the kernel may be temporary.
bool Binaries::try_attach(uint32_t index, Watched &watched, int file) {
  watched.refused = false;
  if (!watched.points) {
    auto points = resolve(watched.region, file);
    if (!points) return set_problem(watched, points.error()), false;
    watched.points = *points;
  }
  auto attached = attach_(index, file, *watched.points);
  watched.refused = !attached;
  if (!attached) return set_problem(watched, attached.error()), false;
  watched.now = std::move(*attached);
  return true;
}

void Binaries::set_problem(Watched &watched, std::string problem) const {
  if (problem == watched.problem) return;
  if (problem.empty())
    report_(false, prefix(watched) + "attached");
  else
    report_(true, prefix(watched) + problem);
  watched.problem = std::move(problem);
}

std::string Binaries::fatal_error() const {
  const bool all_refused = std::all_of(watched_.begin(), watched_.end(), [](const Watched &watched) { return watched.refused; });
  return all_refused ? prefix(watched_.front()) + watched_.front().problem : std::string();
}

}  // namespace atalaya::probes
