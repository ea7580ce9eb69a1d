// SPDX-License-Identifier: Apache-2.0
// A storm of short lives, and the time that the kernel charged them with in the end, which only their parent can know for certain:
//   fork_storm [--seconds 30] [--rate 600] [--burn-us 1500] [--exec-every 4] [--orphan-every 10] [--threads]
// Every child computes for two thirds of its time and is in system calls for the rest; some become /bin/true afterwards, some burn
// in a separate child that they leave behind. With --threads they are threads of this one process. Writes two lines of JSON:
// the first when the storm begins, the second with the sums.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <new>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <unordered_set>

namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr size_t kMaxAlive = 500;  // a machine that cannot keep up gets a slower storm, not a larger one

struct Settings {
  int64_t seconds = 30, rate = 600, burn_us = 1500, exec_every = 4, orphan_every = 10;
  bool threads = false;
};

struct CpuTime {
  int64_t user_ns = 0, kernel_ns = 0, count = 0;
};

// Reports of the children, in memory that all share: by their own clocks, in the requested time.
struct Burnt {
  std::atomic<int64_t> user_ns, kernel_ns, alive;
};

int64_t now(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return int64_t{time.tv_sec} * kSecond + time.tv_nsec;
}

int64_t compute(int64_t ns) {
  const int64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
  int64_t spent = 0;
  for (volatile unsigned number = 1; spent < ns; spent = now(CLOCK_THREAD_CPUTIME_ID) - begin)
    for (int i = 0; i < 20'000; ++i) number = number * 1664525 + 1013904223;
  return spent;
}

int64_t call_kernel(int64_t ns) {
  static const int zeros = open("/dev/zero", O_RDONLY | O_CLOEXEC);
  std::array<char, 16384> buffer{};
  const int64_t begin = now(CLOCK_THREAD_CPUTIME_ID);
  int64_t spent = 0;
  for (; spent < ns; spent = now(CLOCK_THREAD_CPUTIME_ID) - begin)
    if (read(zeros, buffer.data(), buffer.size()) < 0) return spent;
  return spent;
}

void burn(int64_t us, Burnt &burnt) {
  burnt.user_ns += compute(us * 1000 * 2 / 3);
  burnt.kernel_ns += call_kernel(us * 1000 / 3);
}

[[noreturn]] void run_child(const Settings &settings, Burnt &burnt, bool becomes_true, bool leaves_orphan) {
  if (leaves_orphan && fork() > 0) _exit(0);
  burn(settings.burn_us, burnt);
  if (becomes_true) execl("/bin/true", "true", nullptr);
  _exit(0);
}

int64_t nanoseconds(const timeval &time) {
  return int64_t{time.tv_sec} * kSecond + int64_t{time.tv_usec} * 1000;
}

void add(CpuTime &sum, const rusage &usage) {
  sum.user_ns += nanoseconds(usage.ru_utime);
  sum.kernel_ns += nanoseconds(usage.ru_stime);
  ++sum.count;
}

void print_part(const char *name, const CpuTime &sum) {
  std::printf(", \"%s\": {\"count\": %jd, \"user\": %.6f, \"kernel\": %.6f}", name, static_cast<intmax_t>(sum.count),
              static_cast<double>(sum.user_ns) / 1e9, static_cast<double>(sum.kernel_ns) / 1e9);
}

// Calls `begin_one(index)` at the rate, each somewhere within its turn: at equal distances the work would keep its place between
// the ticks by which the kernel counts, and /proc/stat would see all of it, or none. Late ones begin at once.
template <class BeginOne, class Rest>
void storm(const Settings &settings, BeginOne begin_one, Rest between) {
  const int64_t turn = kSecond / settings.rate;
  std::minstd_rand numbers;
  std::uniform_int_distribution<int64_t> within(0, turn - 1);
  const int64_t begin = now(CLOCK_MONOTONIC);
  for (int64_t i = 0; i < settings.seconds * settings.rate; ++i) {
    if (now(CLOCK_MONOTONIC) > begin + settings.seconds * kSecond) break;
    const int64_t due = begin + i * turn + within(numbers);
    const timespec until{due / kSecond, due % kSecond};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, nullptr);
    begin_one(i);
    between();
  }
}

class ForkStorm {
 public:
  ForkStorm(const Settings &settings, Burnt &burnt) : settings_(settings), burnt_(burnt) {}

  void run() {
    storm(
        settings_, [this](int64_t i) { begin_child(i); }, [this] { reap(alive_ > kMaxAlive); });
    end_ns_ = now(CLOCK_REALTIME);
    while (reap(true)) {
    }
  }

