// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/reading.h"

#include <algorithm>

namespace atalaya::hadoop {
namespace {

constexpr size_t kBlock = size_t{4} << 20;  // bytes that are read at once: servers are asked seldom
constexpr size_t kPiece = size_t{1} << 16;  // bytes that are decoded at once
constexpr ptrdiff_t kSpansAtOnce = 2000;

}  // namespace

bool Reading::outdated(const Storage &storage, const Found &found) const {
  if (!begun_) return false;
  const auto part = std::find_if(found.parts.begin(), found.parts.end(), [this](const Part &one) { return one.number == part_; });
  if (part == found.parts.end()) return true;
  const bool all_listed = storage.reads_at_end() || !part->open;
  return all_listed && part->size < offset_;
}

bool Reading::read_on(Storage &storage, const Found &found, bool tell_open, const Lookup &lookup, const Give &give) {
  for (const Part &part : found.parts) {
    if (begun_ && part.number < part_) continue;
    if (begun_ && part.number > part_) {
      history_.next_part(part.number);
      offset_ = 0;
    } else if (!begun_ && part.number > 0) {
      history_.next_part(part.number);
    }
    begun_ = true;
    part_ = part.number;
    if (!read_part(storage, part, lookup, give)) return false;
    if (history_.form() == History::Form::none) return true;
  }
  history_.end_of_file(spans_);
  drop_held(lookup);
  if (tell_open) history_.open(spans_);
  return hand_on(lookup, give, true);
}

size_t Reading::size_to_ask(const Storage &storage, const Part &part) const {
  // What a local file got since it was listed is read, too: another part may have followed meanwhile.
  if (storage.reads_at_end()) return kBlock;
  // HDFS gives what it does not list of an open file to those who ask before the end that it lists, or where it lists none.
  if (part.open && (part.size == 0 || offset_ < part.size)) return kBlock;
  return part.size > offset_ ? static_cast<size_t>(std::min<uint64_t>(kBlock, part.size - offset_)) : 0;
}

bool Reading::read_part(Storage &storage, const Part &part, const Lookup &lookup, const Give &give) {
  while (!history_.broken() && history_.form() != History::Form::none) {
    const size_t size = size_to_ask(storage, part);
    if (size == 0) break;
    const std::string bytes = storage.read(part.path, offset_, size);
    offset_ += bytes.size();
    read_ += bytes.size();
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      const std::string_view piece = std::string_view(bytes).substr(at, kPiece);
      if (!history_.feed(piece, spans_, [&] { return hand_on(lookup, give, false); })) return false;
    }
    if (bytes.size() < size) break;
  }
  return true;
}

// What was completed before the place that is held was sent by an earlier run.
void Reading::drop_held(const Lookup &lookup) {
  if (!looked_up_ && (!history_.key().empty() || !spans_.empty())) {
    looked_up_ = true;
    key_ = history_.key().empty() ? "file " + path_ : history_.key();
    held_ = lookup(key_);
    if (held_) given_ = *held_;
  }
  if (held_) std::erase_if(spans_, [this](const Span &span) { return !span.at.beyond(*held_); });
}

bool Reading::hand_on(const Lookup &lookup, const Give &give, bool all) {
  drop_held(lookup);
  auto next = spans_.begin();
  while (spans_.end() - next >= kSpansAtOnce) {
    Spans some(std::make_move_iterator(next), std::make_move_iterator(next + kSpansAtOnce));
    next += kSpansAtOnce;
    // The next span may be of the same line.
    Position at = some.back().at;
    if (next != spans_.end() && next->at == at && at.offset > 0) --at.offset;
    if (!give(key_, some, at)) return false;
    given_ = at;
  }
  spans_.erase(spans_.begin(), next);
  // A history that goes on says so also where it has no spans to give: that it need not be looked at again.
  const Position now = history_.position();
  if (!all || (spans_.empty() && !now.beyond(given_))) return true;
  Spans rest = std::move(spans_);
  spans_.clear();
  if (!give(key_, rest, now)) return false;
  given_ = now;
  return true;
}

}  // namespace atalaya::hadoop
