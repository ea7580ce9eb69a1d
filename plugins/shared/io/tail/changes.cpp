// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/changes.h"

#include <unistd.h>

#include <algorithm>

#include "core/base/text/text.h"

namespace atalaya::tail {
namespace {

// Detects a hole: a program that continues at its old offset after a truncation creates one, possibly after a scan in which the
// file was empty.
void skip_hole(File &file) {
  place(file, std::max<int64_t>(::lseek(file.fd.get(), 0, SEEK_DATA), 0));
}

void start_again(File &file) {
  file.at.skipping = false;
  file.at.size = 0;
  skip_hole(file);
}

int64_t size_of(const File &file) {
  return ::lseek(file.fd.get(), 0, SEEK_END);
}

// Whether one file is a copy of another: compares their first and last bytes, or the recorded marks if the original was changed.
bool may_copy(const File &copy, const File &original) {
  if (copy.number == original.number || copy.found.family != original.found.family) return false;
  const int64_t size = size_of(copy), bytes = std::min(size, kMarkBytes);
  if (size <= 0) return false;
  const int fd = original.fd.get();
  if (original.fd && matches(fd, original.at))
    return size <= size_of(original) && bytes_at(copy.fd.get(), 0, bytes) == bytes_at(fd, 0, bytes) &&
           bytes_at(copy.fd.get(), size - bytes, bytes) == bytes_at(fd, size - bytes, bytes);
  if (original.at.offset == 0 || size < original.at.head.size) return false;
  return size >= original.at.offset ? matches(copy.fd.get(), original.at)
                                    : head_of(copy.fd.get(), original.at.offset) == original.at.head;
}

void continue_in(File &copy, const Position &original) {
  copy.may_be_copy = false;
  copy.at.skipping = original.skipping;
  copy.continues = original.id;
  place(copy, std::min(original.offset, size_of(copy)));
}

}  // namespace

void Changes::scan() {
  for (const bool rotated : {true, false})  // copies first, because handle_truncation() searches for them
    for (auto &[number, file] : files_.all())
      if (file->found.rotated() == rotated) check(*file);
  for (auto &[number, file] : files_.all())
    if (file->may_be_copy) check_copy(*file);
}

void Changes::check(File &file) {
  if (!file.fd) return;
  const auto now = status_of(file.fd.get());
  if (!now) return;
  const bool changed = now->size != file.at.size || now->written_ns != file.written_ns;
  if (changed) file.changed_ns = context_.now_ns;
  if (changed && file.at.offset == 0)
    skip_hole(file);
  else if (changed && (now->size < file.at.offset || !matches(file.fd.get(), file.at)))
    handle_truncation(file);
  file.seen = *now;
  file.at.size = now->size;
  file.written_ns = now->written_ns;
}

// The latest copy of a file.
File *Changes::copy_made_of(const File &file) {
  File *copy = nullptr;
  for (auto &[number, other] : files_.all()) {
    if (!other->may_be_copy || !other->fd || (copy != nullptr && other->written_ns < copy->written_ns)) continue;
    if (other->copy_of == file.number || may_copy(*other, file)) copy = other.get();
  }
  return copy;
}

void Changes::handle_truncation(File &file) {
  const Position was = file.at;
  if (file.found.rotated()) {  // the inode was reused for another file, possibly a copy
    file.may_be_copy = true;
    return start_again(file);
  }
  ++context_.losses.truncations;
  File *copy = copy_made_of(file);
  int64_t unseen = std::max(int64_t{0}, was.size - was.offset);
  std::string text = core::in_quotes(was.path) + " was truncated or rewritten";
  if (copy != nullptr) {
    continue_in(*copy, was);
    unseen = std::max(int64_t{0}, was.size - std::max(was.offset, size_of(*copy)));
    text += "; " + core::in_quotes(copy->at.path) +
            " is its copy and is read to its end; lines written between copy and truncation are lost";
  } else {
    text += "; lines written since the last scan are lost, at least " + std::to_string(unseen) + " bytes";
  }
  context_.losses.unseen_bytes += unseen;
  context_.log(text + ". Rotate by renaming to avoid loss");
  start_again(file);
}

File *Changes::original_of(const File &copy) {
  for (auto &[number, file] : files_.all())
    if (!file->may_be_copy && may_copy(copy, *file)) return file.get();
  return nullptr;
}

// A file with the same start as another one is not read until it differs. A copy is continued when its original is truncated.
void Changes::check_copy(File &file) {
  if (!file.fd) return;
  const bool settled = context_.now_ns - file.changed_ns >= context_.options.linger_ns;
  if (file.at.size == 0) {
    if (settled) file.fd.reset();  // reopened when it has content
    return;
  }
  const File *original = original_of(file);
  file.copy_of = original == nullptr ? 0 : original->number;
  if (original == nullptr) {
    file.may_be_copy = false;
  } else if (settled) {
    file.may_be_copy = false;
    if (file.at.size < kMinCopyBytes) return;
    context_.log(core::in_quotes(file.at.path) + " is a copy of " + core::in_quotes(original->at.path) +
                 "; only further lines are read");
    continue_in(file, original->at);
  }
}

}  // namespace atalaya::tail
