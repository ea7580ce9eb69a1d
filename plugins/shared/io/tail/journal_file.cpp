// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/io/tail/journal_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <set>
#include <utility>

#include "core/base/files.h"
#include "core/base/now.h"

namespace atalaya::tail {
namespace {

bool is_there(const std::string &path) {
  struct stat about {};
  return ::stat(path.c_str(), &about) == 0 || errno != ENOENT;
}

std::string damaged(const std::string &path) {
  return path + ".damaged";
}

// Renames an unusable file; returns the problem and the new name.
std::string set_aside(const std::string &path, const std::string &problem) {
  std::rename(path.c_str(), damaged(path).c_str());
  return problem + "; renamed to " + damaged(path);
}

template <class T>
core::Result<T> parsed(const std::string &path, core::Result<T> (*parse)(std::string_view text)) {
  const auto text = core::read_file(path, kMaxJournalBytes);
  if (!text) return core::Error{text.error()};
  auto result = parse(text.value());
  return result ? std::move(result) : core::Error{path + " " + result.error()};
}

Journal changed(Journal journal, Recent changes) {
  std::set<FileId> other(changes.gone.begin(), changes.gone.end());
  for (const Position &position : changes.journal.positions) other.insert(position.id);
  std::erase_if(journal.positions, [&other](const Position &position) { return other.count(position.id) > 0; });
  std::vector<Position> &fresh = changes.journal.positions;
  fresh.insert(fresh.begin(), std::make_move_iterator(journal.positions.begin()), std::make_move_iterator(journal.positions.end()));
  return std::move(changes.journal);
}

}  // namespace

JournalFile::Kept JournalFile::read() {
  whole_.reset();
  Kept kept;
  if (!is_there(path_)) {
    if (is_there(recent_path_))
      kept.problem = tail::set_aside(recent_path_, recent_path_ + " has changes to " + path_ + ", which is missing");
    return kept;
  }
  auto journal = parsed(path_, parse_journal);
  if (!journal) {
    set_aside();
    kept.problem = journal.error() + "; renamed to " + damaged(path_);
    return kept;
  }
  kept.journal = std::move(*journal);
  written_ns_ = kept.journal.written_ns;  // the next time is later, even if the clock was set back
  if (is_there(recent_path_)) kept.problem = add_recent(kept.journal);
  return kept;
}

// Returns the damage; "": none.
std::string JournalFile::add_recent(Journal &journal) const {
  auto recent = parsed(recent_path_, parse_recent);
  if (!recent) return tail::set_aside(recent_path_, recent.error());
  if (recent->over_ns > journal.written_ns)
    return tail::set_aside(recent_path_, recent_path_ + " has changes to another journal than " + path_);
  if (recent->over_ns == journal.written_ns) journal = changed(std::move(journal), std::move(*recent));
  return "";  // changes to an earlier journal are already in this one
}

core::Status JournalFile::write(const Journal &journal) {
  const auto changes = changes_to(journal);
  if (!changes) return write_whole(journal);
  std::string text = recent_text(*changes);
  if (text == recent_) return core::Done{};
  if (!is_there(path_)) return write_whole(journal);  // it was deleted
  auto done = replace_state(recent_path_, text);
  recent_ = done ? std::move(text) : std::string();
  return done;
}

std::optional<Recent> JournalFile::changes_to(const Journal &journal) const {
  constexpr size_t kFew = 16, kPart = 8;
  if (!whole_) return std::nullopt;
  Recent changes{written_ns_, {}, {0, journal.began_ns, {}, journal.batch_time_ns, journal.segments, journal.own}};
  size_t known = 0;
  for (const Position &position : journal.positions) {
    const auto found = whole_->find(position.id);
    if (found != whole_->end()) ++known;
    if (found == whole_->end() || found->second != position) changes.journal.positions.push_back(position);
  }
  if (known < whole_->size()) {
    std::set<FileId> there;
    for (const Position &position : journal.positions) there.insert(position.id);
    for (const auto &[id, position] : *whole_)
      if (there.count(id) == 0) changes.gone.push_back(id);
  }
  const bool few = changes.journal.positions.size() + changes.gone.size() <= std::max(kFew, whole_->size() / kPart);
  return few ? std::optional(std::move(changes)) : std::nullopt;
}

core::Status JournalFile::write_whole(Journal journal) {
  whole_.reset();  // after a failed write the contents are unknown
  journal.written_ns = written_ns_ = std::max(core::realtime(), written_ns_ + 1);
  if (auto done = replace_state(path_, journal_text(journal)); !done) return done;
  whole_.emplace();
  for (Position &position : journal.positions) {
    const FileId id = position.id;
    whole_->emplace(id, std::move(position));
  }
  journal.positions.clear();
  recent_ = recent_text({written_ns_, {}, std::move(journal)});
  std::remove(recent_path_.c_str());  // it belongs to the previous journal
  return core::Done{};
}

void JournalFile::set_aside() {
  whole_.reset();
  for (const std::string &path : {path_, recent_path_}) std::rename(path.c_str(), damaged(path).c_str());
}

}  // namespace atalaya::tail
