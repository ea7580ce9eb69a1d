// SPDX-License-Identifier: Apache-2.0
//
// The plugin ABI of Atalaya, layer 2: C++20 on plugin.h, header only. An author writes one class per component and one macro:
//
//   class Uptime final : public atalaya::Source {
//    public:
//     static constexpr atalaya::Param params[] = {atalaya::param::string("root", "Root of the file system to read").defaults("/")};
//     static constexpr atalaya::Metric metrics[] = {
//         atalaya::metric::gauge("uptime.seconds", "s", 2, atalaya::metric::host_tags, "/proc/uptime", "Time since boot")};
//     static constexpr atalaya::Description description = {
//         .name = "uptime"_str, .summary = "Time since boot"_str, .params = params, .metrics = metrics};
//     explicit Uptime(atalaya::Host host);
//     atalaya::Code collect(const atalaya::Window &window, atalaya::Batch &batch) override;
//   };
//   ATALAYA_PLUGIN("uptime", "1.0.0", "source uptime", Uptime)
//
// Exceptions may leave any member function: one guard turns them into codes (Failure carries its own). Threads: as plugin.h says.
#ifndef ATALAYA_PLUGIN_HPP
#define ATALAYA_PLUGIN_HPP

#include <atalaya/plugin.h>

#include <array>
#include <cmath>
#include <cstring>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace atalaya {

using Param = atalaya_param;
using Metric = atalaya_metric;
using MetricTag = atalaya_metric_tag;
using Need = atalaya_need;
using Window = atalaya_window;
using Sample = atalaya_sample;

constexpr atalaya_str str(std::string_view text) {
  return {text.data(), text.size()};
}
constexpr std::string_view view(atalaya_str text) {
  return {text.data, text.size};
}

inline namespace literals {
constexpr atalaya_str operator""_str(const char *data, std::size_t size) {
  return {data, size};
}
}  // namespace literals

// ---- Builders of descriptions: constant expressions over string literals. The fields are those of plugin.h. --------------------

namespace param {

// A parameter that is being described. Converts to Param.
class Builder {
 public:
  constexpr Builder(uint32_t type, std::string_view name, std::string_view summary) {
    param_.name = str(name);
    param_.type = type;
    param_.summary = str(summary);
  }
  constexpr operator Param() const { return param_; }

  // The default, as an operator would write it.
  constexpr Builder defaults(std::string_view text) const {
    Builder copy = *this;
    copy.param_.default_text = str(text);
    return copy;
  }
  constexpr Builder required() const {
    Builder copy = *this;
    copy.param_.flags |= ATALAYA_REQUIRED;
    return copy;
  }
  // Both limits are allowed values, in the unit that the value is read in (ns, bytes).
  constexpr Builder range(double min, double max) const {
    Builder copy = *this;
    copy.param_.flags |= ATALAYA_BOUNDED;
    copy.param_.min = min;
    copy.param_.max = max;
    return copy;
  }
  constexpr Builder unit(std::string_view unit) const {
    Builder copy = *this;
    copy.param_.unit = str(unit);
    return copy;
  }
  // The allowed values, joined by '|'; for the name "*", a glob that the keys match.
  constexpr Builder allowed(std::string_view words) const {
    Builder copy = *this;
    copy.param_.allowed = str(words);
    return copy;
  }
  // Describes the elements of a list (one Param), the values of a map (one Param) or the members of a record. The array is a
  // constant with static storage.
  constexpr Builder items(std::span<const Param> items) const {
    Builder copy = *this;
    copy.param_.items = items.data();
    copy.param_.item_count = static_cast<uint32_t>(items.size());
    copy.param_.item_size = sizeof(Param);
    return copy;
  }

