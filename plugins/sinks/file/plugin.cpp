// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "plugins/shared/encode/encoder.h"
#include "core/base/files.h"
#include "plugins/shared/sink/line_file.h"

namespace atalaya::file_sink {
namespace {

class File final : public Sink {
 public:
  static constexpr Param params[] = {
      {.name = "path"_str,
       .type = ATALAYA_STRING,
       .flags = ATALAYA_REQUIRED,
       .summary = "The file; its folder must exist, unless it is the agent's own state folder."_str},
      {.name = "format"_str,
       .type = ATALAYA_ENUM,
       .default_text = "jsonlines"_str,
       .allowed = "jsonlines|samples|bdwatchdog|csv|line"_str,
       .summary =
           "jsonlines: a point a line; samples: a sample a line, nothing lost; bdwatchdog: that system's strings; csv; line: "
           "metric time value tag=value."_str},
      {.name = "rotate_size"_str,
       .type = ATALAYA_SIZE,
       .flags = ATALAYA_BOUNDED,
       .summary = "Begins a new file before this one grows larger; absent: never."_str,
       .min = 1},
      {.name = "rotate_every"_str,
       .type = ATALAYA_DURATION,
       .flags = ATALAYA_BOUNDED,
       .summary = "Begins a new file at every multiple of this time, in UTC; absent: never."_str,
       .min = 1e9},
      {.name = "keep"_str,
       .type = ATALAYA_INT,
       .flags = ATALAYA_BOUNDED,
       .default_text = "5"_str,
       .unit = "files"_str,
       .summary = "Rotated files that are kept as PATH.1 (the newest) and so on; older ones are deleted."_str,
       .min = 1,
       .max = 1000},
      {.name = "sync"_str,
       .type = ATALAYA_BOOL,
       .default_text = "false"_str,
       .summary = "Waits for the disk after every batch, so that what was accepted survives a power failure."_str},
  };
  static constexpr Description description = {
      .name = "file"_str, .summary = "Appends samples to a file as lines: JSON, CSV or plain text."_str, .params = params};

  explicit File(Host host)
      : host_(host),
        encoder_(core::make_encoder(core::format_from_name(host.text("format")), [host](uint32_t id) { return host.name_of(id); })),
        file_(options(host, *encoder_), [host](const std::string &text) { host.log(Level::warning, text); }) {}

  void start() override {
    // The agent's own folder is made; any other has to be there.
    const std::string folder = std::filesystem::path(host_.text("path")).parent_path();
    if (folder == core::state_folder())
      if (const auto made = core::make_folders(folder); !made) throw Failure(Code::bad_config, made.error());
    file_.open();
  }
  void stop() override { file_.close(); }

  Code write(std::span<const Sample> samples, int64_t &) override {
    lines_.clear();
    refused_.clear();
    core::append_all(*encoder_, samples, lines_, refused_);
    if (!lines_.empty()) file_.append(lines_, host_.realtime());
    // Only now: after a retry the same batch comes again.
    for (const auto &[reason, count] : refused_) host_.dropped(reason, count);
    return Code::ok;
  }

  // Nothing is held back: every batch is in the file when write returns.
  Code flush(int64_t) override { return Code::ok; }

 private:
  static FileOptions options(const Host &host, const core::Encoder &encoder) {
    FileOptions options;
    options.path = host.text("path");
    options.header = encoder.header();
    if (const auto size = host.find("rotate_size")) options.rotate_size = size->integer();
    if (const auto every = host.find("rotate_every")) options.rotate_every_ns = every->integer();
    options.keep = host.integer("keep");
    options.sync = host.boolean("sync");
    if (options.path.empty()) throw Failure(Code::bad_config, "path is empty; name the file to write");
    return options;
  }

  Host host_;
  std::unique_ptr<core::Encoder> encoder_;
  LineFile file_;
  std::string lines_;
  core::Refused refused_;  // of the batch at hand
};

}  // namespace
}  // namespace atalaya::file_sink

ATALAYA_PLUGIN("file", "0.1.0", "sink file", atalaya::file_sink::File)
