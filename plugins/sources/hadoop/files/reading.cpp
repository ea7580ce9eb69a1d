// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/files/reading.h"

#include <algorithm>

namespace atalaya::hadoop {
namespace {

constexpr size_t kBlock = size_t{4} << 20;  // bytes per read: keeps requests to servers rare
constexpr size_t kPiece = size_t{1} << 16;  // bytes decoded per step
constexpr ptrdiff_t kSpansAtOnce = 2000;

}  // namespace

bool Reading::outdated(const Storage &storage, const Found &found) const {
  if (!has_started_) return false;
  const auto part = std::find_if(found.parts.begin(), found.parts.end(), [this](const Part &one) { return one.number == part_; });
  if (part == found.parts.end()) return true;
  const bool all_listed = storage.reads_at_end() || !part->open;
  return all_listed && part->size < offset_;
}

bool Reading::read_new(Storage &storage, const Found &found, bool report_open, const Lookup &lookup, const Send &send) {
  for (const Part &part : found.parts) {
    if (has_started_ && part.number < part_) continue;
    if (has_started_ && part.number > part_) {
      history_.next_part(part.number);
      offset_ = 0;
    } else if (!has_started_ && part.number > 0) {
      history_.next_part(part.number);
    }
    has_started_ = true;
    part_ = part.number;
    if (!read_part(storage, part, lookup, send)) return false;
    if (history_.form() == History::Form::none) return true;
  }
  history_.end_of_file(spans_);
  drop_pending_wait(lookup);
  if (report_open) history_.open(spans_);
  return send_spans(lookup, send, true);
}

size_t Reading::size_to_request(const Storage &storage, const Part &part) const {
  // Reads local files beyond their listed size, because they may have grown since.
  if (storage.reads_at_end()) return kBlock;
  // HDFS returns unlisted data of an open file if the read begins before the listed end, or if no size is listed.
  if (part.open && (part.size == 0 || offset_ < part.size)) return kBlock;
  return part.size > offset_ ? static_cast<size_t>(std::min<uint64_t>(kBlock, part.size - offset_)) : 0;
}

bool Reading::read_part(Storage &storage, const Part &part, const Lookup &lookup, const Send &send) {
  while (!history_.broken() && history_.form() != History::Form::none) {
    const size_t size = size_to_request(storage, part);
    if (size == 0) break;
    const std::string bytes = storage.read(part.path, offset_, size);
    offset_ += bytes.size();
    read_ += bytes.size();
    for (size_t at = 0; at < bytes.size(); at += kPiece) {
      const std::string_view piece = std::string_view(bytes).substr(at, kPiece);
      if (!history_.feed(piece, spans_, [&] { return send_spans(lookup, send, false); })) return false;
    }
    if (bytes.size() < size) break;
  }
  return true;
}

// Drops spans up to the stored position, which an earlier run has sent.
void Reading::drop_pending_wait(const Lookup &lookup) {
  if (!position_was_requested_ && (!history_.key().empty() || !spans_.empty())) {
    position_was_requested_ = true;
    key_ = history_.key().empty() ? "file " + path_ : history_.key();
    stored_ = lookup(key_);
    if (stored_) sent_ = *stored_;
  }
  if (stored_) std::erase_if(spans_, [this](const protocols::Span &span) { return !span.at.is_after(*stored_); });
}

bool Reading::send_spans(const Lookup &lookup, const Send &send, bool all) {
  drop_pending_wait(lookup);
  auto next = spans_.begin();
  while (spans_.end() - next >= kSpansAtOnce) {
    protocols::Spans some(std::make_move_iterator(next), std::make_move_iterator(next + kSpansAtOnce));
    next += kSpansAtOnce;
    // The next span may come from the same line.
    protocols::Position at = some.back().at;
    if (next != spans_.end() && next->at == at && at.offset > 0) --at.offset;
    if (!send(key_, some, at)) return false;
    sent_ = at;
  }
  spans_.erase(spans_.begin(), next);
  // Sends the position also without spans, so that the text is not read again.
  const protocols::Position now = history_.position();
  if (!all || (spans_.empty() && !now.is_after(sent_))) return true;
  protocols::Spans rest = std::move(spans_);
  spans_.clear();
  if (!send(key_, rest, now)) return false;
  sent_ = now;
  return true;
}

}  // namespace atalaya::hadoop