 private:
  Param param_{};
};

constexpr Builder boolean(std::string_view name, std::string_view summary) {
  return {ATALAYA_BOOL, name, summary};
}
constexpr Builder integer(std::string_view name, std::string_view summary) {
  return {ATALAYA_INT, name, summary};
}
constexpr Builder number(std::string_view name, std::string_view summary) {
  return {ATALAYA_NUMBER, name, summary};
}
constexpr Builder string(std::string_view name, std::string_view summary) {
  return {ATALAYA_STRING, name, summary};
}
constexpr Builder duration(std::string_view name, std::string_view summary) {
  return {ATALAYA_DURATION, name, summary};
}
constexpr Builder size(std::string_view name, std::string_view summary) {
  return {ATALAYA_SIZE, name, summary};
}
constexpr Builder choice(std::string_view name, std::string_view words, std::string_view summary) {
  return Builder(ATALAYA_ENUM, name, summary).allowed(words);
}
constexpr Builder list(std::string_view name, std::span<const Param> element, std::string_view summary) {
  return Builder(ATALAYA_LIST, name, summary).items(element);
}
constexpr Builder map(std::string_view name, std::span<const Param> value, std::string_view summary) {
  return Builder(ATALAYA_MAP, name, summary).items(value);
}
constexpr Builder record(std::string_view name, std::span<const Param> members, std::string_view summary) {
  return Builder(ATALAYA_RECORD, name, summary).items(members);
}

}  // namespace param

namespace metric {

// Decimals of a metric whose values are int64 counts.
inline constexpr int32_t count = -1;

constexpr MetricTag identity(std::string_view key) {
  return {str(key), ATALAYA_TAG_IDENTITY, 0};
}
constexpr MetricTag extra(std::string_view key) {
  return {str(key), ATALAYA_TAG_EXTRA, 0};
}
inline constexpr MetricTag host_tags[] = {identity("host")};

// `unit` is UCUM ("1", "%", "By", "MiBy/s"); `decimals` those that values are rounded to, or `count`; `source` names the file and
// field that the value is read from. The array of tags is a constant with static storage.
constexpr Metric make(uint32_t kind, std::string_view name, std::string_view unit, int32_t decimals,
                      std::span<const MetricTag> tags, std::string_view source, std::string_view summary) {
  return {str(name),         str(unit),   kind,        decimals, tags.data(), static_cast<uint32_t>(tags.size()),
          sizeof(MetricTag), str(source), str(summary)};
}
constexpr Metric gauge(std::string_view name, std::string_view unit, int32_t decimals, std::span<const MetricTag> tags,
                       std::string_view source, std::string_view summary) {
  return make(ATALAYA_GAUGE, name, unit, decimals, tags, source, summary);
}
// Per second.
constexpr Metric rate(std::string_view name, std::string_view unit, int32_t decimals, std::span<const MetricTag> tags,
                      std::string_view source, std::string_view summary) {
  return make(ATALAYA_RATE, name, unit, decimals, tags, source, summary);
}
// Amount in the window.
constexpr Metric delta(std::string_view name, std::string_view unit, int32_t decimals, std::span<const MetricTag> tags,
                       std::string_view source, std::string_view summary) {
  return make(ATALAYA_DELTA, name, unit, decimals, tags, source, summary);
}
// Amount since the start of the entity.
constexpr Metric total(std::string_view name, std::string_view unit, int32_t decimals, std::span<const MetricTag> tags,
                       std::string_view source, std::string_view summary) {
  return make(ATALAYA_TOTAL, name, unit, decimals, tags, source, summary);
}

}  // namespace metric

namespace need {

// A need that is optional belongs to a feature, a word such as "bpf"; `reason`: the effect if the need is missing.
constexpr Need make(uint32_t type, std::string_view name, std::string_view reason, bool optional, std::string_view feature) {
  return {type, optional ? 1u : 0u, str(name), str(reason), str(feature)};
}
constexpr Need capability(std::string_view name, std::string_view reason) {
  return make(ATALAYA_NEED_CAPABILITY, name, reason, false, {});
}
constexpr Need file(std::string_view name, std::string_view reason) {
  return make(ATALAYA_NEED_FILE, name, reason, false, {});
}
constexpr Need kernel(std::string_view name, std::string_view reason) {
  return make(ATALAYA_NEED_KERNEL, name, reason, false, {});
}
constexpr Need optional_capability(std::string_view name, std::string_view reason, std::string_view feature = {}) {
  return make(ATALAYA_NEED_CAPABILITY, name, reason, true, feature);
}
constexpr Need optional_file(std::string_view name, std::string_view reason, std::string_view feature = {}) {
  return make(ATALAYA_NEED_FILE, name, reason, true, feature);
}
constexpr Need optional_kernel(std::string_view name, std::string_view reason, std::string_view feature = {}) {
  return make(ATALAYA_NEED_KERNEL, name, reason, true, feature);
}

}  // namespace need

