// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/journal.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/encode/crc32c.h"
#include "core/base/text/text.h"

namespace atalaya::tail {
namespace {

// One item per line: "written NS", "began NS", "file DEVICE INODE OFFSET SIZE SKIPPING HEAD-SIZE HEAD-CRC TAIL-SIZE TAIL-CRC PATH",
// "batch NS", "part DEVICE INODE FROM TO" and the marks, "own TEXT", and last "crc NUMBER" of all lines before it. Changes
// have "over NS", "gone DEVICE INODE", and the same lines except the first.
constexpr std::string_view kHeader = "atalaya-tail 1\n", kCrc = "crc ";

template <class... Numbers>
void put(std::string &out, std::string_view word, Numbers... numbers) {
  out += word;
  ((out += ' ', out += std::to_string(numbers)), ...);
}

// Splits a line into words.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view word() { return core::cut_at(rest_, ' '); }
  template <class T>
  void number(T &value) {
    const auto number = core::number_from<T>(word());
    good_ = good_ && number;
    value = number.value_or(T{});
  }
  void text(std::string &value) { good_ = unescape(word(), value) && good_; }
  bool good() const { return good_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool good_ = true;
};

bool parse_marks(Words &words, int64_t offset, Mark &head, Mark &tail) {
  words.number(head.size);
  words.number(head.crc);
  words.number(tail.size);
  words.number(tail.crc);
  return offset >= 0 && std::max(head.size, tail.size) <= std::min(offset, kMarkBytes);
}

bool parse_file(Words &words, Position &position) {
  int skipping = 0;
  words.number(position.id.device);
  words.number(position.id.inode);
  words.number(position.offset);
  words.number(position.size);
  words.number(skipping);
  const bool good = parse_marks(words, position.offset, position.head, position.tail);
  words.text(position.path);
  position.skipping = skipping != 0;
  return good && words.good();
}

struct Text {
  Journal journal;
  std::optional<int64_t> base_written_ns;
  std::vector<FileId> removed;
};

bool parse_line(std::string_view line, Text &text) {
  Journal &journal = text.journal;
  Words words(line);
  const std::string_view kind = words.word();
  if (kind == "written") return words.number(journal.written_ns), words.good();
  if (kind == "began") return words.number(journal.began_ns), words.good();
  if (kind == "batch") return words.number(journal.batch_time_ns), words.good();
  if (kind == "file") return parse_file(words, journal.positions.emplace_back());
  if (kind == "own") return words.text(journal.own.emplace_back()), words.good();
  if (kind == "over") return words.number(text.base_written_ns.emplace()), words.good();
  if (kind == "gone") {
    FileId &id = text.removed.emplace_back();
    return words.number(id.device), words.number(id.inode), words.good();
  }
  if (kind != "part") return false;
  Segment &segment = journal.segments.emplace_back();
  words.number(segment.id.device);
  words.number(segment.id.inode);
  words.number(segment.from);
  words.number(segment.to);
  return parse_marks(words, segment.to, segment.head, segment.tail) && words.good() && segment.from >= 0 &&
         segment.to >= segment.from;
}

core::Result<Text> parse_text(std::string_view text) {
  const size_t end = text.rfind(kCrc);
  if (!text.starts_with(kHeader) || end == std::string_view::npos || !text.ends_with('\n')) return core::Error{"is incomplete"};
  uint32_t crc = 0;
  Words last(text.substr(end + kCrc.size(), text.size() - end - kCrc.size() - 1));
  last.number(crc);
  if (!last.good() || crc != core::crc32c(text.substr(0, end))) return core::Error{"has a wrong checksum"};
  Text parsed;
  for (size_t at = kHeader.size(); at < end;) {
    const size_t newline = text.find('\n', at);
    const std::string_view line = text.substr(at, newline - at);
    if (!parse_line(line, parsed)) return core::Error{"has an unknown line: " + std::string(line.substr(0, 100))};
    at = newline + 1;
  }
  return parsed;
}

void put_journal(std::string &out, const Journal &journal) {
  put(out, "began", journal.began_ns);
  for (const Position &at : journal.positions) {
    put(out, "\nfile", at.id.device, at.id.inode, at.offset, at.size, at.skipping ? 1 : 0, at.head.size, at.head.crc, at.tail.size,
        at.tail.crc);
    out += ' ' + escaped(at.path);
  }
  if (journal.batch_time_ns != 0) put(out, "\nbatch", journal.batch_time_ns);
  for (const Segment &part : journal.segments)
    put(out, "\npart", part.id.device, part.id.inode, part.from, part.to, part.head.size, part.head.crc, part.tail.size,
        part.tail.crc);
  for (const std::string &line : journal.own) out += "\nown " + escaped(line);
  out += '\n';
}

std::string with_crc(std::string text) {
  const uint32_t crc = core::crc32c(text);
  text.append(kCrc).append(std::to_string(crc)) += '\n';
  return text;
}

}  // namespace

std::string escaped(std::string_view text) {
  static constexpr char kDigits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte > ' ' && byte != '%' && byte != 0x7f) {
      out += c;
    } else {
      out += '%';
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return out;
}

bool unescape(std::string_view text, std::string &out) {
  out.clear();
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out += text[i];
      continue;
    }
    unsigned byte = 0;
    if (text.size() - i < 3 || std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr != text.data() + i + 3)
      return false;
    out += static_cast<char>(byte);
    i += 2;
  }
  return true;
}

std::string journal_text(const Journal &journal) {
  std::string out(kHeader);
  put(out, "written", journal.written_ns);
  out += '\n';
  put_journal(out, journal);
  return with_crc(std::move(out));
}

std::string recent_text(const Recent &changes) {
  std::string out(kHeader);
  put(out, "over", changes.base_written_ns);
  for (const FileId &id : changes.removed) put(out, "\ngone", id.device, id.inode);
  out += '\n';
  put_journal(out, changes.journal);
  return with_crc(std::move(out));
}

core::Result<Journal> parse_journal(std::string_view text) {
  auto parsed = parse_text(text);
  if (!parsed) return core::Error{parsed.error()};
  if (parsed->base_written_ns || !parsed->removed.empty()) return core::Error{"has changes only"};
  return std::move(parsed->journal);
}

core::Result<Recent> parse_recent(std::string_view text) {
  auto parsed = parse_text(text);
  if (!parsed) return core::Error{parsed.error()};
  if (!parsed->base_written_ns) return core::Error{"does not name the journal that it changes"};
  return Recent{*parsed->base_written_ns, std::move(parsed->removed), std::move(parsed->journal)};
}

}  // namespace atalaya::tail
