// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/legend.h"

#include <algorithm>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/shared/analysis/plot/marks.h"

namespace atalaya::plot {
namespace {

constexpr int kRow = 18, kSwatch = 30;  // pixels; a swatch is a sample of a line
constexpr size_t kMaxShown = 60, kMaxLabel = 100;

}  // namespace

Legend::Legend(const Plot &plot, std::vector<Entry> entries) : plot_(plot), entries_(std::move(entries)) {
  std::stable_partition(entries_.begin(), entries_.end(),
                        [&](const Entry &entry) { return plot.lines[entry.line].role == Role::reference; });
  const bool one_unit =
      std::all_of(entries_.begin(), entries_.end(), [&](const Entry &entry) { return entry.unit == entries_.front().unit; });
  size_t longest = 1;
  for (size_t i = 0; i < std::min(entries_.size(), kMaxShown); ++i) {
    const Entry &entry = entries_[i];
    const std::string &label = plot.lines[entry.line].label;
    labels_.push_back(one_unit || entry.unit.empty() ? label : label + " [" + entry.unit + "]");
    longest = std::max(longest, core::display_width(labels_.back()));
  }
  const int room = plot.width - kLeft - 12;
  column_ = std::min(room, kSwatch + (static_cast<int>(std::min(longest, kMaxLabel)) + 2) * kCharacterWidth);
  columns_ = static_cast<size_t>(room / column_);
}

int Legend::height() const {
  return static_cast<int>(rows() + (labels_.size() < entries_.size() ? 1 : 0)) * kRow;
}

void Legend::draw(std::string &out, int top) const {
  const auto y_of = [&](size_t row) { return top + 12 + static_cast<double>(row) * kRow; };
  for (size_t i = 0; i < labels_.size(); ++i) {
    const size_t colour_index = entries_[i].colour_index;
    const Line &line = plot_.lines[entries_[i].line];
    const double x = kLeft + static_cast<double>(i % columns_) * column_;
    const double y = y_of(i / columns_);
    if (plot_.stacked)
      out += "<rect x=\"" + pixels(x + 6) + "\" y=\"" + pixels(y - 10) + "\" width=\"16\" height=\"12\"" +
             fill_of(colour_index, line) + "/>\n";
    else
      add_line(out, x, y - 4, x + kSwatch - 6, y - 4, (stroke_of(colour_index, line) + " stroke-width=\"2.5\"").c_str());
    add_text(out, x + kSwatch, y, "start",
             core::cut_to_width(labels_[i], static_cast<size_t>((column_ - kSwatch) / kCharacterWidth)));
  }
  if (entries_.size() > labels_.size())
    add_text(out, kLeft, y_of(rows()), "start", "and " + std::to_string(entries_.size() - labels_.size()) + " more lines");
}

}  // namespace atalaya::plot
