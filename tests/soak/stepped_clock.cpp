// SPDX-License-Identifier: Apache-2.0
// clock_gettime of the agent in the soak, of its libraries and of its plugins: CLOCK_REALTIME is the kernel's plus the number in
// the file ATALAYA_CLOCK_STEP, in ns. The machine's own clock cannot be stepped under everything else that runs there, and time
// namespaces do not have this clock. Times that the kernel stamps (files, processes) do not step.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>

namespace {

using Step = std::atomic<int64_t>;
static_assert(Step::is_always_lock_free && sizeof(Step) == sizeof(int64_t));

const Step *open_step() {
  static const Step none{0};
  const char *path = std::getenv("ATALAYA_CLOCK_STEP");
  if (path == nullptr) return &none;
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  void *memory = ::mmap(nullptr, sizeof(Step), PROT_READ, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) std::abort();
  ::close(file);
  return static_cast<const Step *>(memory);
}

}  // namespace

extern "C" __attribute__((visibility("default"))) int clock_gettime(clockid_t clock, timespec *time) noexcept {
  static constexpr int64_t kSecond = 1'000'000'000;
  static const Step *const step = open_step();
  if (::syscall(SYS_clock_gettime, clock, time) != 0) return -1;
  if (clock != CLOCK_REALTIME) return 0;
  const int64_t stepped = time->tv_sec * kSecond + time->tv_nsec + step->load();
  *time = {stepped / kSecond, stepped % kSecond};
  return 0;
}
