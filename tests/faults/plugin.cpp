// SPDX-License-Identifier: Apache-2.0
// Components that work until the file `trouble` selects a fault; kFaults has the words, in addition to "garbage
// PART" and "code" for the results of a call. The file is removed first, so that each fault happens once.
#include <atalaya/plugin.hpp>

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace atalaya::faulty {
namespace {

constexpr Param kTrouble = {
    .name = "trouble"_str, .type = ATALAYA_STRING, .default_text = "/nonexistent"_str, .summary = "file: how to fail, once"_str};

volatile uint64_t sink_of_values;

[[noreturn]] void crash() {
  sink_of_values = 8;
  *reinterpret_cast<volatile int *>(sink_of_values) = 1;
  std::abort();
}

// Processes that its parent started must not outlive it.
void fork_sleepers() {
  for (int i = 0; i < 5; ++i) {
    if (::fork() != 0) continue;
    if (i % 2 == 1) ::setsid();  // and this must not help it
    ::prctl(PR_SET_NAME, "faulty-sleeper");
    for (;;) ::pause();
  }
}

void leak() {
  for (;;) {
    static constexpr size_t kPiece = size_t{4} << 20;
    auto *piece = new char[kPiece];  // until memory is used up
    std::memset(piece, 1, kPiece);
  }
}

void corrupt_heap(Host host) {
  auto *piece = static_cast<char *>(std::malloc(40));
  sink_of_values = reinterpret_cast<uint64_t>(piece);
  auto *behind = reinterpret_cast<char *>(sink_of_values);
  std::memset(behind, 0x41, 4096);
  std::free(piece);
  std::vector<void *> pieces;
  for (size_t i = 0; i < 1000; ++i) pieces.push_back(std::malloc(40 + i));
  for (void *one : pieces) std::free(one);
  host.log(Level::info, "the heap survives it");
  std::abort();
}

[[noreturn]] void spin() {
  for (;;) sink_of_values = sink_of_values + 1;
}

[[noreturn]] void hang() {
  for (;;) ::pause();
}

void block_signals() {
  sigset_t all;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_IGN);
}

// More than a pipe holds. The reader must not wait for it, nor take it for results.
void talk() {
  const std::string line(127, '#');
  for (int i = 0; i < 1024; ++i) std::puts(line.c_str());
  std::fflush(stdout);
}

void close_from(int first, int last) {
  for (int fd = first; fd <= last; ++fd) ::close(fd);
}

struct Fault {
  std::string_view word;
  void (*happens)(const std::string &argument, Host host);
};
constexpr Fault kFaults[] = {
    {"segfault", [](const std::string &, Host) { crash(); }},
    {"abort", [](const std::string &, Host) { std::abort(); }},
    {"exit", [](const std::string &, Host) { std::exit(3); }},  // NOLINT(concurrency-mt-unsafe): that is the fault
    {"_exit", [](const std::string &, Host) { ::_exit(4); }},
    {"hang", [](const std::string &, Host) { hang(); }},
    {"spin", [](const std::string &, Host) { spin(); }},
    {"thread", [](const std::string &, Host) { std::thread(spin).detach(); }},
    {"leak", [](const std::string &, Host) { leak(); }},
    {"heap", [](const std::string &, Host host) { corrupt_heap(host); }},
    {"signals", [](const std::string &, Host) { block_signals(); }},
    {"deaf", [](const std::string &, Host) { block_signals(), hang(); }},
    {"stdout", [](const std::string &, Host) { talk(); }},
    {"fork", [](const std::string &, Host) { fork_sleepers(), crash(); }},
    {"sleepers", [](const std::string &, Host) { fork_sleepers(), hang(); }},
    {"twice", [](const std::string &, Host) { static_cast<void>(::fork() == 0); }},  // both continue
    {"close", [](const std::string &fd, Host) { fd.empty() ? close_from(3, 1023) : close_from(std::stoi(fd), std::stoi(fd)); }},
    {"open", [](const std::string &path, Host) { static_cast<void>(::open(path.c_str(), O_RDONLY | O_CLOEXEC)); }},
};

class Trouble {
 public:
  explicit Trouble(Host host) : host_(host), path_(host.text("trouble")) {}

  // Runs the fault in the file, if it exists. Faults of a result are left to the caller: "garbage pointers", "code".
  std::string happens() const {
    const int file = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    char text[256] = {};
    const ssize_t size = ::read(file, text, sizeof(text) - 1);
    ::close(file);
    ::unlink(path_.c_str());
    std::string words(text, size > 0 ? static_cast<size_t>(size) : 0);
    const std::string word = words.substr(0, words.find(' '));
    for (const Fault &fault : kFaults)
      if (fault.word == word) fault.happens(words.size() > word.size() ? words.substr(word.size() + 1) : "", host_);
    return words;
  }

 private:
  Host host_;
  std::string path_;
};

// Batches that no host may believe.
void corrupt(atalaya_batch &batch, const std::string &how) {
  auto *const nowhere = reinterpret_cast<char *>(0xdeadbee8);
  Sample &sample = batch.samples[0];
  if (how == "garbage samples") {
    batch.count = uint64_t{1} << 40;
    batch.samples = reinterpret_cast<Sample *>(nowhere);
  }
  if (how == "garbage tags") sample.tags = reinterpret_cast<atalaya_tag *>(nowhere), sample.tag_count = 3;
  if (how == "garbage counts") sample.field_count = UINT32_MAX;
  if (how == "garbage text") sample.text = {nowhere, 100};
  static constexpr char kOwn[] = "memory of the plugin";
  if (how == "garbage owner") sample.text = {kOwn, sizeof(kOwn)};
  if (how == "garbage names") sample.fields[0].name = 0x7fffffff;
  if (how == "garbage kind") sample.kind = 77;
  if (how == "garbage types") sample.fields[0].type = 99;
}

class Pull final : public Source {
 public:
  static constexpr Param params[] = {kTrouble};
  static constexpr Description description = {.name = "faulty"_str, .summary = "one sample a window"_str, .params = params};
  explicit Pull(Host host) : trouble_(host), name_(host.intern("test.number")) {
    host.declare({.name = "test.number"_str,
                  .unit = "{number}"_str,
                  .kind = ATALAYA_TOTAL,
                  .decimals = -1,
                  .source = "the plugin"_str,
                  .summary = "Numbers so far."_str});
  }
  Code collect(const Window &, Batch &batch) override {
    const std::string trouble = trouble_.happens();
    Sample &sample = batch.add(ATALAYA_METRICS, 1, 1);
    batch.field(sample, name_, ++number_);
    corrupt(*batch.raw(), trouble);
    return trouble == "code" ? static_cast<Code>(12345) : Code::ok;
  }

 private:
  Trouble trouble_;
  uint32_t name_;
  int64_t number_ = 0;
};

// Emits `samples` samples per window, each with 3 tags and 15 fields, one of which is the pid: for the bench.
class Steady final : public Source {
 public:
  static constexpr Param params[] = {
      {.name = "samples"_str, .type = ATALAYA_INT, .default_text = "10"_str, .summary = "how many"_str}};
  static constexpr Description description = {.name = "steady"_str, .summary = "many samples a window"_str, .params = params};
  explicit Steady(Host host)
      : samples_(host.integer("samples")), keys_{host.intern("pid"), host.intern("process"), host.intern("user")} {
    names_.push_back(host.intern("test.pid"));
    for (int i = 1; i < 15; ++i) names_.push_back(host.intern("test.field." + std::to_string(i)));
  }
  Code collect(const Window &, Batch &batch) override {
    const atalaya_str user = batch.copy("nobody");
    for (int64_t i = 0; i < samples_; ++i) {
      Sample &sample = batch.add(ATALAYA_METRICS, 3, 15);
      batch.tag(sample, keys_[0], std::to_string(1000 + i));
      batch.tag(sample, keys_[1], "worker");
      batch.tag_shared(sample, keys_[2], user);
      batch.field(sample, names_[0], int64_t{::getpid()});
      for (size_t f = 1; f < names_.size(); ++f) batch.field(sample, names_[f], static_cast<double>(f) * 0.5);
    }
    return Code::ok;
  }

 private:
  int64_t samples_;
  uint32_t keys_[3];
  std::vector<uint32_t> names_;
};

class Push final : public PushSource {
 public:
  static constexpr Param params[] = {kTrouble};
  static constexpr Description description = {.name = "faulty_push"_str, .summary = "a sample now and then"_str, .params = params};
  explicit Push(Host host) : host_(host), trouble_(host), name_(host.intern("test.number")) {}
  Code run() override {
    while (!interrupted_) {
      atalaya_batch *raw = nullptr;
      if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) return Code::retry;
      {
        Batch batch(host_, raw);
        Sample &sample = batch.add(ATALAYA_METRICS, 1, 1);
        batch.field(sample, name_, ++number_);
      }
      corrupt(*raw, trouble_.happens());
      uint64_t id = 0;
      if (host_.raw()->emit(host_.raw()->self, raw, &id) != ATALAYA_OK) return Code::ok;
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::milliseconds(20), [this] { return interrupted_.load(); });
    }
    return Code::ok;
  }
  void interrupt() noexcept override {
    interrupted_ = true;
    wake_.notify_all();
  }
  void acked(uint64_t, Code) noexcept override {}

 private:
  Host host_;
  Trouble trouble_;
  uint32_t name_;
  int64_t number_ = 0;
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