// The result code of an operation; the values are those of plugin.h.
enum class Code : int32_t {
  ok = ATALAYA_OK,
  nothing = ATALAYA_NOTHING,
  end = ATALAYA_END,
  retry = ATALAYA_RETRY,
  bad_config = ATALAYA_BAD_CONFIG,
  permanent = ATALAYA_PERMANENT,
  unsupported = ATALAYA_UNSUPPORTED,
};

// An exception that the guard converts to its code and its error text: the problem, its place, the remedy.
class Failure : public std::runtime_error {
 public:
  Failure(Code code, const std::string &text) : std::runtime_error(text), code_(code) {}
  Code code() const noexcept { return code_; }

 private:
  Code code_;
};

enum class Level : int32_t {
  error = ATALAYA_LOG_ERROR,
  warning = ATALAYA_LOG_WARNING,
  info = ATALAYA_LOG_INFO,
  debug = ATALAYA_LOG_DEBUG,
};

// A parameter's value, or a child of one.
class Value {
 public:
  explicit Value(const atalaya_value &raw) : raw_(raw) {}
  bool boolean() const { return raw_.value.i64 != 0; }
  int64_t integer() const { return raw_.value.i64; }  // INT, DURATION (ns), SIZE (bytes)
  double number() const { return raw_.value.f64; }
  std::string_view text() const { return view(raw_.text); }
  uint64_t count() const { return raw_.count; }
  std::string_view key() const { return view(raw_.key); }

 private:
  atalaya_value raw_;
};

// The declaration of a metric in the catalogue. Its texts are valid until the process ends.
struct MetricInfo {
  uint32_t kind = 0;  // ATALAYA_GAUGE, ATALAYA_RATE, ATALAYA_DELTA, ATALAYA_TOTAL
  int decimals = 0;   // -1: an int64 count
  std::string_view unit, summary, source;
};

// The host's services for one instance. Cheap to copy; valid as long as the instance.
class Host {
 public:
  explicit Host(const atalaya_host *raw) : raw_(raw) {}
  const atalaya_host *raw() const { return raw_; }

  void log(Level level, std::string_view text) const { raw_->log(raw_->self, static_cast<int32_t>(level), str(text)); }
  uint32_t intern(std::string_view name) const { return raw_->intern(raw_->self, str(name)); }
  std::string_view name_of(uint32_t id) const {
    atalaya_str name{nullptr, 0};
    return raw_->name_of(raw_->self, id, &name) == ATALAYA_OK ? view(name) : std::string_view{};
  }
  // Unit, kind and summary of the metric with this id; nothing for an undeclared metric. Any thread, no lock.
  std::optional<MetricInfo> metric(uint32_t id) const {
    if (raw_->struct_size < offsetof(atalaya_host, metric_of) + sizeof(raw_->metric_of)) return std::nullopt;
    atalaya_metric_info info{};
    info.struct_size = sizeof(info);
    if (raw_->metric_of(raw_->self, id, &info) != ATALAYA_OK) return std::nullopt;
    return MetricInfo{info.kind, info.decimals, view(info.unit), view(info.summary), view(info.source)};
  }
  // Declares a metric whose name is known only at run time. False if the declaration is invalid or conflicts with an earlier
  // one, which remains valid; the host logs the conflict. Any thread.
  bool declare(const Metric &metric) const {
    if (raw_->struct_size < offsetof(atalaya_host, declare_metric) + sizeof(raw_->declare_metric)) return false;
    return raw_->declare_metric(raw_->self, &metric, sizeof(metric)) == ATALAYA_OK;
  }
  int64_t monotonic() const { return raw_->now(raw_->self, ATALAYA_CLOCK_MONOTONIC); }
  int64_t realtime() const { return raw_->now(raw_->self, ATALAYA_CLOCK_REALTIME); }
  void dropped(std::string_view reason, uint64_t samples) const { count(ATALAYA_COUNT_DROPPED, reason, samples); }
  void merged(uint64_t samples) const { count(ATALAYA_COUNT_MERGED, {}, samples); }
  void dead_letter(uint64_t samples) const { count(ATALAYA_COUNT_DEAD_LETTER, {}, samples); }
  void created(uint64_t samples) const { count(ATALAYA_COUNT_CREATED, {}, samples); }

