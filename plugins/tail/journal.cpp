// SPDX-License-Identifier: Apache-2.0
#include "plugins/tail/journal.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "core/sample/crc32c.h"
#include "core/util/files.h"

namespace atalaya::tail {
namespace {

// A line a thing: "began NS", "file DEVICE INODE OFFSET SIZE SKIPPING HEAD-SIZE HEAD-CRC TAIL-SIZE TAIL-CRC PATH", "batch NS",
// "part DEVICE INODE FROM TO" and the marks, "own TEXT", and last "crc NUMBER" of all before it.
constexpr std::string_view kHeader = "atalaya-tail 1\n";

template <class... Numbers>
void put(std::string &out, std::string_view word, Numbers... numbers) {
  out += word;
  ((out += ' ', out += std::to_string(numbers)), ...);
}

// Takes words off a line.
class Words {
 public:
  explicit Words(std::string_view line) : rest_(line) {}
  std::string_view word() {
    const size_t space = rest_.find(' ');
    const std::string_view result = rest_.substr(0, space);
    rest_ = space == std::string_view::npos ? std::string_view{} : rest_.substr(space + 1);
    return result;
  }
  template <class T>
  void number(T &value) {
    const std::string_view text = word();
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    good_ = good_ && read.ec == std::errc() && read.ptr == text.data() + text.size();
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

bool parse_line(std::string_view line, Journal &journal) {
  Words words(line);
  const std::string_view kind = words.word();
  if (kind == "began") return words.number(journal.began_ns), words.good();
  if (kind == "batch") return words.number(journal.batch_time_ns), words.good();
  if (kind == "file") return parse_file(words, journal.positions.emplace_back());
  if (kind == "own") return words.text(journal.own.emplace_back()), words.good();
  if (kind != "part") return false;
  Segment &segment = journal.segments.emplace_back();
  words.number(segment.id.device);
  words.number(segment.id.inode);
  words.number(segment.from);
  words.number(segment.to);
  return parse_marks(words, segment.to, segment.head, segment.tail) && words.good() && segment.from >= 0 &&
         segment.to >= segment.from;
}

core::Error trouble(const std::string &what, const std::string &path) {
  return core::Error{what + " " + path + ": " + core::error_text(errno)};
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
  put(out, "crc", core::crc32c(out));
  return out + '\n';
}

core::Result<Journal> parse_journal(std::string_view text) {
  const size_t end = text.rfind("crc ");
  if (!text.starts_with(kHeader) || end == std::string_view::npos || !text.ends_with('\n')) return core::Error{"is not complete"};
  uint32_t crc = 0;
  Words last(text.substr(end + 4, text.size() - end - 5));
  last.number(crc);
  if (!last.good() || crc != core::crc32c(text.substr(0, end))) return core::Error{"has a wrong checksum"};
  Journal journal;
  for (size_t at = kHeader.size(); at < end;) {
    const size_t newline = text.find('\n', at);
    const std::string_view line = text.substr(at, newline - at);
    if (!parse_line(line, journal)) return core::Error{"has a line that is not known: " + std::string(line.substr(0, 100))};
    at = newline + 1;
  }
  return journal;
}

core::Status write_journal(const std::string &path, const std::string &text) {
  if (text.size() > kMaxJournalBytes)
    return core::Error{path + " would have " + std::to_string(text.size()) +
                       " bytes, more than can be read back; it stays as it was"};
  const std::string fresh = path + ".new";
  {
    const core::Descriptor fd(::open(fresh.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640));
    if (!fd) return trouble("cannot write", fresh);
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = ::write(fd.get(), text.data() + done, text.size() - done);
      if (n < 0 && errno != EINTR) return trouble("cannot write", fresh);
      if (n > 0) done += static_cast<size_t>(n);
    }
    if (::fdatasync(fd.get()) != 0) return trouble("cannot sync", fresh);
  }
  if (std::rename(fresh.c_str(), path.c_str()) != 0) return trouble("cannot rename to", path);
  const std::string folder = std::filesystem::path(path).parent_path().string();
  const core::Descriptor names(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!names || ::fsync(names.get()) != 0) return trouble("cannot sync the folder of", path);
  return core::Done{};
}

core::Result<Journal> read_journal(const std::string &path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0 && errno == ENOENT) return Journal{};
  const auto text = core::read_file(path, kMaxJournalBytes);
  if (!text) return core::Error{text.error()};
  auto journal = parse_journal(text.value());
  if (!journal) return core::Error{path + " " + journal.error()};
  return journal;
}

}  // namespace atalaya::tail
