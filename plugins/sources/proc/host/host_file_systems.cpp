// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_file_systems.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>
#include <utility>

namespace atalaya::proc {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kStopTimeout{200};
constexpr size_t kMaxThreads = 8;  // one more than the file systems that may hang without delaying the others

}  // namespace

std::optional<Space> space_at(const std::string &mount) {
  struct statvfs found {};
  if (::statvfs(mount.c_str(), &found) != 0) return std::nullopt;
  return Space{found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree};
}

struct FileSystemSpaces::Shared {
  enum class State : uint8_t { idle, queued, queried, answered };
  struct Query {
    State state = State::idle;
    std::optional<Space> answer;
    Clock::time_point begin;
    uint64_t call = 0;  // the last call that listed the mount point
  };
  using Queries = std::map<std::string, Query, std::less<>>;

  std::mutex mutex;  // guards all members
  std::condition_variable wake, done;
  decltype(FileSystemQueryOptions::query) query;
  Queries queries;                           // by mount point
  std::vector<Queries::value_type *> queue;  // queries from index `next` on are waiting
  size_t next = 0;
  size_t threads = 0, busy = 0;
  uint64_t call = 0;
  bool stopping = false;

  bool is_waiting() const { return next < queue.size(); }
  void add(const std::string &mount);
};

void FileSystemSpaces::Shared::add(const std::string &mount) {
  auto found = queries.find(mount);
  if (found == queries.end()) found = queries.try_emplace(mount).first;
  found->second.call = call;
  if (found->second.state != State::idle) return;
  found->second.state = State::queued;
  queue.push_back(&*found);
}

void FileSystemSpaces::start() {
  stop();
  shared_ = std::make_shared<Shared>();
  shared_->query = options_.query;
  const std::lock_guard lock(shared_->mutex);
  start_thread(shared_);
}

void FileSystemSpaces::stop() {
  if (!shared_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->wake.notify_all();
  shared_->done.wait_for(lock, kStopTimeout, [this] { return shared_->threads == 0; });
  lock.unlock();
  shared_.reset();
}

const std::vector<std::optional<Space>> &FileSystemSpaces::query(const std::vector<FileSystem> &mounts) {
  using State = Shared::State;
  Shared &shared = *shared_;
  std::unique_lock lock(shared.mutex);
  const size_t slow = shared.busy;  // threads blocked by queries of earlier calls
  ++shared.call;
  if (!shared.is_waiting()) {
    shared.queue.clear();
    shared.next = 0;
  }
  for (const FileSystem &file_system : mounts) shared.add(file_system.mount);
  shared.wake.notify_one();
  // Each thread that is blocked is replaced, so that the others answer in this call.
  while (!shared.done.wait_for(lock, options_.wait, [&] { return !shared.is_waiting() && shared.busy <= slow; })) {
    if (!shared.is_waiting() || shared.busy < shared.threads || shared.threads == kMaxThreads) break;
    start_thread(shared_);
  }
  answers_.assign(mounts.size(), std::nullopt);
  for (size_t i = 0; i < mounts.size(); ++i) {
    Shared::Query &query = shared.queries.find(mounts[i].mount)->second;
    if (query.state != State::answered) continue;
    answers_[i] = query.answer;
    query.state = State::idle;
  }
  std::erase_if(shared.queries, [&](const auto &query) {
    const bool is_open = query.second.state == State::queued || query.second.state == State::queried;
    return query.second.call != shared.call && !is_open;
  });
  return answers_;
}

std::vector<std::string> FileSystemSpaces::unresponsive() const {
  const auto begin = Clock::now() - options_.timeout;
  std::vector<std::string> mounts;
  const std::lock_guard lock(shared_->mutex);
  for (const auto &[mount, query] : shared_->queries)
    if (query.state == Shared::State::queried && query.begin <= begin) mounts.push_back(mount);
  return mounts;
}

// The caller holds the lock.
void FileSystemSpaces::start_thread(const std::shared_ptr<Shared> &shared) {
  std::thread([shared] { run(*shared); }).detach();
  ++shared->threads;
}

// A thread that was blocked ends if another one serves the queue.
void FileSystemSpaces::run(Shared &shared) {
  pthread_setname_np(pthread_self(), "file systems");
  std::unique_lock lock(shared.mutex);
  while (!shared.stopping) {
    if (!shared.is_waiting()) {
      if (shared.threads - shared.busy > 1) break;
      shared.wake.wait(lock);
      continue;
    }
    auto &[mount, query] = *shared.queue[shared.next++];
    query.state = Shared::State::queried;
    query.begin = Clock::now();
    ++shared.busy;
    lock.unlock();
    const std::optional<Space> answer = shared.query(mount);
    lock.lock();
    --shared.busy;
    query.state = Shared::State::answered;
    query.answer = answer;
    shared.done.notify_one();
  }
  --shared.threads;
  shared.done.notify_one();
}

}  // namespace atalaya::proc