  // The parameter with this path: "root", "spool.dir", "rules[3].match". Call it only in create and start.
  std::optional<Value> find(std::string_view path) const {
    atalaya_value value = empty_value();
    if (raw_->param(raw_->self, str(path), &value) != ATALAYA_OK) return std::nullopt;
    return Value(value);
  }
  std::optional<Value> child(std::string_view path, uint64_t index) const {
    atalaya_value value = empty_value();
    if (raw_->param_child(raw_->self, str(path), index, &value) != ATALAYA_OK) return std::nullopt;
    return Value(value);
  }
  bool boolean(std::string_view path) const { return must(path).boolean(); }
  int64_t integer(std::string_view path) const { return must(path).integer(); }
  double number(std::string_view path) const { return must(path).number(); }
  std::string text(std::string_view path) const { return std::string(must(path).text()); }
  // The texts of a list of strings; empty when it is missing.
  std::vector<std::string> texts(std::string_view path) const {
    std::vector<std::string> result;
    for (uint64_t i = 0; auto value = child(path, i); ++i) result.emplace_back(value->text());
    return result;
  }

  std::optional<std::string> state_dir() const {
    atalaya_str path{nullptr, 0};
    if (raw_->state_dir(raw_->self, &path) != ATALAYA_OK) return std::nullopt;
    return std::string(view(path));
  }

 private:
  static atalaya_value empty_value() {
    atalaya_value value{};
    value.struct_size = sizeof(value);
    return value;
  }
  void count(int32_t what, std::string_view reason, uint64_t samples) const {
    if (samples > 0) raw_->count(raw_->self, what, str(reason), samples);
  }
  Value must(std::string_view path) const {
    if (auto value = find(path)) return *value;
    throw Failure(Code::bad_config, "parameter \"" + std::string(path) + "\" has no value");
  }

  const atalaya_host *raw_;
};

// A double rounded to the decimals that a metric declares, so that every sink shows the same number.
inline double round_to(double value, int decimals) {
  static constexpr double powers[] = {1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000};
  const double power = powers[decimals < 0 ? 0 : decimals > 9 ? 9 : decimals];
  return std::round(value * power) / power;
}

// The batch of one call of the instance; valid during that call. Allocates in slabs, so that adding a sample, its tags and its
// fields makes no call into the host. Throws std::bad_alloc if the host is out of memory.
class Batch {
 public:
  Batch(Host host, atalaya_batch *raw) : host_(host.raw()), raw_(raw) {}
  Batch(const Batch &) = delete;
  Batch &operator=(const Batch &) = delete;

  atalaya_batch *raw() const { return raw_; }
  std::span<Sample> samples() const { return {raw_->samples, raw_->count}; }
  void truncate(uint64_t count) { raw_->count = count; }

  void *allocate(uint64_t size, uint64_t alignment = 8) {
    uintptr_t at = (slab_ + alignment - 1) & ~(alignment - 1);
    if (at + size > slab_end_) {
      const uint64_t slab = size > kSlab / 4 ? size + alignment : kSlab;
      void *memory = host_->allocate(host_->self, raw_, slab, 16);
      if (memory == nullptr) throw std::bad_alloc();
      if (slab != kSlab) return memory;  // a separate large block; the slab remains in use
      slab_ = reinterpret_cast<uintptr_t>(memory);
      slab_end_ = slab_ + slab;
      at = slab_;
    }
    slab_ = at + size;
    return reinterpret_cast<void *>(at);
  }
  // Copies the text to the batch's arena.
  atalaya_str copy(std::string_view text) {
    if (text.empty()) return {nullptr, 0};
    char *data = static_cast<char *>(allocate(text.size(), 1));
    std::memcpy(data, text.data(), text.size());
    return {data, text.size()};
  }

  void reserve(uint64_t samples) {
    if (host_->reserve_samples(host_->self, raw_, samples) != ATALAYA_OK) throw std::bad_alloc();
    room_ = raw_->count + samples;
  }
  // Adds an empty sample with room for these numbers of tags and fields, plus one tag that the host adds. The reference is
  // valid until the next `add`.
  Sample &add(uint32_t kind, uint32_t tags, uint32_t fields) {
    if (raw_->count >= room_) reserve(raw_->count < 16 ? 32 : raw_->count);
    Sample &sample = raw_->samples[raw_->count++];
    sample = Sample{};
    sample.kind = kind;
    grow(sample, tags + 1, fields);
    return sample;
  }

  // Gives the sample separate arrays with at least this capacity. Call it before editing tags or fields in place: samples may
  // share arrays that the host's functions did not make.
  void reserve(Sample &sample, uint32_t tags, uint32_t fields) { grow(sample, tags, fields); }