class Stage final : public Translator {
 public:
  static constexpr Param params[] = {kTrouble};
  static constexpr Description description = {
      .name = "faulty"_str, .summary = "adds a tag: the first field's unit"_str, .params = params};
  explicit Stage(Host host) : host_(host), trouble_(host), key_(host.intern("seen")) {}
  Code process(const Window &, Batch &batch) override {
    for (Sample &sample : batch.samples()) {
      const auto metric = sample.field_count > 0 ? host_.metric(sample.fields[0].name) : std::nullopt;
      batch.tag(sample, key_, metric ? metric->unit : "none");
    }
    const std::string trouble = trouble_.happens();
    if (batch.raw()->count > 0) corrupt(*batch.raw(), trouble);
    return Code::ok;
  }

 private:
  Host host_;
  Trouble trouble_;
  uint32_t key_;
};

class Writer final : public Sink {
 public:
  static constexpr Param params[] = {
      kTrouble, {.name = "got"_str, .type = ATALAYA_STRING, .default_text = "/dev/null"_str, .summary = "file: output"_str}};
  static constexpr Description description = {.name = "faulty"_str, .summary = "writes numbers"_str, .params = params};
  explicit Writer(Host host) : host_(host), trouble_(host), got_(host.text("got")) {}
  Code write(std::span<const Sample> samples, int64_t &) override {
    trouble_.happens();
    std::string lines;
    for (const Sample &sample : samples)
      for (uint32_t i = 0; i < sample.field_count; ++i)
        if (host_.name_of(sample.fields[i].name) == "test.number") lines += std::to_string(sample.fields[i].value.i64) + "\n";
    const int file = ::open(got_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    const bool written = file >= 0 && ::write(file, lines.data(), lines.size()) == static_cast<ssize_t>(lines.size());
    if (file >= 0) ::close(file);
    return written ? Code::ok : Code::retry;
  }
  Code flush(int64_t) override { return Code::ok; }

 private:
  Host host_;
  Trouble trouble_;
  std::string got_;
};

}  // namespace
}  // namespace atalaya::faulty

ATALAYA_PLUGIN("test_faulty", "0.1.0", "source faulty\nsource steady\nsource faulty_push\ntranslator faulty\nsink faulty",
               atalaya::faulty::Pull, atalaya::faulty::Steady, atalaya::faulty::Push, atalaya::faulty::Stage,
               atalaya::faulty::Writer)
