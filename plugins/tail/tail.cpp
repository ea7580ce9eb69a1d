// SPDX-License-Identifier: Apache-2.0
#include "plugins/tail/tail.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "core/util/text.h"

namespace atalaya::tail {
namespace {

constexpr int64_t kReadBytes = 256 << 10;
// Of a file in one look, so that no other waits for its whole backlog and new ones are seen in time.
constexpr int64_t kPartBytes = 16 << 20;
// A whole file that equals the begin of another is a copy if it is at least so long; short ones may be alike by chance.
constexpr int64_t kSurelyCopy = 1024;
// A file of an earlier run that was not there again for so long is gone; until then its disk may just not be mounted.
constexpr int64_t kAbsent_ns = 86'400'000'000'000;

core::Descriptor open_found(const std::string &path, bool asked) {
  return core::Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | (asked ? 0 : O_NOFOLLOW)));
}

int64_t time_of(const timespec &time) {
  return time.tv_sec * 1'000'000'000 + time.tv_nsec;
}

FileId id_of(const struct stat &about) {
  return {about.st_dev, about.st_ino};
}

}  // namespace

Tail::Tail(Options options, std::function<void(const std::string &)> say) : options_(std::move(options)), say_(std::move(say)) {}

void Tail::restore(const std::vector<Position> &positions, int64_t began_ns, const std::vector<Segment> &segments) {
  first_ = false;
  began_ns_ = began_ns;
  for (const Position &position : positions) {
    auto file = std::make_unique<File>();
    file->number = ++last_number_;
    file->found = {position.path, position.path, false};
    file->at = position;
    file->segment = position.offset;
    file->listed = true;  // until a look says otherwise
    file->restored = true;
    files_.emplace(file->number, std::move(file));
  }
  // As if they had arrived: so a file that was truncated since then is found to be another, and its copy is read on behind them.
  for (const Segment &segment : segments) {
    File *file = by_id(segment.id);
    if (file == nullptr) {
      file = files_.emplace(++last_number_, std::make_unique<File>()).first->second.get();
      file->number = last_number_;
      file->listed = true;
      file->restored = true;
      file->at.id = segment.id;
    }
    file->began_skipping = std::exchange(file->at.skipping, false);
    file->at.offset = file->segment = segment.to;
    file->at.size = std::max(file->at.size, segment.to);
    file->at.head = segment.head;
    file->at.tail = segment.tail;
  }
}

Tail::File *Tail::by_id(const FileId &id) {
  const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto &entry) { return entry.second->at.id == id; });
  return found == files_.end() ? nullptr : found->second.get();
}

std::vector<std::string> Tail::families() const {
  std::set<std::string> known{options_.path};
  for (const auto &[number, file] : files_) known.insert(file->found.family);
  return {known.begin(), known.end()};
}

size_t Tail::open_files() const {
  return static_cast<size_t>(std::count_if(files_.begin(), files_.end(), [](const auto &entry) { return !!entry.second->fd; }));
}

// ---- Looking --------------------------------------------------------------------------------------------------------------------

void Tail::scan(int64_t realtime_ns, int64_t monotonic_ns) {
  now_ns_ = monotonic_ns;
  if (began_ns_ == 0) began_ns_ = realtime_ns;
  if (const auto found = find_files(options_.path, families())) {
    for (auto &[number, file] : files_) file->listed = false;
    std::vector<const Found *> fresh;
    for (const Found &one : found.value())
      if (!look_at(one)) fresh.push_back(&one);
    for (const Found *one : fresh) meet(*one);  // last, when it is known which of the old ones are not there
    first_ = false;
  } else {
    say_(found.error());
  }
  for (const bool rotated : {true, false})  // copies first: who was truncated looks for them
    for (auto &[number, file] : files_)
      if (file->found.rotated() == rotated) check(*file);
  for (auto &[number, file] : files_)
    if (file->unjudged) judge(*file);
  drop_gone();
  make_round();
}