  void tag(Sample &sample, uint32_t key, std::string_view value) { tag_shared(sample, key, copy(value)); }
  // Adds a tag whose value is in this batch's arena already.
  void tag_shared(Sample &sample, uint32_t key, atalaya_str value) {
    if (sample.tag_count >= (sample.capacity & 0xffffu)) grow(sample, sample.tag_count + 4, sample.field_count);
    // NOLINTNEXTLINE(clang-analyzer-core.CallAndMessage): room in `capacity` means that the array is there
    sample.tags[sample.tag_count++] = {key, 0, value};
  }
  void field(Sample &sample, uint32_t name, double value) {
    atalaya_field field{name, ATALAYA_F64, {}};
    field.value.f64 = value;
    put(sample, field);
  }
  void field(Sample &sample, uint32_t name, int64_t value) {
    atalaya_field field{name, ATALAYA_I64, {}};
    field.value.i64 = value;
    put(sample, field);
  }
  void put(Sample &sample, const atalaya_field &field) {
    if (sample.field_count >= sample.capacity >> 16) grow(sample, sample.tag_count, sample.field_count + 8);
    sample.fields[sample.field_count++] = field;
  }

 private:
  static constexpr uint64_t kSlab = 16384;

  // Allocates arrays with at least this capacity and copies the content of the old ones.
  void grow(Sample &sample, uint32_t tags, uint32_t fields) {
    if (tags > 0xffff || fields > 0xffff) throw std::length_error("a sample holds at most 65535 tags and fields");
    const uint32_t tag_room = sample.capacity & 0xffffu;
    const uint32_t field_room = sample.capacity >> 16;
    if (tags > tag_room) sample.tags = copied(sample.tags, sample.tag_count, tags);
    if (fields > field_room) sample.fields = copied(sample.fields, sample.field_count, fields);
    sample.capacity = (tags > tag_room ? tags : tag_room) | (fields > field_room ? fields : field_room) << 16;
  }
  template <class T>
  T *copied(const T *from, uint32_t count, uint32_t room) {
    T *to = static_cast<T *>(allocate(room * sizeof(T), alignof(T)));
    if (count > 0) std::memcpy(to, from, count * sizeof(T));
    return to;
  }

  const atalaya_host *host_;
  atalaya_batch *raw_;
  uintptr_t slab_ = 0, slab_end_ = 0;
  uint64_t room_ = 0;
};

inline const atalaya_tag *find_tag(const Sample &sample, uint32_t key) {
  for (uint32_t i = 0; i < sample.tag_count; ++i)
    if (sample.tags[i].key == key) return &sample.tags[i];
  return nullptr;
}
inline const atalaya_field *find_field(const Sample &sample, uint32_t name) {
  for (uint32_t i = 0; i < sample.field_count; ++i)
    if (sample.fields[i].name == name) return &sample.fields[i];
  return nullptr;
}
inline double as_double(const atalaya_field &field) {
  return field.type == ATALAYA_I64 ? static_cast<double>(field.value.i64) : field.value.f64;
}

// ---- Components: derive from one of these. The constructor takes a Host; it validates and opens nothing.
// --------------------------

class Component {
 public:
  Component() = default;
  Component(const Component &) = delete;
  Component &operator=(const Component &) = delete;
  virtual ~Component() = default;
  virtual void start() {}
  virtual void stop() {}  // may be called without start, and twice
};

class Source : public Component {
 public:
  virtual Code collect(const Window &window, Batch &batch) = 0;
};

// A source that calls a collector: a class with start(), stop() and collect(window, batch), constructed from a Host and its
// options, if it has any.
template <class Collector>
class CollectingSource : public Source {
 public:
  template <class... Options>
  explicit CollectingSource(Host host, Options &&...options) : collector_(host, std::forward<Options>(options)...) {}
  void start() override { collector_.start(); }
  void stop() override { collector_.stop(); }
  Code collect(const Window &window, Batch &batch) override {
    collector_.collect(window, batch);
    return Code::ok;
  }

 private:
  Collector collector_;
};

class PushSource : public Component {
 public:
  virtual Code run() = 0;
  virtual void interrupt() noexcept = 0;
  virtual void acked(uint64_t batch_id, Code status) noexcept = 0;
};

class Stage : public Component {
 public:
  virtual Code process(const Window &window, Batch &batch) = 0;
};
class Translator : public Stage {};
class Filter : public Stage {};

