// SPDX-License-Identifier: Apache-2.0
#include "plugins/tail/known_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "core/util/text.h"

namespace atalaya::tail {
namespace {

// A file of an earlier run that was not there again for so long is gone; until then its disk may just not be mounted.
constexpr int64_t kAbsent_ns = 86'400'000'000'000;

core::Descriptor open_found(const std::string &path, bool asked) {
  return core::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (asked ? 0 : O_NOFOLLOW)));
}

}  // namespace

void KnownFiles::restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments) {
  first_ = false;
  began_ns_ = began_ns;
  for (const Position &position : positions) {
    File &file = add({position.path, position.path, false});
    file.at = position;
    file.restored = true;
    place(file, position.offset);
  }
  // As if they had arrived: so a file that was truncated since then is found to be another, and its copy is read on behind them.
  for (const Segment &segment : segments) {
    File *file = by_id(segment.id);
    if (file == nullptr) {
      file = &add({});
      file->restored = true;
      file->at.id = segment.id;
    }
    file->began_skipping = std::exchange(file->at.skipping, false);
    place(*file, segment.to);
    file->at.size = std::max(file->at.size, segment.to);
    file->at.head = segment.head;
    file->at.tail = segment.tail;
  }
}

// Listed, until a look says otherwise.
File &KnownFiles::add(const Found &found) {
  File &file = *files_.emplace(++last_number_, std::make_unique<File>()).first->second;
  file.number = last_number_;
  file.found = found;
  file.listed = true;
  file.at.path = found.path;
  return file;
}

File *KnownFiles::by_id(const FileId &id) {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto &entry) { return entry.second->at.id == id; });
  return found == files_.end() ? nullptr : found->second.get();
}

std::vector<std::string> KnownFiles::families() const {
  std::set<std::string> known{context_.options.path};
  for (const auto &[number, file] : files_) known.insert(file->found.family);
  return {known.begin(), known.end()};
}

size_t KnownFiles::open_files() const {
  return static_cast<size_t>(std::count_if(files_.begin(), files_.end(), [](const auto &entry) { return !!entry.second->fd; }));
}

void KnownFiles::look(int64_t realtime_ns) {
  if (began_ns_ == 0) began_ns_ = realtime_ns;
  const auto found = find_files(context_.options.path, families());
  if (!found) return context_.say(found.error());
  for (auto &[number, file] : files_) file->listed = false;
  std::vector<const Found *> fresh;
  for (const Found &one : found.value())
    if (!look_at(one)) fresh.push_back(&one);
  for (const Found *one : fresh) meet(*one);  // last, when it is known which of the old ones are not there
  first_ = false;
}

// False: it is not known.
bool KnownFiles::look_at(const Found &found) {
  const auto now = about(found.path);
  if (!now) return true;  // gone since it was listed
  File *file = by_id(now->id);
  if (file == nullptr) return false;
  if (file->listed) return true;  // another link to it
  file->listed = true;
  file->restored = false;
  file->found = found;
  file->at.path = found.path;
  return true;
}

// Numbers of devices, and on some file systems of inodes, are others after a reboot or remount. What was read is not.
File *KnownFiles::restored_as(const Found &found, int fd, const FileId &id) {
  const auto family = [](const std::string &path, const std::string &base) {
    return path == base || !family_of(path, {base}).empty();
  };
  File *best = nullptr;
  for (auto &[number, file] : files_) {
    const Position &at = file->at;
    if (!file->restored || file->listed || at.offset == 0 || !holds(fd, at)) continue;
    const bool same_path = at.path == found.path;
    const bool moved = at.id.device != id.device && family(at.path, found.family);
    if (!moved && !(same_path && at.offset >= kSurelyCopy)) continue;
    if (best == nullptr || same_path || (best->at.path != found.path && at.offset > best->at.offset)) best = file.get();
  }
  return best;
}

bool KnownFiles::adopt(const Found &found, core::Descriptor &fd, const FileId &id) {
  File *file = restored_as(found, fd.get(), id);
  if (file == nullptr) return false;
  file->listed = true;
  file->restored = false;
  file->found = found;
  file->continues = std::exchange(file->at.id, id);
  file->at.path = found.path;
  file->changed_ns = context_.now_ns;
  file->fd = std::move(fd);
  return true;
}

void KnownFiles::meet(const Found &found) {
  if (open_files() >= context_.options.max_files)
    return context_.say("more than max_files = " + std::to_string(context_.options.max_files) + " files; " +
                        core::in_quotes(found.path) + " waits until others are finished");
  core::Descriptor fd = open_found(found.path, found.asked);
  if (!fd) {
    if (errno != ENOENT)
      context_.say(core::in_quotes(found.path) + ": " + core::error_text(errno) + "; its lines wait until the agent may read it");
    return;
  }
  const auto now = about(fd.get());
  if (!now || !now->regular || by_id(now->id) != nullptr || adopt(found, fd, now->id)) return;  // the next look sees it
  // What rotation left behind before we came was never asked for; since then, it was a file that we did not see in time.
  const bool old = !found.asked && (first_ || now->written_ns < began_ns_);
  const bool compressed = is_compressed(fd.get());
  if (compressed) context_.say(core::in_quotes(found.path) + " is compressed and not read");
  File &file = add(found);
  file.at.id = now->id;
  file.changed_ns = context_.now_ns;
  file.fd = std::move(fd);
  if (old || compressed) {
    place(file, now->size);
    file.fd.reset();
    file.at.size = now->size;
    file.written_ns = now->written_ns;
  } else if (first_ && !context_.options.from_begin) {
    place(file, last_line_begin(file.fd.get(), now->size));
  } else {
    file.unjudged = !first_ && found.rotated();
  }
}

bool KnownFiles::reopen(File &file) {
  if (!file.listed) return false;
  const auto now = about(file.at.path);
  if (!now || now->id != file.at.id || (now->size == file.at.size && now->written_ns == file.written_ns)) return false;
  if (open_files() >= context_.options.max_files) return false;
  core::Descriptor fd = open_found(file.at.path, file.found.asked);
  if (!fd && errno != ENOENT)
    context_.say(core::in_quotes(file.at.path) + ": " + core::error_text(errno) + "; its lines wait until the agent may read it");
  if (!fd) return false;
  const auto opened = about(fd.get());
  if (!opened || opened->id != file.at.id) return false;
  file.fd = std::move(fd);
  return true;
}

bool KnownFiles::forgotten(File &file) const {
  if (file.listed) file.unlisted_ns = 0;
  if (file.listed) return false;
  if (file.unlisted_ns == 0) file.unlisted_ns = context_.now_ns;
  if (file.fd) return file.unjudged;
  return context_.now_ns - file.unlisted_ns >= (file.restored ? kAbsent_ns : context_.options.linger_ns);
}

void KnownFiles::drop_gone() {
  for (auto it = files_.begin(); it != files_.end();) {
    File &file = *it->second;
    if (!forgotten(file)) {
      ++it;
      continue;
    }
    if (!file.unjudged && file.at.size > file.at.offset) {
      context_.losses.unseen_bytes += file.at.size - file.at.offset;
      context_.say(core::in_quotes(file.at.path) + " is gone; at least " + std::to_string(file.at.size - file.at.offset) +
                   " bytes of it were not read");
    }
    it = files_.erase(it);
  }
}

}  // namespace atalaya::tail
