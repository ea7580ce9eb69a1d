// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/tail/changes.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/text.h"

namespace atalaya::tail {
namespace {

// Who writes on at the old place after a truncation leaves a hole; that may be after the look that saw the file empty.
void pass_hole(File &file) {
  place(file, std::max<int64_t>(::lseek(file.fd.get(), 0, SEEK_DATA), 0));
}

void begin_anew(File &file) {
  file.at.skipping = false;
  file.at.size = 0;
  pass_hole(file);
}

int64_t size_of(const File &file) {
  return ::lseek(file.fd.get(), 0, SEEK_END);
}

// While the original is whole, by the first and last bytes; else by what is known of it.
bool may_copy(const File &copy, const File &original) {
  if (copy.number == original.number || copy.found.family != original.found.family) return false;
  const int64_t size = size_of(copy), bytes = std::min(size, kMarkBytes);
  if (size <= 0) return false;
  const int fd = original.fd.get();
  if (original.fd && holds(fd, original.at))
    return size <= size_of(original) && bytes_at(copy.fd.get(), 0, bytes) == bytes_at(fd, 0, bytes) &&
           bytes_at(copy.fd.get(), size - bytes, bytes) == bytes_at(fd, size - bytes, bytes);
  if (original.at.offset == 0 || size < original.at.head.size) return false;
  return size >= original.at.offset ? holds(copy.fd.get(), original.at)
                                    : head_of(copy.fd.get(), original.at.offset) == original.at.head;
}

void continue_in(File &copy, const Position &original) {
  copy.unjudged = false;
  copy.at.skipping = original.skipping;
  copy.continues = original.id;
  place(copy, std::min(original.offset, size_of(copy)));
}

}  // namespace

void Changes::look() {
  for (const bool rotated : {true, false})  // copies first: who was truncated looks for them
    for (auto &[number, file] : files_.all())
      if (file->found.rotated() == rotated) check(*file);
  for (auto &[number, file] : files_.all())
    if (file->unjudged) judge(*file);
}

void Changes::check(File &file) {
  if (!file.fd) return;
  const auto now = about(file.fd.get());
  if (!now) return;
  const bool changed = now->size != file.at.size || now->written_ns != file.written_ns;
  if (changed) file.changed_ns = context_.now_ns;
  if (changed && file.at.offset == 0)
    pass_hole(file);
  else if (changed && (now->size < file.at.offset || !holds(file.fd.get(), file.at)))
    truncated(file);
  file.seen = *now;
  file.at.size = now->size;
  file.written_ns = now->written_ns;
}

// The last one that was.
File *Changes::copy_made_of(const File &file) {
  File *copy = nullptr;
  for (auto &[number, other] : files_.all()) {
    if (!other->unjudged || !other->fd || (copy != nullptr && other->written_ns < copy->written_ns)) continue;
    if (other->copy_of == file.number || may_copy(*other, file)) copy = other.get();
  }
  return copy;
}

void Changes::truncated(File &file) {
  const Position was = file.at;
  if (file.found.rotated()) {  // rotation has put another file in its place, with the same inode: perhaps a copy
    file.unjudged = true;
    return begin_anew(file);
  }
  ++context_.losses.truncations;
  File *copy = copy_made_of(file);
  int64_t unseen = std::max(int64_t{0}, was.size - was.offset);
  std::string text = core::in_quotes(was.path) + " was truncated or written anew";
  if (copy != nullptr) {
    continue_in(*copy, was);
    unseen = std::max(int64_t{0}, was.size - std::max(was.offset, size_of(*copy)));
    text += "; " + core::in_quotes(copy->at.path) + " is its copy and read on, what was written in between is lost";
  } else {
    text += "; what was written to it since the last look is lost, at least " + std::to_string(unseen) + " bytes";
  }
  context_.losses.unseen_bytes += unseen;
  context_.say(text + ". Rotate by renaming: that loses nothing");
  begin_anew(file);
}

File *Changes::original_of(const File &copy) {
  for (auto &[number, file] : files_.all())
    if (!file->unjudged && may_copy(copy, *file)) return file.get();
  return nullptr;
}

// A file with the begin of another is read when it goes on otherwise; a copy is read on when its original is truncated.
void Changes::judge(File &file) {
  if (!file.fd) return;
  const bool settled = context_.now_ns - file.changed_ns >= context_.options.linger_ns;
  if (file.at.size == 0) {
    if (settled) file.fd.reset();  // until there is something in it
    return;
  }
  const File *original = original_of(file);
  file.copy_of = original == nullptr ? 0 : original->number;
  if (original == nullptr) {
    file.unjudged = false;
  } else if (settled) {
    file.unjudged = false;
    if (file.at.size < kSurelyCopy) return;
    context_.say(core::in_quotes(file.at.path) + " is a copy of " + core::in_quotes(original->at.path) +
                 "; only what follows is read");
    continue_in(file, original->at);
  }
}

}  // namespace atalaya::tail
