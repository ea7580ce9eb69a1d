// SPDX-License-Identifier: Apache-2.0
#include "plugins/sources/proc/host/host_file_systems.h"

#include <pthread.h>
#include <sys/statvfs.h>

#include <condition_variable>
#include <mutex>
#include <thread>
#include <utility>

namespace atalaya::proc {
namespace {

constexpr std::chrono::milliseconds kStopTimeout{200};

}  // namespace

std::optional<Space> space_at(const std::string &mount) {
  struct statvfs found {};
  if (::statvfs(mount.c_str(), &found) != 0) return std::nullopt;
  return Space{found.f_frsize, found.f_blocks, found.f_bfree, found.f_bavail, found.f_files, found.f_ffree};
}

// Between the caller and the thread. While `busy` the mounts and answers are the thread's, else the caller's.
struct FileSystemSpaces::Shared {
  std::mutex mutex;
  std::condition_variable wake, done;
  decltype(FileSystemQueryOptions::query) query;
  Mounts mounts;
  std::vector<std::optional<Space>> answers;
  bool busy = false, stopping = false, ended = false;
  std::thread thread;
};

void FileSystemSpaces::start() {
  stop();
  const auto shared = std::make_shared<Shared>();
  shared->query = options_.query;
  shared->thread = std::thread([shared] { work(*shared); });
  shared_ = shared;
}

void FileSystemSpaces::stop() {
  if (!shared_) return;
  std::unique_lock lock(shared_->mutex);
  shared_->stopping = true;
  shared_->wake.notify_one();
  const bool ended = shared_->done.wait_for(lock, kStopTimeout, [this] { return shared_->ended; });
  lock.unlock();
  if (ended)
    shared_->thread.join();
  else
    shared_->thread.detach();
  shared_.reset();
}

bool FileSystemSpaces::query(const Mounts &mounts) {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->busy) {
    shared_->mounts = mounts;
    shared_->answers.clear();
    shared_->busy = true;
    shared_->wake.notify_one();
    if (shared_->done.wait_for(lock, options_.timeout, [this] { return !shared_->busy; })) return true;
  }
  unresponsive_ = (*shared_->mounts)[shared_->answers.size()].mount;
  return false;
}

const std::vector<std::optional<Space>> &FileSystemSpaces::answers() const {
  return shared_->answers;
}

void FileSystemSpaces::work(Shared &shared) {
  pthread_setname_np(pthread_self(), "file systems");
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.wake.wait(lock, [&shared] { return shared.busy || shared.stopping; });
    while (!shared.stopping && shared.answers.size() < shared.mounts->size()) {
      const std::string &mount = (*shared.mounts)[shared.answers.size()].mount;
      lock.unlock();
      const std::optional<Space> answer = shared.query(mount);
      lock.lock();
      shared.answers.push_back(answer);
    }
    if (shared.stopping) break;
    shared.busy = false;
    shared.done.notify_one();
  }
  shared.ended = true;
  shared.done.notify_one();
}

}  // namespace atalaya::proc
