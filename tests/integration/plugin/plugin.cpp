// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <fcntl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>

namespace atalaya::witness {
namespace {

// One line by one call: a process that is killed leaves whole lines.
class Lines {
 public:
  explicit Lines(std::string path) : path_(std::move(path)) {}
  ~Lines() { close(); }
  Lines(const Lines &) = delete;
  Lines &operator=(const Lines &) = delete;
  void open() {
    file_ = ::open(path_.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    if (file_ < 0) throw Failure(Code::bad_config, path_ + ": cannot be written");
  }
  void close() {
    if (file_ >= 0) ::close(file_);
    file_ = -1;
  }
  void put(const std::string &text) const {
    if (::write(file_, text.data(), text.size()) != static_cast<ssize_t>(text.size()))
      throw Failure(Code::retry, path_ + ": not written");
  }

 private:
  std::string path_;
  int file_ = -1;
};

// Pushes consecutive numbers, some a batch, and writes down the first number of each batch that was acknowledged.
class Counter final : public PushSource {
 public:
  static constexpr Param params[] = {
      {.name = "acked"_str,
       .type = ATALAYA_STRING,
       .flags = ATALAYA_REQUIRED,
       .summary = "file: first number of each acknowledged batch"_str},
      {.name = "first"_str, .type = ATALAYA_INT, .default_text = "0"_str, .summary = "the first number"_str},
      {.name = "batch"_str, .type = ATALAYA_INT, .default_text = "10"_str, .summary = "numbers a batch"_str},
      {.name = "pause"_str, .type = ATALAYA_DURATION, .default_text = "1ms"_str, .summary = "between batches"_str},
  };
  static constexpr Description description = {.name = "counter"_str, .summary = "pushes numbers"_str, .params = params};
  explicit Counter(Host host)
      : host_(host),
        acked_(host.text("acked")),
        next_(host.integer("first")),
        batch_(host.integer("batch")),
        pause_(host.integer("pause")),
        name_(host.intern("test.number")) {}

  void start() override { acked_.open(); }

  Code run() override {
    while (!interrupted_) {
      atalaya_batch *raw = nullptr;
      if (host_.raw()->new_batch(host_.raw()->self, &raw) != ATALAYA_OK) return Code::retry;
      const int64_t first = next_;
      {
        Batch batch(host_, raw);
        for (int64_t i = 0; i < batch_; ++i) {
          Sample &sample = batch.add(ATALAYA_METRICS, 1, 1);
          batch.field(sample, name_, next_++);
        }
      }
      uint64_t id = 0;
      if (host_.raw()->emit(host_.raw()->self, raw, &id) != ATALAYA_OK) return Code::ok;
      {
        const std::lock_guard lock(mutex_);
        if (early_.erase(id) > 0) {
          acked_.put(std::to_string(first) + "\n");
        } else {
          waiting_[id] = first;
        }
      }
      std::unique_lock lock(mutex_);
      wake_.wait_for(lock, std::chrono::nanoseconds(pause_), [this] { return interrupted_.load(); });
    }
    return Code::ok;
  }
  void interrupt() noexcept override {
    interrupted_ = true;
    wake_.notify_all();
  }
  void acked(uint64_t id, Code status) noexcept override {
    try {
      const std::lock_guard lock(mutex_);
      const auto found = waiting_.find(id);
      if (found == waiting_.end()) {
        if (status == Code::ok) early_.insert(id);  // before emit has returned
        return;
      }
      if (status == Code::ok) acked_.put(std::to_string(found->second) + "\n");
      waiting_.erase(found);
    } catch (const std::exception &error) {
      host_.log(Level::error, error.what());
    }
  }

 private:
  Host host_;
  Lines acked_;
  int64_t next_, batch_, pause_;
  uint32_t name_;
  std::atomic<bool> interrupted_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
  std::map<uint64_t, int64_t> waiting_;
  std::set<uint64_t> early_;
};

// Writes a line of numbers per batch. While the file `trouble` exists it returns the error in it: retry, permanent, or hang.
class Witness final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "got"_str, .type = ATALAYA_STRING, .flags = ATALAYA_REQUIRED, .summary = "file: a line a batch"_str},
      {.name = "trouble"_str, .type = ATALAYA_STRING, .default_text = "/nonexistent"_str, .summary = "file: how to fail"_str},
  };
  static constexpr Description description = {.name = "witness"_str, .summary = "Record received numbers"_str, .params = params};
  explicit Witness(Host host) : got_(host.text("got")), trouble_(host.text("trouble")) {}