class Sink : public Component {
 public:
  virtual Code write(std::span<const Sample> samples, int64_t &retry_after_ns) = 0;
  virtual Code flush(int64_t deadline_ns) = 0;
};

class Command : public Component {
 public:
  // Returns the exit status: 0 done, 1 failed, 2 wrong use. A command that waits also has `void interrupt() noexcept`;
  // otherwise SIGINT and SIGTERM end the process.
  virtual int run(std::span<const atalaya_str> arguments) = 0;
};

// The description of a component; its base class determines its kind.
struct Description {
  atalaya_str name{}, summary{};
  std::span<const Param> params{};
  std::span<const Metric> metrics{};
  std::span<const Need> needs{};
  uint32_t flags = 0;
  atalaya_str operands{}, example{};  // only for commands
};

namespace detail {

template <class F>
int32_t guarded(atalaya_error *error, F &&body) noexcept {
  const auto say = [error](const char *text) {
    if (error == nullptr || error->struct_size < sizeof(*error)) return;
    std::strncpy(error->text, text, sizeof(error->text) - 1);
    error->text[sizeof(error->text) - 1] = 0;
  };
  try {
    return static_cast<int32_t>(body());
  } catch (const Failure &failure) {
    say(failure.what());
    return static_cast<int32_t>(failure.code());
  } catch (const std::bad_alloc &) {
    say("out of memory");
    return ATALAYA_RETRY;
  } catch (const std::exception &exception) {
    say(exception.what());
    return ATALAYA_PERMANENT;
  } catch (...) {
    say("unknown exception");
    return ATALAYA_PERMANENT;
  }
}

// The instance behind the C pointer.
template <class T>
struct Instance {
  Host host;
  std::unique_ptr<T> object;
};

template <class T>
T &object(void *instance) {
  return *static_cast<Instance<T> *>(instance)->object;
}

template <class T>
int32_t create(const atalaya_host *host, const atalaya_component *, void **instance, atalaya_error *error) noexcept {
  return guarded(error, [&] {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): guarded catches it
    *instance = new Instance<T>{Host(host), std::make_unique<T>(Host(host))};
    return Code::ok;
  });
}
template <class T>
int32_t start(void *instance, atalaya_error *error) noexcept {
  return guarded(error, [&] { return object<T>(instance).start(), Code::ok; });
}
template <class T>
int32_t stop(void *instance, atalaya_error *error) noexcept {
  return guarded(error, [&] { return object<T>(instance).stop(), Code::ok; });
}
template <class T>
void destroy(void *instance) noexcept {
  delete static_cast<Instance<T> *>(instance);
}
template <class T>
int32_t collect(void *instance, const Window *window, atalaya_batch *batch, atalaya_error *error) noexcept {
  return guarded(error, [&] {
    Batch wrapped(static_cast<Instance<T> *>(instance)->host, batch);
    return object<T>(instance).collect(*window, wrapped);
  });
}
template <class T>
int32_t run(void *instance, atalaya_error *error) noexcept {
  return guarded(error, [&] { return object<T>(instance).run(); });
}
template <class T>
void acked(void *instance, uint64_t batch_id, int32_t status) noexcept {
  object<T>(instance).acked(batch_id, static_cast<Code>(status));
}
template <class T>
void interrupt(void *instance) noexcept {
  object<T>(instance).interrupt();
}
template <class T>
int32_t process(void *instance, const Window *window, atalaya_batch *batch, atalaya_error *error) noexcept {
  return guarded(error, [&] {
    Batch wrapped(static_cast<Instance<T> *>(instance)->host, batch);
    return object<T>(instance).process(*window, wrapped);
  });
}
template <class T>
int32_t write(void *instance, const atalaya_batch *batch, int64_t *retry_after_ns, atalaya_error *error) noexcept {
  return guarded(error,
                 [&] { return object<T>(instance).write(std::span<const Sample>(batch->samples, batch->count), *retry_after_ns); });
}
template <class T>
int32_t flush(void *instance, int64_t deadline_ns, atalaya_error *error) noexcept {
  return guarded(error, [&] { return object<T>(instance).flush(deadline_ns); });
}
template <class T>
int32_t command(void *instance, uint64_t argc, const atalaya_str *argv, int32_t *status, atalaya_error *error) noexcept {
  return guarded(error, [&] {
    *status = object<T>(instance).run(std::span<const atalaya_str>(argv, argc));
    return Code::ok;
  });
}

