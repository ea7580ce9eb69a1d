// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/tail/known_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/text.h"

namespace atalaya::tail {
namespace {

// A file of an earlier run that was not there again for so long is gone; until then its disk may just not be mounted.
constexpr int64_t kAbsent_ns = 86'400'000'000'000;
// After so long without a file that waits, the next one is news.
constexpr int64_t kCalm_ns = 3'600'000'000'000;

bool in_family(const std::string &path, const std::string &family) {
  return path.starts_with(family) && (path == family || !family_of(path, {family}).empty());
}

}  // namespace

void KnownFiles::restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments) {
  first_ = false;
  began_ns_ = began_ns;
  for (const Position &position : positions) {
    File &file = add({position.path, position.path, false}, position.id);
    file.at = position;
    file.restored = true;
    place(file, position.offset);
  }
  // As if they had arrived: so a file that was truncated since then is found to be another, and its copy is read on behind them.
  for (const Segment &segment : segments) {
    File *file = by_id(segment.id);
    if (file == nullptr) {
      file = &add({}, segment.id);
      file->restored = true;
    }
    file->wanted = true;
    file->began_skipping = std::exchange(file->at.skipping, false);
    place(*file, segment.to);
    file->at.size = std::max(file->at.size, segment.to);
    file->at.head = segment.head;
    file->at.tail = segment.tail;
  }
}

// Listed, until a look says otherwise.
File &KnownFiles::add(const Found &found, const FileId &id) {
  File &file = *files_.emplace(++last_number_, std::make_unique<File>()).first->second;
  file.number = last_number_;
  file.found = found;
  file.listed = true;
  file.at.id = id;
  file.at.path = found.path;
  ids_.emplace(id, &file);
  return file;
}

File *KnownFiles::by_id(const FileId &id) const {
  const auto found = ids_.find(id);
  return found == ids_.end() ? nullptr : found->second;
}

void KnownFiles::forget_id(const File &file) {
  if (by_id(file.at.id) == &file) ids_.erase(file.at.id);
}

std::vector<std::string> KnownFiles::families() const {
  std::set<std::string> known{context_.options.path};
  for (const auto &[number, file] : files_) known.insert(file->found.family);
  return {known.begin(), known.end()};
}

void KnownFiles::look() {
  if (began_ns_ == 0) began_ns_ = context_.realtime_ns;
  waiting_ = 0;
  before_ = std::exchange(said_, {});
  const auto found = find_files(context_.options.path, families());
  if (!found) return say_once(found.error());
  say_nothing_there(found.value());
  for (auto &[number, file] : files_) file->listed = false;
  std::vector<Fresh> fresh;
  for (const Found &one : found.value()) look_at(one, fresh);
  // Now it is known which of the old ones are not there. The older ones first, so that of a family none is read before them.
  std::sort(fresh.begin(), fresh.end(), [](const Fresh &a, const Fresh &b) {
    return written_before(a.about.written_ns, *a.found, b.about.written_ns, *b.found);
  });
  Room room(files_, context_);
  const auto others = wanted_first(fresh);
  for (auto one = fresh.begin(); one != others; ++one) meet(*one->found, room);
  open_changed(room);
  for (auto one = others; one != fresh.end(); ++one) meet(*one->found, room);
  for (auto &[number, file] : files_) file->wanted = false;
  first_ = false;
}

// What may be a wanted file under another number, or the copy of one; and where the others begin.
std::vector<KnownFiles::Fresh>::iterator KnownFiles::wanted_first(std::vector<Fresh> &fresh) const {
  std::vector<const File *> wanted;
  for (const auto &[number, file] : files_)
    if (file->wanted) wanted.push_back(file.get());
  return std::stable_partition(fresh.begin(), fresh.end(), [&](const Fresh &one) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const File *file) { return in_family(file->at.path, one.found->family); });
  });
}

void KnownFiles::look_at(const Found &found, std::vector<Fresh> &fresh) {
  const auto now = about(found.path);
  if (!now) return;  // gone since it was listed
  File *file = by_id(now->id);
  if (file == nullptr) return fresh.push_back({&found, *now});
  if (file->listed) return;  // another link to it
  file->listed = true;
  file->seen = *now;
  file->restored = false;
  file->found = found;
  file->at.path = found.path;
}

core::Descriptor KnownFiles::open_found(const Found &found) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (found.asked ? 0 : O_NOFOLLOW);
  core::Descriptor fd(::open(found.path.c_str(), flags));
  if (!fd && errno != ENOENT)
    say_once(core::in_quotes(found.path) + ": " + core::error_text(errno) + "; its lines wait until the agent may read it");
  return fd;
}