  void start() override { got_.open(); }
  Code write(std::span<const Sample> samples, int64_t &retry_after_ns) override {
    fail(retry_after_ns);
    std::string line;
    for (const Sample &sample : samples) line += std::to_string(sample.fields[0].value.i64) + " ";
    line.back() = '\n';
    got_.put(line);
    return Code::ok;
  }
  Code flush(int64_t) override { return Code::ok; }

 private:
  void fail(int64_t &retry_after_ns) const {
    for (;;) {
      char word[16] = {};
      const int file = ::open(trouble_.c_str(), O_RDONLY | O_CLOEXEC);
      if (file < 0) return;
      const ssize_t size = ::read(file, word, sizeof(word) - 1);
      ::close(file);
      const std::string_view how(word, size > 0 ? static_cast<size_t>(size) : 0);
      retry_after_ns = 10'000'000;
      if (how == "retry") throw Failure(Code::retry, "set to fail");
      if (how == "permanent") throw Failure(Code::permanent, "set to refuse");
      if (how != "hang") return;
      ::usleep(10'000);
    }
  }
  Lines got_;
  std::string trouble_;
};

// A metric of each kind, and one that is declared at run time: nothing in the tree knows their names.
class Kinds final : public Source {
 public:
  static constexpr Metric metrics[] = {{.name = "acme.jobs.total"_str,
                                        .unit = "{job}"_str,
                                        .kind = ATALAYA_TOTAL,
                                        .decimals = -1,
                                        .source = "a counter"_str,
                                        .summary = "Jobs since the start."_str},
                                       {.name = "acme.jobs.done"_str,
                                        .unit = "{job}"_str,
                                        .kind = ATALAYA_DELTA,
                                        .decimals = -1,
                                        .source = "a counter"_str,
                                        .summary = "Jobs done in the window."_str},
                                       {.name = "acme.queue.size"_str,
                                        .unit = "By"_str,
                                        .kind = ATALAYA_GAUGE,
                                        .decimals = -1,
                                        .source = "a queue"_str,
                                        .summary = "Bytes in the queue."_str},
                                       {.name = "acme.job.time"_str,
                                        .unit = "s"_str,
                                        .kind = ATALAYA_GAUGE,
                                        .decimals = 3,
                                        .source = "a clock"_str,
                                        .summary = "Duration of the last job."_str}};
  static constexpr Description description = {.name = "kinds"_str, .summary = "A metric of each kind"_str, .metrics = metrics};
  explicit Kinds(Host host) {
    for (const Metric &metric : metrics) ids_.push_back(host.intern(view(metric.name)));
    ids_.push_back(host.intern("acme.late"));
    host.declare({.name = "acme.late"_str,
                  .unit = "W"_str,
                  .kind = ATALAYA_GAUGE,
                  .decimals = 1,
                  .tags = nullptr,
                  .tag_count = 0,
                  .tag_size = 0,
                  .source = "run time"_str,
                  .summary = "Declared at run time."_str});
  }
  Code collect(const Window &, Batch &batch) override {
    Sample &sample = batch.add(ATALAYA_METRICS, 0, 5);
    batch.field(sample, ids_[0], total_ += 3);
    batch.field(sample, ids_[1], int64_t{3});
    batch.field(sample, ids_[2], int64_t{4096});
    batch.field(sample, ids_[3], 0.125);
    batch.field(sample, ids_[4], 7.5);
    return Code::ok;
  }

 private:
  std::vector<uint32_t> ids_;
  int64_t total_ = 0;
};

}  // namespace
}  // namespace atalaya::witness

ATALAYA_PLUGIN("test_witness", "0.1.0", "source counter\nsource kinds\nsink witness", atalaya::witness::Counter,
               atalaya::witness::Kinds, atalaya::witness::Witness)
