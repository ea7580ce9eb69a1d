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

// Renames a damaged file; returns a message with the damage and the new name.
std::string rename_damaged_file(const std::string &path, const std::string &problem) {
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
  std::set<FileId> other(changes.removed.begin(), changes.removed.end());
  for (const Position &position : changes.journal.positions) other.insert(position.id);
  std::erase_if(journal.positions, [&other](const Position &position) { return other.count(position.id) > 0; });
  std::vector<Position> &fresh = changes.journal.positions;
  fresh.insert(fresh.begin(), std::make_move_iterator(journal.positions.begin()), std::make_move_iterator(journal.positions.end()));
  return std::move(changes.journal);
}

}  // namespace

JournalFile::Loaded JournalFile::read() {
  complete_.reset();
  Loaded loaded;
  if (!is_there(path_)) {
    if (is_there(recent_path_))
      loaded.problem = rename_damaged_file(recent_path_, recent_path_ + " has changes to " + path_ + ", which is missing");
    return loaded;
  }
  auto journal = parsed(path_, parse_journal);
  if (!journal) {
    rename_damaged();
    loaded.problem = journal.error() + "; renamed to " + damaged(path_);
    return loaded;
  }
  loaded.journal = std::move(*journal);
  written_ns_ = loaded.journal.written_ns;  // the next time is later, even if the clock was set back
  if (is_there(recent_path_)) loaded.problem = add_recent(loaded.journal);
  return loaded;
}

// Returns a message about damage; "" if there is none.
std::string JournalFile::add_recent(Journal &journal) const {
  auto recent = parsed(recent_path_, parse_recent);
  if (!recent) return rename_damaged_file(recent_path_, recent.error());
  if (recent->base_written_ns > journal.written_ns)
    return rename_damaged_file(recent_path_, recent_path_ + " has changes to another journal than " + path_);
  if (recent->base_written_ns == journal.written_ns) journal = changed(std::move(journal), std::move(*recent));
  return "";  // changes to an earlier journal are already in this one
}

core::Status JournalFile::write(const Journal &journal) {
  const auto changes = changes_to(journal);
  if (!changes) return write_complete(journal);
  std::string text = recent_text(*changes);
  if (text == recent_) return core::Done{};
  if (!is_there(path_)) return write_complete(journal);  // the file was deleted
  auto done = replace_state(recent_path_, text);
  recent_ = done ? std::move(text) : std::string();
  return done;
}

std::optional<Recent> JournalFile::changes_to(const Journal &journal) const {
  constexpr size_t kFew = 16, kPart = 8;
  if (!complete_) return std::nullopt;
  Recent changes{written_ns_, {}, {0, journal.began_ns, {}, journal.batch_time_ns, journal.segments, journal.own}};
  size_t known = 0;
  for (const Position &position : journal.positions) {
    const auto found = complete_->find(position.id);
    if (found != complete_->end()) ++known;
    if (found == complete_->end() || found->second != position) changes.journal.positions.push_back(position);
  }
  if (known < complete_->size()) {
    std::set<FileId> there;
    for (const Position &position : journal.positions) there.insert(position.id);
    for (const auto &[id, position] : *complete_)
      if (there.count(id) == 0) changes.removed.push_back(id);
  }
  const bool few = changes.journal.positions.size() + changes.removed.size() <= std::max(kFew, complete_->size() / kPart);
  return few ? std::optional(std::move(changes)) : std::nullopt;
}

core::Status JournalFile::write_complete(Journal journal) {
  complete_.reset();  // after a failed write the contents are unknown
  journal.written_ns = written_ns_ = std::max(core::realtime(), written_ns_ + 1);
  if (auto done = replace_state(path_, journal_text(journal)); !done) return done;
  complete_.emplace();
  for (Position &position : journal.positions) {
    const FileId id = position.id;
    complete_->emplace(id, std::move(position));
  }
  journal.positions.clear();
  recent_ = recent_text({written_ns_, {}, std::move(journal)});
  std::remove(recent_path_.c_str());  // these changes belong to the previous journal
  return core::Done{};
}

void JournalFile::rename_damaged() {
  complete_.reset();
  for (const std::string &path : {path_, recent_path_}) std::rename(path.c_str(), damaged(path).c_str());
}

}  // namespace atalaya::tail
