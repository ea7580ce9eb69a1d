// SPDX-License-Identifier: Apache-2.0
// bare_iterator: once a second a pass over all processes by BPF that learns nothing about them, until it is killed. The floor that
// the source proc is compared with. Says once how many processes it saw.
#include "tests/bench/bare_iterator.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "bare_iterator.skel.h"

namespace {

size_t pass(const bpf_link *link) {
  static std::array<char, size_t{64} << 10> buffer;
  const int iterator = bpf_iter_create(bpf_link__fd(link));
  size_t bytes = 0;
  ssize_t got = 0;
  while (iterator >= 0 && ((got = read(iterator, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EAGAIN)))
    if (got > 0) bytes += static_cast<size_t>(got);
  if (iterator >= 0) close(iterator);
  return bytes / sizeof(bare_record);
}

}  // namespace

int main() {
  bare_iterator_bpf *skeleton = bare_iterator_bpf__open_and_load();
  const bpf_link *link = skeleton ? bpf_program__attach_iter(skeleton->progs.every_task, nullptr) : nullptr;
  const size_t processes = link ? pass(link) : 0;
  if (processes == 0) {
    std::fprintf(stderr, "bare_iterator: the kernel does not run it (%s)\n", std::strerror(errno));
    return 1;
  }
  std::printf("%zu processes\n", processes);
  std::fflush(stdout);
  timespec next{};
  clock_gettime(CLOCK_MONOTONIC, &next);
  for (;;) {
    ++next.tv_sec;
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, nullptr);
    pass(link);
  }
}
