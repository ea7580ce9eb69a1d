// SPDX-License-Identifier: Apache-2.0
#include <atalaya/plugin.hpp>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

#include "core/base/files.h"
#include "plugins/shared/io/sink/line_file.h"
#include "plugins/shared/protocols/formats/encoder.h"

namespace atalaya::file_sink {
namespace {

class File final : public Sink {
 public:
  static constexpr Param params[] = {
      param::string("path", "Output file; its folder must exist, except the agent's state folder").required().unit("output file"),
      param::choice("format", "jsonlines|samples|bdwatchdog|csv|line",
                    "jsonlines: a point per line; samples: a whole sample per line; bdwatchdog: strings of BDWatchdog; csv; "
                    "line: metric time value tag=value")
          .defaults("jsonlines"),
      param::boolean("escape_formulas", "csv: put ' before tags that spreadsheets would execute: those that begin with = + - or @")
          .defaults("true"),
      param::size("rotate_size", "Maximum size of a file before rotation (default: no rotation)").range(1, 9.3e18),
      param::duration("rotate_every", "Rotate at every multiple of this time, in UTC (default: never)").range(1e9, 9.3e18),
      param::integer("keep", "Rotated files to keep: PATH.1 is the newest; older ones are deleted")
          .defaults("5")
          .range(1, 1000)
          .unit("files"),
      param::boolean("sync", "Sync the file after every batch, so that accepted samples survive a power failure").defaults("false"),
  };
  static constexpr Description description = {
      .name = "file"_str, .summary = "Append samples to a file as JSON, CSV or text lines"_str, .params = params};

  explicit File(Host host)
      : host_(host),
        encoder_(protocols::make_encoder(format(host), [host](uint32_t id) { return host.name_of(id); })),
        file_(options(host, *encoder_), [host](const std::string &text) { host.log(Level::warning, text); }) {}

  void start() override {
    // Only the agent's state folder is created; any other must exist.
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
    // Counted last, because a retry brings the same batch again.
    for (const auto &[reason, count] : refused_) host_.dropped(reason, count);
    return Code::ok;
  }

  // Nothing is buffered: the file has every batch when write returns.
  Code flush(int64_t) override { return Code::ok; }

 private:
  static protocols::Format format(const Host &host) {
    const protocols::Format format = protocols::format_from_name(host.text("format"));
    return format == protocols::Format::csv && host.boolean("escape_formulas") ? protocols::Format::csv_for_spreadsheets : format;
  }
  static io::FileOptions options(const Host &host, const core::Encoder &encoder) {
    io::FileOptions options;
    options.path = host.text("path");
    options.header = encoder.header();
    if (const auto size = host.find("rotate_size")) options.rotate_size = size->integer();
    if (const auto every = host.find("rotate_every")) options.rotate_every_ns = every->integer();
    options.keep = host.integer("keep");
    options.sync = host.boolean("sync");
    if (options.path.empty()) throw Failure(Code::bad_config, "path is empty; set the output file");
    return options;
  }

  Host host_;
  std::unique_ptr<core::Encoder> encoder_;
  io::LineFile file_;
  std::string lines_;
  core::Refused refused_;  // of the current batch
};

}  // namespace
}  // namespace atalaya::file_sink

ATALAYA_PLUGIN("file", "0.1.0", "sink file", atalaya::file_sink::File)