void KnownFiles::wait(const File &file) {
  if (waiting_++ == 0 && (!waited_ns_ || context_.now_ns - *waited_ns_ >= kCalm_ns))
    context_.say("more than max_files = " + std::to_string(context_.options.max_files) + " files have lines; " +
                 core::in_quotes(file.at.path) + ", and perhaps others, wait until others are read and have not grown for linger");
  waited_ns_ = context_.now_ns;
}

// What goes on is said when it begins.
void KnownFiles::say_once(const std::string &text) {
  const bool begins = said_.insert(text).second && before_.count(text) == 0;
  if (begins) context_.say(text);
}

// At the first look, as the path may be wrong; later nobody waits for a word of a file that rotation took away.
void KnownFiles::say_nothing_there(const std::vector<Found> &found) {
  const bool any = std::any_of(found.begin(), found.end(), [](const Found &one) { return one.asked; });
  if (!std::exchange(looked_, true) && !any)
    context_.say("path " + core::in_quotes(context_.options.path) + " matches no file yet; it is waited for");
}

// What was closed is opened when it has changed, or when its last line may now be read that has no end.
void KnownFiles::open_changed(Room &room) {
  std::vector<File *> closed;
  for (const auto &[number, file] : files_) {
    if (file->fd || !file->listed) continue;
    const bool changed = file->seen.size != file->at.size || file->seen.written_ns != file->written_ns;
    if (changed || (leaves(*file) && file->at.offset < file->at.size)) closed.push_back(file.get());
  }
  std::sort(closed.begin(), closed.end(), [](const File *a, const File *b) {
    if (a->wanted != b->wanted) return a->wanted;
    return written_before(a->seen.written_ns, a->found, b->seen.written_ns, b->found);
  });
  for (File *file : closed) {
    if (!file->wanted && !room.any()) {
      file->at.size = std::max(file->at.size, file->seen.size);  // its lines are counted if it is never opened
      file->written_ns = 0;                                      // it has changed until it is
      wait(*file);
    } else if (core::Descriptor fd = open_found(file->found)) {
      const auto now = about(fd.get());
      if (now && now->id == file->at.id) room.take(), file->fd = std::move(fd);
    }
  }
}

// Numbers of devices, and on some file systems of inodes, are others after a reboot or remount. What was read is not.
File *KnownFiles::restored_as(const Found &found, int fd, const FileId &id) {
  File *best = nullptr;
  for (auto &[number, file] : files_) {
    const Position &at = file->at;
    if (!file->restored || file->listed || at.offset == 0) continue;
    const bool same_path = at.path == found.path;
    const bool moved = at.id.device != id.device && in_family(at.path, found.family);
    if (!moved && !(same_path && at.offset >= kSurelyCopy)) continue;
    if (!holds(fd, at)) continue;  // last: it reads
    if (best == nullptr || same_path || (best->at.path != found.path && at.offset > best->at.offset)) best = file.get();
  }
  return best;
}

File *KnownFiles::adopt(const Found &found, core::Descriptor &fd, const FileId &id) {
  File *file = restored_as(found, fd.get(), id);
  if (file == nullptr) return nullptr;
  forget_id(*file);
  ids_.emplace(id, file);
  file->listed = true;
  file->restored = false;
  file->found = found;
  file->continues = std::exchange(file->at.id, id);
  file->at.path = found.path;
  file->changed_ns = context_.now_ns;
  file->fd = std::move(fd);
  return file;
}

// One that is not to be read is closed again.
File &KnownFiles::begin(const Found &found, core::Descriptor fd, const About &now) {
  // What rotation left behind before we came was never asked for; since then, it was a file that we did not see in time.
  const bool old = !found.asked && (first_ || now.written_ns < began_ns_);
  const bool compressed = is_compressed(fd.get());
  if (compressed) context_.say(core::in_quotes(found.path) + " is compressed and not read");
  File &file = add(found, now.id);
  file.changed_ns = context_.now_ns;
  file.fd = std::move(fd);
  if (old || compressed) {
    place(file, now.size);
    file.fd.reset();
    file.at.size = now.size;
    file.written_ns = now.written_ns;
  } else if (first_ && !context_.options.from_begin) {
    place(file, last_line_begin(file.fd.get(), now.size));
  } else {
    file.unjudged = !first_ && found.rotated();
  }
  return file;
}

void KnownFiles::meet(const Found &found, Room &room) {
  core::Descriptor fd = open_found(found);
  const auto now = fd ? about(fd.get()) : std::nullopt;
  if (!now || !now->regular || by_id(now->id) != nullptr) return;  // the next look sees it
  File *file = adopt(found, fd, now->id);
  if (file == nullptr) file = &begin(found, std::move(fd), *now);
  if (!file->fd) return;
  if (file->wanted || room.any()) return room.take();
  file->fd.reset();
  file->at.size = std::max(file->at.size, now->size);  // its lines are counted if it is never opened
  wait(*file);
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
    forget_id(file);
    it = files_.erase(it);
  }
}

}  // namespace atalaya::tail
