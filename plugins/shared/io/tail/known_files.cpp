// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/known_files.h"

#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "core/base/text/text.h"

namespace atalaya::tail {
namespace {

// Time after which a missing file of an earlier run counts as deleted; until then its disk may just not be mounted.
constexpr int64_t kMaxAbsence_ns = 86'400'000'000'000;
// A waiting file is logged only if no file waited for at least this time.
constexpr int64_t kLogInterval_ns = 3'600'000'000'000;

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
  // Treats them as read, so that a file truncated since then is detected and its copy is continued after them.
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

// A new file counts as listed until the next scan.
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

void KnownFiles::scan() {
  if (began_ns_ == 0) began_ns_ = context_.realtime_ns;
  waiting_ = 0;
  before_ = std::exchange(logged_, {});
  const auto found = find_files(context_.options.path, families());
  if (!found) return log_once(found.error());
  log_no_match(found.value());
  for (auto &[number, file] : files_) file->listed = false;
  std::vector<NewFile> fresh;
  for (const Found &one : found.value()) check_found(one, fresh);
  // Missing files are known now. Older files of a family come first, so that they are read first.
  std::sort(fresh.begin(), fresh.end(), [](const NewFile &a, const NewFile &b) {
    return written_before(a.status.written_ns, *a.found, b.status.written_ns, *b.found);
  });
  OpenSlots slots(files_, context_);
  const auto others = wanted_first(fresh);
  for (auto one = fresh.begin(); one != others; ++one) add_new(*one->found, slots);
  open_changed(slots);
  for (auto one = others; one != fresh.end(); ++one) add_new(*one->found, slots);
  for (auto &[number, file] : files_) file->wanted = false;
  first_ = false;
}

// Moves the files to the front that may be a known file with another inode, or a copy of one; returns the first of the others.
std::vector<KnownFiles::NewFile>::iterator KnownFiles::wanted_first(std::vector<NewFile> &fresh) const {
  std::vector<const File *> wanted;
  for (const auto &[number, file] : files_)
    if (file->wanted) wanted.push_back(file.get());
  return std::stable_partition(fresh.begin(), fresh.end(), [&](const NewFile &one) {
    return std::any_of(wanted.begin(), wanted.end(), [&](const File *file) { return in_family(file->at.path, one.found->family); });
  });
}

void KnownFiles::check_found(const Found &found, std::vector<NewFile> &fresh) {
  const auto now = status_of(found.path);
  if (!now) return;  // deleted since it was listed
  File *file = by_id(now->id);
  if (file == nullptr) return fresh.push_back({&found, *now});
  if (file->listed) return;  // another link to the same file
  file->listed = true;
  file->seen = *now;
  file->restored = false;
  file->found = found;
  file->at.path = found.path;
}

core::Descriptor KnownFiles::open_found(const Found &found) {
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (found.matched ? 0 : O_NOFOLLOW);
  core::Descriptor fd(::open(found.path.c_str(), flags));
  if (!fd && errno != ENOENT)
    log_once(core::in_quotes(found.path) + ": " + core::error_text(errno) +
             "; give the agent read access; until then its lines wait");
  return fd;
}

void KnownFiles::wait(const File &file) {
  if (waiting_++ == 0 && (!waited_ns_ || context_.now_ns - *waited_ns_ >= kLogInterval_ns))
    context_.log("more than max_files = " + std::to_string(context_.options.max_files) + " files have unread lines; " +
                 core::in_quotes(file.at.path) +
                 " and possibly others wait until another file is read to its end and has not grown for linger");
  waited_ns_ = context_.now_ns;
}

// Logs a problem when it begins.
void KnownFiles::log_once(const std::string &text) {
  const bool begins = logged_.insert(text).second && before_.count(text) == 0;
  if (begins) context_.log(text);
}

// Logs a pattern without files only at the first scan, because the path may be wrong; later, rotation may have moved all files.
void KnownFiles::log_no_match(const std::vector<Found> &found) {
  const bool any = std::any_of(found.begin(), found.end(), [](const Found &one) { return one.matched; });
  if (!std::exchange(scanned_, true) && !any)
    context_.log("path " + core::in_quotes(context_.options.path) + " matches no file yet; waiting for one");
}

// Opens closed files that have changed, or whose last line without a newline may be read now.
void KnownFiles::open_changed(OpenSlots &slots) {
  std::vector<File *> closed;
  for (const auto &[number, file] : files_) {
    if (file->fd || !file->listed) continue;
    const bool changed = file->seen.size != file->at.size || file->seen.written_ns != file->written_ns;
    if (changed || (is_retired(*file) && file->at.offset < file->at.size)) closed.push_back(file.get());
  }
  std::sort(closed.begin(), closed.end(), [](const File *a, const File *b) {
    if (a->wanted != b->wanted) return a->wanted;
    return written_before(a->seen.written_ns, a->found, b->seen.written_ns, b->found);
  });
  for (File *file : closed) {
    if (!file->wanted && !slots.any()) {
      file->at.size = std::max(file->at.size, file->seen.size);  // counts its lines as unread if it is never opened
      file->written_ns = 0;                                      // counts as changed until it is opened
      wait(*file);
    } else if (core::Descriptor fd = open_found(file->found)) {
      const auto now = status_of(fd.get());
      if (now && now->id == file->at.id) slots.reserve(), file->fd = std::move(fd);
    }
  }
}

// Device numbers, and on some file systems inodes, change at a reboot or remount; the contents do not.
File *KnownFiles::restored_as(const Found &found, int fd, const FileId &id) {
  File *best = nullptr;
  for (auto &[number, file] : files_) {
    const Position &at = file->at;
    if (!file->restored || file->listed || at.offset == 0) continue;
    const bool same_path = at.path == found.path;
    const bool moved = at.id.device != id.device && in_family(at.path, found.family);
    if (!moved && !(same_path && at.offset >= kMinCopyBytes)) continue;
    if (!matches(fd, at)) continue;  // checked last, because it reads the file
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

// Opens a file; one that must not be read is closed again.
File &KnownFiles::begin(const Found &found, core::Descriptor fd, const FileStatus &now) {
  // Files that were rotated before the first scan are not read; those rotated later are read, because no scan has seen them before.
  const bool old = !found.matched && (first_ || now.written_ns < began_ns_);
  const bool compressed = is_compressed(fd.get());
  if (compressed) context_.log(core::in_quotes(found.path) + " is compressed and is not read");
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
    file.may_be_copy = !first_ && found.rotated();
  }
  return file;
}

void KnownFiles::add_new(const Found &found, OpenSlots &slots) {
  core::Descriptor fd = open_found(found);
  const auto now = fd ? status_of(fd.get()) : std::nullopt;
  if (!now || !now->regular || by_id(now->id) != nullptr) return;  // the next scan handles it
  File *file = adopt(found, fd, now->id);
  if (file == nullptr) file = &begin(found, std::move(fd), *now);
  if (!file->fd) return;
  if (file->wanted || slots.any()) return slots.reserve();
  file->fd.reset();
  file->at.size = std::max(file->at.size, now->size);  // counts its lines as unread if it is never opened
  wait(*file);
}

bool KnownFiles::forgotten(File &file) const {
  if (file.listed) file.unlisted_ns = 0;
  if (file.listed) return false;
  if (file.unlisted_ns == 0) file.unlisted_ns = context_.now_ns;
  if (file.fd) return file.may_be_copy;
  return context_.now_ns - file.unlisted_ns >= (file.restored ? kMaxAbsence_ns : context_.options.linger_ns);
}

void KnownFiles::drop_deleted() {
  for (auto it = files_.begin(); it != files_.end();) {
    File &file = *it->second;
    if (!forgotten(file)) {
      ++it;
      continue;
    }
    if (!file.may_be_copy && file.at.size > file.at.offset) {
      context_.losses.unseen_bytes += file.at.size - file.at.offset;
      context_.log(core::in_quotes(file.at.path) + " was deleted; at least " + std::to_string(file.at.size - file.at.offset) +
                   " bytes of it were not read");
    }
    forget_id(file);
    it = files_.erase(it);
  }
}

}  // namespace atalaya::tail