// False: it is not known.
bool Tail::look_at(const Found &found) {
  struct stat about {};
  if (::stat(found.path.c_str(), &about) != 0) return true;  // gone since it was listed
  File *file = by_id(id_of(about));
  if (file == nullptr) return false;
  if (file->listed) return true;  // another link to it
  file->listed = true;
  file->restored = false;
  file->found = found;
  file->at.path = found.path;
  return true;
}

// Numbers of devices, and on some file systems of inodes, are others after a reboot or remount. What was read is not.
Tail::File *Tail::restored_as(const Found &found, int fd, const FileId &id) {
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

bool Tail::adopt(const Found &found, core::Descriptor &fd, const FileId &id) {
  File *file = restored_as(found, fd.get(), id);
  if (file == nullptr) return false;
  file->listed = true;
  file->restored = false;
  file->found = found;
  file->continues = std::exchange(file->at.id, id);
  file->at.path = found.path;
  file->changed_ns = now_ns_;
  file->fd = std::move(fd);
  return true;
}

void Tail::meet(const Found &found) {
  if (open_files() >= options_.max_files)
    return say_("more than max_files = " + std::to_string(options_.max_files) + " files; " + core::in_quotes(found.path) +
                " waits until others are finished");
  core::Descriptor fd = open_found(found.path, found.asked);
  if (!fd) {
    if (errno != ENOENT)
      say_(core::in_quotes(found.path) + ": " + core::error_text(errno) + "; its lines wait until the agent may read it");
    return;
  }
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode) || by_id(id_of(about)) != nullptr) return;  // the next look sees it
  if (adopt(found, fd, id_of(about))) return;
  auto file = std::make_unique<File>();
  file->number = ++last_number_;
  file->found = found;
  file->listed = true;
  file->at.id = id_of(about);
  file->at.path = found.path;
  file->changed_ns = now_ns_;
  // What rotation left behind before we came was never asked for; since then, it was a file that we did not see in time.
  const bool old = !found.asked && (first_ || time_of(about.st_mtim) < began_ns_);
  const bool compressed = is_compressed(fd.get());
  if (compressed) say_(core::in_quotes(found.path) + " is compressed and not read");
  if (old || compressed) {
    file->at.offset = about.st_size;
  } else if (first_ && !options_.from_begin) {
    file->at.offset = last_line_begin(fd.get(), about.st_size);
  } else {
    file->unjudged = !first_ && found.rotated();
  }
  file->segment = file->at.offset;
  file->fd = std::move(fd);
  mark(*file);
  if (old || compressed) {
    file->fd.reset();
    file->at.size = about.st_size;
    file->written_ns = time_of(about.st_mtim);
  }
  files_.emplace(file->number, std::move(file));
}

bool Tail::reopen(File &file) {
  struct stat about {};
  if (!file.listed || ::stat(file.at.path.c_str(), &about) != 0 || id_of(about) != file.at.id) return false;
  if (about.st_size == file.at.size && time_of(about.st_mtim) == file.written_ns) return false;
  if (open_files() >= options_.max_files) return false;
  core::Descriptor fd = open_found(file.at.path, file.found.asked);
  struct stat opened {};
  if (!fd && errno != ENOENT)
    say_(core::in_quotes(file.at.path) + ": " + core::error_text(errno) + "; its lines wait until the agent may read it");
  if (!fd || ::fstat(fd.get(), &opened) != 0 || id_of(opened) != file.at.id) return false;
  file.fd = std::move(fd);
  return true;
}

void Tail::check(File &file) {
  if (!file.fd && !reopen(file)) return;
  struct stat about {};
  if (::fstat(file.fd.get(), &about) != 0) return;
  const bool changed = about.st_size != file.at.size || time_of(about.st_mtim) != file.written_ns;
  if (changed) file.changed_ns = now_ns_;
  if (changed && file.at.offset == 0)
    pass_hole(file);
  else if (changed && (about.st_size < file.at.offset || !holds(file.fd.get(), file.at)))
    truncated(file);
  file.at.size = about.st_size;
  file.written_ns = time_of(about.st_mtim);
}

