// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/reading.h"

#include <algorithm>

namespace atalaya::hadoop {
namespace {

constexpr size_t kBlock = size_t{4} << 20;  // bytes that are read at once: servers are asked seldom
constexpr size_t kPiece = size_t{1} << 16;  // bytes that are decoded at once
constexpr size_t kSpansAtOnce = 2000;

}  // namespace

bool Reading::outdated(const Found &found) const {
  if (!begun_) return false;
  const auto part = std::find_if(found.parts.begin(), found.parts.end(), [this](const Part &one) { return one.number == part_; });
  return part == found.parts.end() || part->size < offset_;
}

bool Reading::read_on(Storage &storage, const Found &found, const Lookup &lookup, const Give &give) {
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
  history_.open(spans_);
  return hand_on(lookup, give, true);
}

bool Reading::read_part(Storage &storage, const Part &part, const Lookup &lookup, const Give &give) {
  while (!history_.broken() && history_.form() != History::Form::none) {
    // What a local file got since it was listed is read, too: another part may have followed meanwhile.
    const uint64_t listed = part.size > offset_ ? part.size - offset_ : 0;
    const size_t size = storage.reads_at_end() ? kBlock : static_cast<size_t>(std::min<uint64_t>(kBlock, listed));
    if (size == 0) break;
    const std::string bytes = storage.read(part.path, offset_, size);
    offset_ += bytes.size();
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
  }
  if (held_) std::erase_if(spans_, [this](const Span &span) { return !span.at.beyond(*held_); });
}

bool Reading::hand_on(const Lookup &lookup, const Give &give, bool all) {
  drop_held(lookup);
  const bool beyond = !held_ || history_.position().beyond(*held_);
  // A history that goes on says so also where it has no spans to give: that it need not be looked at again.
  while (spans_.size() >= kSpansAtOnce) {
    Spans some(std::make_move_iterator(spans_.begin()), std::make_move_iterator(spans_.begin() + kSpansAtOnce));
    spans_.erase(spans_.begin(), spans_.begin() + kSpansAtOnce);
    // The next span may be of the same line.
    Position at = some.back().at;
    if (!spans_.empty() && spans_.front().at == at && at.offset > 0) --at.offset;
    if (!give(key_, some, at)) return false;
  }
  if (!all || (spans_.empty() && !beyond)) return true;
  Spans rest = std::move(spans_);
  spans_.clear();
  return give(key_, rest, history_.position());
}

}  // namespace atalaya::hadoop
