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

// The program, ready to make iterators; null when the kernel does not take it. It stays until the process ends.
const bpf_link *load() {
  size_t size = 0;
  const void *bytes = bare_iterator_bpf__elf_bytes(&size);
  bpf_object *object = bpf_object__open_mem(bytes, size, nullptr);
  if (!object || bpf_object__load(object) != 0) return nullptr;
  return bpf_program__attach_iter(bpf_object__find_program_by_name(object, "every_task"), nullptr);
}

size_t pass(const bpf_link *link) {
  static std::array<char, size_t{64} << 10> buffer;
  const int iterator = bpf_iter_create(bpf_link__fd(link));
  size_t bytes = 0;
  ssize_t got = 0;
  while (iterator >= 0 && ((got = read(iterator, buffer.data(), buffer.size())) > 0 || (got < 0 && errno == EAGAIN)))
    if (got > 0) bytes += static_cast<size_t>(got);
  if (iterator >= 0) close(iterator);
  return bytes / sizeof(BareRecord);
}

}  // namespace

int main() {
  const bpf_link *link = load();
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