template <class T>
constexpr uint32_t kind_of() {
  if constexpr (std::is_base_of_v<Source, T> || std::is_base_of_v<PushSource, T>) return ATALAYA_SOURCE;
  if constexpr (std::is_base_of_v<Translator, T>) return ATALAYA_TRANSLATOR;
  if constexpr (std::is_base_of_v<Filter, T>) return ATALAYA_FILTER;
  if constexpr (std::is_base_of_v<Sink, T>) return ATALAYA_SINK;
  if constexpr (std::is_base_of_v<Command, T>) return ATALAYA_COMMAND;
  return 0;
}

template <class T>
constexpr atalaya_ops make_ops() {
  static_assert(kind_of<T>() != 0, "a component derives from Source, PushSource, Translator, Filter, Sink or Command");
  static_assert(std::is_constructible_v<T, Host>, "a component is constructed from an atalaya::Host");
  atalaya_ops ops{};
  ops.struct_size = sizeof(ops);
  ops.create = create<T>;
  ops.start = start<T>;
  ops.stop = stop<T>;
  ops.destroy = destroy<T>;
  if constexpr (std::is_base_of_v<Source, T>) ops.collect = collect<T>;
  if constexpr (std::is_base_of_v<PushSource, T>) {
    ops.run = run<T>;
    ops.acked = acked<T>;
    ops.interrupt = interrupt<T>;
  }
  if constexpr (std::is_base_of_v<Stage, T>) ops.process = process<T>;
  if constexpr (std::is_base_of_v<Sink, T>) {
    ops.write = write<T>;
    ops.flush = flush<T>;
  }
  if constexpr (std::is_base_of_v<Command, T>) {
    ops.command = command<T>;
    if constexpr (requires(T & t) { t.interrupt(); }) ops.interrupt = interrupt<T>;
  }
  return ops;
}

template <class T>
inline constexpr atalaya_ops ops_of = make_ops<T>();

template <class T>
constexpr atalaya_component make_component() {
  const Description d = T::description;
  atalaya_component c{};
  c.struct_size = sizeof(c);
  c.kind = kind_of<T>();
  c.flags = d.flags | (std::is_base_of_v<PushSource, T> ? ATALAYA_PUSH : 0u);
  c.name = d.name;
  c.summary = d.summary;
  c.params = d.params.data();
  c.param_count = static_cast<uint32_t>(d.params.size());
  c.param_size = sizeof(Param);
  c.metrics = d.metrics.data();
  c.metric_count = static_cast<uint32_t>(d.metrics.size());
  c.metric_size = sizeof(Metric);
  c.needs = d.needs.data();
  c.need_count = static_cast<uint32_t>(d.needs.size());
  c.need_size = sizeof(Need);
  c.ops = &ops_of<T>;
  c.operands = d.operands;
  c.example = d.example;
  return c;
}

template <class T>
inline constexpr atalaya_component component_of = make_component<T>();

template <class... Components>
inline constexpr std::array<const atalaya_component *, sizeof...(Components)> components_of = {&component_of<Components>...};

template <class... Components>
constexpr atalaya_plugin make_plugin(atalaya_str name, atalaya_str version) {
  atalaya_plugin p{};
  p.struct_size = sizeof(p);
  p.abi_major = ATALAYA_ABI_MAJOR;
  p.abi_minor = ATALAYA_ABI_MINOR;
  p.sample_layout = ATALAYA_SAMPLE_LAYOUT;
  p.name = name;
  p.version = version;
  p.components = components_of<Components...>.data();
  p.component_count = sizeof...(Components);
  return p;
}

}  // namespace detail
}  // namespace atalaya

// Write it once in a plugin: the plugin's name and version, a line "KIND NAME" per component, and the components' classes, each
// with a constexpr `description`.
#define ATALAYA_PLUGIN(plugin_name, plugin_version, component_lines, ...)                                 \
  ATALAYA_NOTE(plugin_name, plugin_version, component_lines);                                             \
  extern "C" ATALAYA_EXPORT const atalaya_plugin *atalaya_plugin_v1(void) {                               \
    static constexpr atalaya_plugin plugin =                                                              \
        atalaya::detail::make_plugin<__VA_ARGS__>(ATALAYA_STR(plugin_name), ATALAYA_STR(plugin_version)); \
    return &plugin;                                                                                       \
  }

#endif