// Who writes on at the old place after a truncation leaves a hole; that may be after the look that saw the file empty.
void Tail::pass_hole(File &file) {
  const off_t data = ::lseek(file.fd.get(), 0, SEEK_DATA);
  file.at.offset = file.segment = std::max<int64_t>(data, 0);
  mark(file);
}

void Tail::begin_anew(File &file) {
  file.at.skipping = false;
  file.at.size = 0;
  pass_hole(file);
}

void Tail::truncated(File &file) {
  const Position was = file.at;
  if (file.found.rotated()) {  // rotation has put another file in its place, with the same inode: perhaps a copy
    file.unjudged = true;
    return begin_anew(file);
  }
  ++losses_.truncations;
  File *copy = nullptr;
  for (auto &[number, other] : files_) {
    if (!other->unjudged || !other->fd || (copy != nullptr && other->written_ns < copy->written_ns)) continue;
    if (other->copy_of == file.number || may_copy(*other, file)) copy = other.get();
  }
  int64_t unseen = std::max(int64_t{0}, was.size - was.offset);
  std::string text = core::in_quotes(was.path) + " was truncated or written anew";
  if (copy != nullptr) {
    continue_in(*copy, was);
    unseen = std::max(int64_t{0}, was.size - std::max<int64_t>(was.offset, ::lseek(copy->fd.get(), 0, SEEK_END)));
    text += "; " + core::in_quotes(copy->at.path) + " is its copy and read on, what was written in between is lost";
  } else {
    text += "; what was written to it since the last look is lost, at least " + std::to_string(unseen) + " bytes";
  }
  losses_.unseen_bytes += unseen;
  say_(text + ". Rotate by renaming: that loses nothing");
  begin_anew(file);
}

// ---- Copies ---------------------------------------------------------------------------------------------------------------------

// While the original is whole, by the first and last bytes; else by what is known of it.
bool Tail::may_copy(const File &copy, const File &original) {
  if (copy.number == original.number || copy.found.family != original.found.family) return false;
  const int64_t size = ::lseek(copy.fd.get(), 0, SEEK_END), bytes = std::min(size, kMarkBytes);
  if (size <= 0) return false;
  const int fd = original.fd.get();
  if (original.fd && holds(fd, original.at))
    return size <= ::lseek(fd, 0, SEEK_END) && bytes_at(copy.fd.get(), 0, bytes) == bytes_at(fd, 0, bytes) &&
           bytes_at(copy.fd.get(), size - bytes, bytes) == bytes_at(fd, size - bytes, bytes);
  if (original.at.offset == 0 || size < original.at.head.size) return false;
  return size >= original.at.offset ? holds(copy.fd.get(), original.at)
                                    : head_of(copy.fd.get(), original.at.offset) == original.at.head;
}

Tail::File *Tail::original_of(const File &copy) {
  for (auto &[number, file] : files_)
    if (!file->unjudged && may_copy(copy, *file)) return file.get();
  return nullptr;
}

void Tail::continue_in(File &copy, const Position &original) {
  copy.unjudged = false;
  copy.at.offset = copy.segment = std::min<int64_t>(original.offset, ::lseek(copy.fd.get(), 0, SEEK_END));
  copy.at.skipping = original.skipping;
  copy.continues = original.id;
  mark(copy);
}

// A file with the begin of another is read when it goes on otherwise; a copy is read on when its original is truncated.
void Tail::judge(File &file) {
  if (!file.fd || file.at.size == 0) return;
  const File *original = original_of(file);
  file.copy_of = original == nullptr ? 0 : original->number;
  if (original == nullptr) {
    file.unjudged = false;
  } else if (now_ns_ - file.changed_ns >= options_.linger_ns) {
    file.unjudged = false;
    if (file.at.size < kSurelyCopy) return;
    say_(core::in_quotes(file.at.path) + " is a copy of " + core::in_quotes(original->at.path) + "; only what follows is read");
    continue_in(file, original->at);
  }
}

// ---- The round ------------------------------------------------------------------------------------------------------------------

bool Tail::forgotten(File &file) const {
  if (file.listed) file.unlisted_ns = 0;
  if (file.listed) return false;
  if (file.unlisted_ns == 0) file.unlisted_ns = now_ns_;
  if (file.fd) return file.unjudged;
  return now_ns_ - file.unlisted_ns >= (file.restored ? kAbsent_ns : options_.linger_ns);
}

