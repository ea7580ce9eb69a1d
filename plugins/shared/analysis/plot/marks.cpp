// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/plot/marks.h"

#include <array>
#include <cstdio>

#include "plugins/shared/analysis/command_line/render.h"

namespace atalaya::plot {
namespace {

// Okabe and Ito's colours, which are distinguishable for colour-blind readers; the last one is visible on light and dark.
constexpr std::array<const char *, 8> kColours = {"#0072b2", "#d55e00", "#009e73", "#cc79a7",
                                                  "#e69f00", "#56b4e9", "#8c6d31", "#7f7f7f"};
constexpr std::array<const char *, 5> kDashes = {"", " stroke-dasharray=\"6 3\"", " stroke-dasharray=\"2 2\"",
                                                 " stroke-dasharray=\"9 3 2 3\"", " stroke-dasharray=\"14 3\""};
constexpr std::array<const char *, 3> kOpacities = {"0.85", "0.55", "0.35"};
constexpr const char *kOther = "#b4b4b4";

const char *colour_of(size_t index, const Line &line) {
  return line.role == Role::other ? kOther : kColours[index % kColours.size()];
}

}  // namespace

std::string pixels(double value) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.1f", value);
  return text.data();
}

void add_text(std::string &out, double x, double y, const char *anchor, std::string_view text, const char *more) {
  out += "<text x=\"" + pixels(x) + "\" y=\"" + pixels(y) + "\" text-anchor=\"" + anchor + "\"" + more + ">" +
         command_line::xml_text(text) + "</text>\n";
}

void add_line(std::string &out, double x1, double y1, double x2, double y2, const char *more) {
  out += "<line x1=\"" + pixels(x1) + "\" y1=\"" + pixels(y1) + "\" x2=\"" + pixels(x2) + "\" y2=\"" + pixels(y2) + "\"" + more +
         "/>\n";
}

std::string stroke_of(size_t index, const Line &line) {
  if (line.role == Role::reference) return " class=\"reference\" stroke=\"#000\" stroke-dasharray=\"8 4\"";
  return " stroke=\"" + std::string(colour_of(index, line)) + "\"" + kDashes[index / kColours.size() % kDashes.size()];
}

std::string fill_of(size_t index, const Line &line) {
  return " fill=\"" + std::string(colour_of(index, line)) + "\" fill-opacity=\"" +
         kOpacities[index / kColours.size() % kOpacities.size()] + "\"";
}

}  // namespace atalaya::plot
