// SPDX-License-Identifier: Apache-2.0
//
// A plugin in C++ with two components in one shared object: the source `files` counts the open files of the host, the filter
// `sparse` keeps one window of N. Any member function may throw; the C++ layer converts exceptions to codes, so instances need
// no error handling.
#include <atalaya/plugin.hpp>

#include <fstream>

namespace files {

using namespace atalaya::literals;

// ---- The source -------------------------------------------------------------------------------------------------------------

// Metrics and parameters: data that the host reads without creating an instance.
constexpr atalaya::Metric kMetrics[] = {
    {.name = "files.open"_str,
     .unit = "{file}"_str,  // UCUM; "1" for a number without a unit
     .kind = ATALAYA_GAUGE,
     .decimals = -1,  // a count: an int64, exact everywhere
     .source = "/proc/sys/fs/file-nr, first number"_str,
     .summary = "Open files of all processes."_str},
    {.name = "files.usage"_str,
     .unit = "%"_str,
     .kind = ATALAYA_GAUGE,
     .decimals = 4,
     .source = "/proc/sys/fs/file-nr, first by third number"_str,
     .summary = "Used share of the limit."_str},
};
constexpr atalaya::Param kSourceParams[] = {
    {.name = "path"_str,
     .type = ATALAYA_STRING,
     .default_text = "/proc/sys/fs/file-nr"_str,
     .summary = "File to read; tests set another one."_str},
};

class Files final : public atalaya::Source {
 public:
  static constexpr atalaya::Description description = {
      .name = "files"_str, .summary = "Number of open files on the host"_str, .params = kSourceParams, .metrics = kMetrics};

  // Reads the parameters and interns the names once. Opens nothing, because `atalaya check` creates instances too.
  explicit Files(atalaya::Host host)
      : path_(host.text("path")), open_(host.intern("files.open")), usage_(host.intern("files.usage")) {}

  void start() override {
    file_.open(path_);
    if (!file_) throw atalaya::Failure(atalaya::Code::unsupported, path_ + ": cannot be read; set `path` to a readable file");
  }
  void stop() override { file_.close(); }  // allowed without start, and twice

  atalaya::Code collect(const atalaya::Window &, atalaya::Batch &batch) override {
    int64_t open = 0, unused = 0, limit = 0;
    file_.clear();
    file_.seekg(0);
    if (!(file_ >> open >> unused >> limit))
      throw atalaya::Failure(atalaya::Code::retry, path_ + ": does not hold three numbers; set `path` to a file like file-nr");

    // One sample with room for no tags and two fields; the host adds its name and the time.
    atalaya::Sample &sample = batch.add(ATALAYA_METRICS, 0, 2);
    batch.field(sample, open_, open);
    // Omit an unknown value; never write 0.
    if (limit > 0)
      batch.field(sample, usage_, atalaya::round_to(100.0 * static_cast<double>(open) / static_cast<double>(limit), 4));
    return atalaya::Code::ok;
  }

 private:
  std::string path_;
  uint32_t open_, usage_;
  std::ifstream file_;
};

// ---- The filter -------------------------------------------------------------------------------------------------------------

constexpr atalaya::Param kFilterParams[] = {
    {.name = "one_in"_str,
     .type = ATALAYA_INT,
     .flags = ATALAYA_BOUNDED,
     .default_text = "10"_str,
     .unit = "windows"_str,
     .summary = "Keeps the samples of one window of this number."_str,
     .min = 1,
     .max = 1000000},
};

class Sparse final : public atalaya::Filter {
 public:
  static constexpr atalaya::Description description = {
      .name = "sparse"_str, .summary = "Keep one window of N"_str, .params = kFilterParams};

  explicit Sparse(atalaya::Host host) : host_(host), one_in_(host.integer("one_in")) {}

  // Called in every window, also without samples. Counts each removed sample, so that the ledger balances.
  atalaya::Code process(const atalaya::Window &, atalaya::Batch &batch) override {
    const bool passes = windows_++ % one_in_ == 0;
    if (passes) return atalaya::Code::ok;
    host_.dropped("sparse", batch.samples().size());
    batch.truncate(0);
    return atalaya::Code::ok;
  }

 private:
  atalaya::Host host_;
  int64_t one_in_, windows_ = 0;
};

}  // namespace files

// The name, the version, a line "KIND NAME" per component, and the classes.
ATALAYA_PLUGIN("files", "1.0.0", "source files\nfilter sparse", files::Files, files::Sparse)