void Tail::drop_gone() {
  for (auto it = files_.begin(); it != files_.end();) {
    File &file = *it->second;
    if (!forgotten(file)) {
      ++it;
      continue;
    }
    if (!file.unjudged && file.at.size > file.at.offset) {
      losses_.unseen_bytes += file.at.size - file.at.offset;
      say_(core::in_quotes(file.at.path) + " is gone; at least " + std::to_string(file.at.size - file.at.offset) +
           " bytes of it were not read");
    }
    it = files_.erase(it);
  }
}

void Tail::make_round() {
  std::vector<File *> ready;
  for (auto &[number, file] : files_)
    if (file->fd && !file->unjudged) ready.push_back(file.get());
  std::sort(ready.begin(), ready.end(), [](const File *a, const File *b) {
    return a->written_ns != b->written_ns ? a->written_ns < b->written_ns : older_name(a->found, b->found);
  });
  round_.clear();
  part_ = 0;
  opened_ = false;
  std::set<std::string_view> waiting;  // families with an older file that is not read to its end
  for (File *file : ready) {
    if (waiting.count(file->found.family) > 0) continue;
    const int64_t to = std::min(file->at.size, file->at.offset + kPartBytes);
    if (to < file->at.size) waiting.insert(file->found.family);
    const bool leaves = !file->listed || file->found.rotated();
    const bool finished = leaves && to == file->at.size && now_ns_ - file->changed_ns >= options_.linger_ns;
    if (to > file->at.offset || finished) round_.push_back({file, to, finished, finished});
  }
}

void Tail::replay(const std::vector<Segment> &segments) {
  round_.clear();
  part_ = 0;
  opened_ = false;
  for (const Segment &segment : segments) {
    const auto has = [&](const File &file) { return file.fd && file.at.offset == segment.to && file.at.tail == segment.tail; };
    const auto found = std::find_if(files_.begin(), files_.end(), [&](const auto &entry) {
      const File &file = *entry.second;
      return has(file) && (file.at.id == segment.id || file.continues == segment.id);
    });
    if (found == files_.end()) {
      say_("the last lines before the agent ended cannot be read again (" + std::to_string(segment.to - segment.from) +
           " bytes): their file is gone or was truncated; if no sink has them they are lost");
      continue;
    }
    File &file = *found->second;
    file.at.offset = file.segment = segment.from;
    file.at.skipping = file.began_skipping;
    mark(file);
    round_.push_back({&file, segment.to, true, false});
  }
}

// ---- Reading --------------------------------------------------------------------------------------------------------------------

void Tail::mark(File &file) {
  if (!file.fd) return;
  file.at.head = head_of(file.fd.get(), file.at.offset);
  file.at.tail = tail_of(file.fd.get(), file.at.offset);
}

// From what was read, not from the file: it may have been truncated by now, and must be found to differ.
void Tail::mark_read() {
  File &file = *round_[part_].file;
  if (!sound_) return;
  if (file.at.head.size < kMarkBytes)
    file.at.head = mark_of(std::string_view(first_bytes_).substr(0, static_cast<size_t>(file.at.offset)));
  const auto bytes = static_cast<size_t>(std::min(file.at.offset, kMarkBytes));
  file.at.tail = mark_of(std::string_view(buffer_).substr(begin_ - bytes, bytes));
}

// False: the file was truncated since the scan. The bytes before the place come by the same read, so that nothing can be in
// between.
bool Tail::open_part() {
  const File &file = *round_[part_].file;
  opened_ = true;
  touched_.push_back(file.number);
  begin_ = file.at.tail.size;
  buffered_to_ = file.at.offset - file.at.tail.size;
  buffer_ = bytes_at(file.fd.get(), buffered_to_, std::min(kReadBytes, round_[part_].to - buffered_to_));
  buffered_to_ += static_cast<int64_t>(buffer_.size());
  if (file.at.head.size < kMarkBytes) first_bytes_ = buffer_.substr(0, kMarkBytes);
  const Mark head = mark_of(bytes_at(file.fd.get(), 0, file.at.head.size));
  sound_ = head == file.at.head && mark_of(std::string_view(buffer_).substr(0, begin_)) == file.at.tail;
  return sound_;
}

