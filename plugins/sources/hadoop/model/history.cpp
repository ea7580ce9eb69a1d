// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/hadoop/model/history.h"

#include <algorithm>

#include "plugins/shared/protocols/jhist/old_history.h"

namespace atalaya::hadoop {
namespace {

constexpr size_t kMaxRecord = size_t{4} << 20;  // in the old form: limits the effect of a missing quotation mark
constexpr size_t kLongLine = size_t{64} << 10;  // of Spark: its first bytes decide whether the rest is needed
constexpr uint64_t kHashBegin = 0xcbf29ce484222325u;

// FNV-1a: enough against accidental collisions; attacks need not be considered.
uint64_t hashed(uint64_t hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

std::string hex(uint64_t number) {
  std::string out(16, '0');
  for (size_t i = 16; i-- > 0; number >>= 4) out[i] = "0123456789abcdef"[number & 15];
  return out;
}

}  // namespace

History::History(const Rules &rules, std::string_view name)
    : rules_(rules), hash_(kHashBegin), mapreduce_(rules.topology), spark_(rules.topology, rules.facts, name) {}

bool History::ended() const {
  return form_ == Form::spark ? spark_.ended() : mapreduce_.ended();
}

const std::string &History::job() const {
  return form_ == Form::spark ? spark_.job() : mapreduce_.job();
}

size_t History::waiting() const {
  return raw_.size() + text_.size() + (inflater_ ? inflater_->waiting() : 0);
}

void History::count_damage(std::string_view why) {
  const bool binary = form_ == Form::jhist_binary && schema_read_;
  damage_.add(binary ? "byte " + std::to_string(position_) : "line " + std::to_string(lines_), why);
}

// Marks the rest of the part as unreadable.
void History::mark_broken(std::string_view why) {
  broken_ = true;
  count_damage(why);
}

bool History::feed(std::string_view bytes, protocols::Spans &out, const Consume &consume) {
  if (broken_ || form_ == Form::none) return true;
  if (!codec_detected_) {
    raw_ += bytes;
    if (raw_.size() < protocols::kMagicSize) return true;
    inflater_ = protocols::make_inflater(raw_);
    codec_detected_ = true;
    const std::string first = std::move(raw_);
    raw_.clear();
    return feed(first, out, consume);
  }
  return inflater_ ? inflate(bytes, out, consume) : take_piece(bytes, out, consume);
}

bool History::take_piece(std::string_view text, protocols::Spans &out, const Consume &consume) {
  text_ += text;
  take_text(out);
  return consume();
}

bool History::inflate(std::string_view bytes, protocols::Spans &out, const Consume &consume) {
  std::string piece;  // lines are split in larger pieces
  bool wanted = true;
  const auto take = [&](std::string_view text) {
    piece += text;
    if (piece.size() < protocols::kMaxDecoded) return true;
    wanted = take_piece(std::exchange(piece, {}), out, consume);
    return wanted && !broken_ && form_ != Form::none;
  };
  const core::Status fed = inflater_->feed(bytes, take);
  if (wanted && !broken_ && form_ != Form::none) wanted = take_piece(piece, out, consume);
  if (!fed && !broken_) mark_broken(fed.error());
  return wanted;
}

// Detects the format. Returns false if it needs more text.
bool History::detect() {
  constexpr size_t kEnough = 64;
  const auto begins = [&](std::string_view with) { return std::string_view(text_).starts_with(with); };
  if (begins("Avro-Json")) {
    form_ = Form::jhist;
  } else if (begins("Avro-Binary")) {
    form_ = Form::jhist_binary;
  } else if (begins("Meta VERSION=") || begins("Job JOBID=")) {
    form_ = Form::old_text;
  } else if (begins("{\"Event\":")) {
    form_ = Form::spark;
  } else if (text_.size() >= kEnough) {
    form_ = Form::none;
    text_.clear();
  } else {
    return false;
  }
  return true;
}

// Returns the length of the next line or record including its end; 0: incomplete.
size_t History::next_size(std::string_view text) const {
  if (form_ == Form::old_text) {
    const size_t size = protocols::old_record_size(text.substr(0, kMaxRecord));
    if (size > 0 || text.size() < kMaxRecord) return size;
  }
  const size_t end = text.find('\n');
  return end == std::string_view::npos ? 0 : end + 1;
}

void History::take_text(protocols::Spans &out) {
  if (form_ == Form::unknown && !detect()) return;
  if (form_ == Form::none) return;
  size_t taken = 0;
  while (!broken_ && !(form_ == Form::jhist_binary && schema_read_)) {
    const std::string_view rest = std::string_view(text_).substr(taken);
    const size_t size = next_size(rest);
    if (size == 0) break;
    ++lines_;
    position_ += size;
    if (key_.empty()) hash_ = hashed(hash_, rest.substr(0, size));
    if (!std::exchange(skipping_, false)) take_line(rest.substr(0, size - 1), out);
    taken += size;
  }
  text_.erase(0, taken);
  if (form_ == Form::jhist_binary && schema_read_ && !broken_) return take_values(out);
  if (!skipping_ && form_ == Form::spark && text_.size() > kLongLine) skipping_ = spark_.handle_by_prefix(text_);
  if (skipping_ || text_.size() > kMaxLine) skip_line();
}

// Skips the line up to its end: it is not needed, or exceeds the limit.
void History::skip_line() {
  if (!skipping_) {
    ++lines_;
    count_damage("the line is longer than " + std::to_string(kMaxLine >> 20) + " MiB");
    --lines_;
  }
  skipping_ = true;
  position_ += text_.size();
  if (key_.empty()) hash_ = hashed(hash_, text_);
  text_.clear();
}

void History::take_line(std::string_view line, protocols::Spans &out) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.empty() || line.starts_with("Avro-")) return;
  const size_t before = out.size();
  core::Status status = core::Done{};
  if (form_ == Form::old_text) {
    status = take_event(protocols::read_old_record(line), out);
  } else if (form_ == Form::jhist_binary) {
    read_schema(line);
  } else if (form_ == Form::spark) {
    status = spark_.take(line, out);
  } else if (lines_ > 2) {  // the second line is the schema
    status = take_event(jhist_.read(line), out);
  }
  if (!status) count_damage(status.error());
  add_key();
  set_positions(out, before);
}