  void print() const {
    std::printf("{\"end\": %jd, \"started\": %jd", static_cast<intmax_t>(end_ns_), static_cast<intmax_t>(started_));
    print_part("plain", plain_);
    print_part("exec", exec_);
    print_part("burnt", {burnt_.user_ns, burnt_.kernel_ns, started_});
    std::puts("}");
  }

 private:
  void begin_child(int64_t i) {
    const bool becomes_true = settings_.exec_every > 0 && i % settings_.exec_every == 0;
    const bool leaves_orphan = !becomes_true && settings_.orphan_every > 0 && i % settings_.orphan_every == 1;
    const pid_t child = fork();
    if (child == 0) run_child(settings_, burnt_, becomes_true, leaves_orphan);
    if (child < 0) {
      std::fprintf(stderr, "fork_storm: fork: %s\n", std::strerror(errno));
      std::exit(1);
    }
    if (becomes_true) becoming_true_.insert(child);
    ++started_;
    ++alive_;
  }

  // Takes all that have ended; false: there are none left. Orphans come too, as this process is their subreaper.
  bool reap(bool wait) {
    for (;; wait = false) {
      rusage usage{};
      const pid_t child = wait4(-1, nullptr, wait ? 0 : WNOHANG, &usage);
      if (child < 0) return errno == EINTR;
      if (child == 0) return true;
      add(becoming_true_.erase(child) == 1 ? exec_ : plain_, usage);
      if (alive_ > 0) --alive_;
    }
  }

  const Settings &settings_;
  Burnt &burnt_;
  std::unordered_set<pid_t> becoming_true_;
  CpuTime plain_, exec_;
  size_t alive_ = 0;
  int64_t started_ = 0, end_ns_ = 0;
};

// Its own rusage is the use of all of its threads.
void run_threads(const Settings &settings, Burnt &burnt) {
  int64_t started = 0;
  storm(
      settings,
      [&](int64_t) {
        ++started;
        ++burnt.alive;
        std::thread([&] {
          burn(settings.burn_us, burnt);
          --burnt.alive;
          burnt.alive.notify_one();
        }).detach();
      },
      [&] {
        for (int64_t alive = burnt.alive; alive > static_cast<int64_t>(kMaxAlive); alive = burnt.alive) burnt.alive.wait(alive);
      });
  const int64_t end_ns = now(CLOCK_REALTIME);
  for (int64_t alive = burnt.alive; alive > 0; alive = burnt.alive) burnt.alive.wait(alive);
  // Alive for a window more, so that its last threads are seen as a living process's.
  sleep(2);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  CpuTime self;
  add(self, usage);
  std::printf("{\"end\": %jd, \"started\": %jd", static_cast<intmax_t>(end_ns), static_cast<intmax_t>(started));
  print_part("plain", self);
  print_part("burnt", {burnt.user_ns, burnt.kernel_ns, started});
  std::puts("}");
}

bool parse(int argc, char **argv, Settings &settings) {
  const struct {
    std::string_view name;
    int64_t &value;
    int64_t minimum;
  } numbers[] = {{"--seconds", settings.seconds, 1},
                 {"--rate", settings.rate, 1},
                 {"--burn-us", settings.burn_us, 0},
                 {"--exec-every", settings.exec_every, 0},
                 {"--orphan-every", settings.orphan_every, 0}};
  for (int i = 1; i < argc; ++i) {
    bool known = argv[i] == std::string_view("--threads");
    settings.threads = settings.threads || known;
    for (const auto &number : numbers) {
      if (known || argv[i] != number.name || i + 1 == argc) continue;
      number.value = std::strtoll(argv[++i], nullptr, 10);
      if (number.value < number.minimum) return false;
      known = true;
    }
    if (!known) return false;
  }
  return true;
}

}  // namespace

int main(int argc, char **argv) {
  Settings settings;
  if (!parse(argc, argv, settings)) {
    std::fputs("usage: fork_storm [--seconds N] [--rate N] [--burn-us N] [--exec-every N] [--orphan-every N] [--threads]\n",
               stderr);
    return 2;
  }
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  void *shared = mmap(nullptr, sizeof(Burnt), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) {
    std::perror("fork_storm: mmap");
    return 1;
  }
  Burnt &burnt = *new (shared) Burnt{};
  // A separate name, which its children have too, distinguishes this storm from another one.
  const std::string name = "storm-" + std::to_string(getpid());
  prctl(PR_SET_NAME, name.c_str());
  std::printf("{\"begin\": %jd, \"pid\": %d, \"name\": \"%s\"}\n", static_cast<intmax_t>(now(CLOCK_REALTIME)), getpid(),
              name.c_str());
  std::fflush(stdout);
  if (settings.threads) {
    run_threads(settings, burnt);
    return 0;
  }
  ForkStorm forks(settings, burnt);
  forks.run();
  forks.print();
  return 0;
}