// Reads the last bytes again beside the new ones: a file that was truncated and has grown in between differs.
bool Tail::read_more() {
  const Part &part = round_[part_];
  const int64_t left = part.to - buffered_to_;
  if (left <= 0) return false;
  const auto again = static_cast<int64_t>(std::min<size_t>(buffer_.size(), kMarkBytes));
  const std::string more = bytes_at(part.file->fd.get(), buffered_to_ - again, again + std::min(left, kReadBytes));
  if (static_cast<int64_t>(more.size()) <= again ||
      !buffer_.ends_with(std::string_view(more).substr(0, static_cast<size_t>(again))))
    return false;
  const size_t done = begin_ > kMarkBytes ? begin_ - kMarkBytes : 0;
  buffer_.erase(0, done);
  begin_ -= done;
  buffer_.append(more, static_cast<size_t>(again));
  buffered_to_ += static_cast<int64_t>(more.size()) - again;
  return true;
}

void Tail::skip(File &file, size_t bytes) {
  begin_ += bytes;
  file.at.offset += static_cast<int64_t>(bytes);
}

void Tail::give(Line &line, size_t length, size_t consumed) {
  File &file = *round_[part_].file;
  line.text = std::string_view(buffer_).substr(begin_, length);
  line.text.remove_prefix(std::min(line.text.find_first_not_of('\0'), line.text.size()));  // of a hole
  line.file = file.at.id;
  line.first = file.at.offset == 0;
  skip(file, consumed);
}

// False: no whole line is buffered. Lines that are too long are passed over.
bool Tail::next_line(Line &line) {
  File &file = *round_[part_].file;
  const auto longest = static_cast<size_t>(options_.max_line);
  for (;;) {
    const std::string_view rest = std::string_view(buffer_).substr(begin_);
    const size_t newline = rest.find('\n');
    const bool whole = newline != std::string_view::npos;
    if (whole && !file.at.skipping && newline <= longest) return give(line, newline, newline + 1), true;
    if (!file.at.skipping && std::min(newline, rest.size()) > longest) {
      ++losses_.long_lines;
      say_(core::in_quotes(file.at.path) + ": a line is longer than max_line = " + std::to_string(longest) + " bytes and left out");
      file.at.skipping = true;
    }
    if (!file.at.skipping) return false;
    skip(file, whole ? newline + 1 : rest.size());
    if (!whole) return false;
    file.at.skipping = false;
  }
}

void Tail::end_part() {
  mark_read();
  const Part &part = round_[part_++];
  opened_ = false;
  if (part.close) part.file->fd.reset();
}

bool Tail::next(Line &line) {
  for (; part_ < round_.size(); end_part()) {
    if (!opened_ && !open_part()) continue;
    do {
      if (next_line(line)) return true;
    } while (read_more());
    const Part &part = round_[part_];
    const size_t rest = buffer_.size() - begin_;
    if (!part.last_line || rest == 0 || buffered_to_ < part.to) continue;
    give(line, rest, rest);
    return true;
  }
  return false;
}

std::vector<Position> Tail::positions() const {
  std::vector<Position> result;
  for (const auto &[number, file] : files_)
    if (!file->unjudged) result.push_back(file->at);
  return result;
}

std::vector<Segment> Tail::take_segments() {
  std::vector<Segment> result;
  if (opened_) mark_read();
  for (const uint32_t number : touched_) {
    const auto found = files_.find(number);
    if (found == files_.end()) continue;
    File &file = *found->second;
    if (file.at.offset <= file.segment) continue;
    result.push_back({file.at.id, file.segment, file.at.offset, file.at.head, file.at.tail});
    file.segment = file.at.offset;
  }
  touched_.clear();
  if (opened_) touched_.push_back(round_[part_].file->number);
  return result;
}

}  // namespace atalaya::tail