// Sets the position in the text at which the spans from `from` on were completed.
void History::set_positions(protocols::Spans &spans, size_t from) const {
  for (size_t i = from; i < spans.size(); ++i) spans[i].at = {part_, position_};
}

void History::read_schema(std::string_view json) {
  if (const core::Status read = schema_.read(json); !read) return mark_broken(read.error());
  schema_read_ = true;
}

void History::take_values(protocols::Spans &out) {
  size_t taken = 0;
  while (!broken_ && taken < text_.size()) {
    const std::string_view rest = std::string_view(text_).substr(taken);
    size_t used = 0;
    const protocols::AvroSchema::Found found = schema_.to_json(rest, used, scratch_);
    if (found == protocols::AvroSchema::Found::incomplete && rest.size() <= kMaxLine) break;
    if (found != protocols::AvroSchema::Found::value) {
      mark_broken("the binary data is damaged");
      break;
    }
    if (key_.empty()) hash_ = hashed(hash_, rest.substr(0, used));
    const size_t before = out.size();
    if (const core::Status status = take_event(jhist_.read(scratch_), out); !status) count_damage(status.error());
    taken += used;
    position_ += used;
    add_key();
    set_positions(out, before);
  }
  text_.erase(0, taken);
}

core::Status History::take_event(const core::Result<protocols::Event> &read, protocols::Spans &out) {
  if (!read) return core::Error{read.error()};
  const protocols::Event &event = read.value();
  if (event.type == protocols::Event::Type::other) return core::Done{};
  core::Status taken = mapreduce_.take(event, out);
  if (!event.problem.empty()) return core::Error{event.problem};
  return taken;
}

void History::add_key() {
  const bool known = form_ == Form::spark ? spark_.job_known() : !mapreduce_.job().empty();
  if (key_.empty() && known) key_ = job() + " " + hex(hash_);
}

void History::end_of_file(protocols::Spans &out) {
  if (broken_ || form_ == Form::none) return;
  // A partial object lacks its brace, a partial record its full stop.
  const bool complete =
      form_ == Form::spark || form_ == Form::jhist ? text_.ends_with('}') : form_ == Form::old_text && text_.ends_with("\" .");
  if (!complete || skipping_) return;
  if (form_ != Form::old_text) {
    simdjson::dom::parser parser;
    if (parser.parse(text_).error() != simdjson::SUCCESS) return;
  }
  ++lines_;
  position_ += text_.size();
  if (key_.empty()) hash_ = hashed(hash_, text_ + "\n");
  const std::string line = std::move(text_);
  text_.clear();
  take_line(line, out);
}

void History::next_part(uint64_t number) {
  inflater_.reset();
  raw_.clear();
  text_.clear();
  codec_detected_ = broken_ = skipping_ = false;
  position_ = lines_ = 0;
  part_ = number;
}

void History::open(protocols::Spans &out) {
  const size_t before = out.size();
  if (form_ == Form::spark) {
    spark_.open(out);
  } else {
    mapreduce_.open(out);
  }
  set_positions(out, before);
}

}  // namespace atalaya::hadoop
