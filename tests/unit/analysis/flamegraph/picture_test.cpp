// SPDX-License-Identifier: Apache-2.0
#include "plugins/shared/analysis/flamegraph/picture/picture.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

#include "core/base/text/safe_text.h"
#include "plugins/shared/code/jvm/type_name.h"

namespace atalaya::flamegraph {
namespace {

size_t count(const std::string &text, const std::string &part) {
  size_t found = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

std::string draw(Tree &tree, const Style &style = {}) {
  tree.finish();
  return svg_of(tree, Classes(tree, 1), style);
}

void add(Tree &tree, std::string_view stack, double value, Side side = Side::shown) {
  tree.add(tree.add_stack(stack), side, value);
}

TEST_CASE("a frame shows its value and its share of the total") {
  Tree tree;
  add(tree, "java-1;f", 1234);
  add(tree, "java-1;g", 1);
  const std::string svg = draw(tree);
  CHECK(svg.find("<title>f (1,234 samples, 99.92 %)</title>") != std::string::npos);
  CHECK(svg.find("<title>g (1 sample, 0.08 %)</title>") != std::string::npos);
  CHECK(svg.find("<title>all (1,235 samples, 100.00 %)</title>") != std::string::npos);
  CHECK(count(svg, "<g data-p=") == 4);
}

TEST_CASE("a narrow Java frame shows class and method first") {
  Tree tree;
  add(tree, "java-1;void org.shop.checkout.Cart.add(org.shop.checkout.Item, int)_[j]", 12);
  add(tree, "java-1;g", 88);
  const std::string svg = draw(tree);
  CHECK(svg.find("<title>void org.shop.checkout.Cart.add(org.shop.checkout.Item, int)_[j] (12") != std::string::npos);
  CHECK(svg.find("data-s=\"Cart.add\"") != std::string::npos);
  CHECK(svg.find(">Cart.add</text>") != std::string::npos);
  CHECK(count(svg, "data-s=") == 1);
}

TEST_CASE("class and method are those of a Java frame") {
  for (const auto &[frame, brief] : {std::pair{"long W.fib(int)_[j]", "W.fib"},
                                     {"java.lang.Thread.run_[j]", "Thread.run"},
                                     {"org.a.B$C.<init>_[i]", "B$C.<init>"},
                                     {"fib_[j]", "fib"},
                                     {"_[j]", "_[j]"},
                                     {"std::vector<int>::at(unsigned long)", "std::vector<int>::at(unsigned long)"},
                                     {"LazyCompile:*f /x.js:1_[j]", "LazyCompile:*f /x.js:1_[j]"},
                                     {"", ""}})
    CHECK(jvm::class_and_method(frame) == brief);
}

TEST_CASE("names are text, with any characters") {
  Tree tree;
  add(tree, "java-1;<init>_[j];a\"&']]>;\xff\x01;na\xc3\xafve", 10);
  const std::string svg = draw(tree);
  CHECK(svg.find("<init>") == std::string::npos);
  CHECK(svg.find("&lt;init&gt;_[j] (10 samples") != std::string::npos);
  CHECK(svg.find("a&quot;&amp;") != std::string::npos);
  CHECK(svg.find('\xff') == std::string::npos);
  CHECK(svg.find("na\xc3\xafve (10") != std::string::npos);
  CHECK(count(svg, "]]>") == 1);  // the script's end
  CHECK(count(svg, "<script>") == 1);
}

TEST_CASE("nothing is loaded from elsewhere") {
  Tree tree;
  add(tree, "a", 1);
  std::string svg = draw(tree);
  for (const char *space : {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})
    for (size_t at = svg.find(space); at != std::string::npos; at = svg.find(space)) svg.erase(at, std::string(space).size());
  for (const char *part : {"http:", "https:", "href", "import", "url(", "eval"}) CHECK(svg.find(part) == std::string::npos);
}

TEST_CASE("only the widest frames are drawn, and the picture states that") {
  Tree tree;
  for (int i = 1; i <= 1000; ++i) add(tree, "a;f" + std::to_string(i), i);
  const std::string svg = draw(tree, {.frames = 100});
  CHECK(count(svg, "<g data-p=") == 100);
  CHECK(svg.find("the widest 100 of 1002 frames") != std::string::npos);
  CHECK(svg.find(">f1000 (") != std::string::npos);
  CHECK(svg.find(">f1 (") == std::string::npos);
  CHECK(svg.find("100.00 %") != std::string::npos);
}

TEST_CASE("frames of one width are all drawn or none, so that no parent is missing") {
  Tree tree;
  for (int i = 0; i < 1000; ++i) add(tree, "a;f" + std::to_string(i), 1);
  CHECK(count(draw(tree, {.frames = 100}), "<g data-p=") == 2);
}

TEST_CASE("very deep stacks and long names stay a picture") {
  Tree tree;
  std::string stack = std::string(100'000, 'x');
  for (int i = 0; i < 5000; ++i) stack += ";f";
  add(tree, stack, 1);
  const std::string svg = draw(tree);
  CHECK(count(svg, "<g data-p=") == 2049);
  CHECK(svg.size() < 1'000'000);
}

TEST_CASE("the root is below, or above on request") {
  Tree tree;
  add(tree, "a;b", 1);
  const auto row_of = [](const std::string &svg, const std::string &name) {
    const size_t at = svg.find("y=\"", svg.find("<title>" + name + " ("));
    return std::stoi(svg.substr(at + 3));
  };
  const std::string flame = draw(tree);
  CHECK(row_of(flame, "all") > row_of(flame, "b"));
  const std::string icicle = draw(tree, {.icicle = true});
  CHECK(row_of(icicle, "all") < row_of(icicle, "b"));
}

TEST_CASE("a comparison is red where the share grew, blue where it shrank, and shows the difference") {
  Tree tree;
  add(tree, "a;more", 30);
  add(tree, "a;less", 10);
  add(tree, "a;more", 1, Side::before);
  add(tree, "a;less", 1, Side::before);
  const std::string svg = draw(tree, {.compared = true});
  CHECK(svg.find("darkest: 25.00 percentage points") != std::string::npos);
  CHECK(svg.find("more (30 samples, 75.00 %, before 50.00 %, +25.00)</title>") != std::string::npos);
  CHECK(svg.find("less (10 samples, 25.00 %, before 50.00 %, -25.00)</title>") != std::string::npos);
  CHECK(svg.find("#ff5a5a") != std::string::npos);
  CHECK(svg.find("#5a5aff") != std::string::npos);
  CHECK(count(svg, "#f4f4f4") == 2);  // all and a
}

TEST_CASE("the three colours") {
  Tree tree;
  add(tree, "java-1;f_[j];JavaThread::x;do_[k]", 1);
  const std::string svg = draw(tree);
  const auto colour_of = [&](const std::string &name) {
    const size_t at = svg.find("fill=\"#", svg.find("<title>" + name + " ("));
    return std::stoul(svg.substr(at + 7, 6), nullptr, 16);
  };
  const auto red = [](unsigned long colour) { return colour >> 16; };
  const auto green = [](unsigned long colour) { return colour >> 8 & 0xff; };
  CHECK(green(colour_of("f_[j]")) > 190);
  CHECK(red(colour_of("f_[j]")) < 120);
  CHECK(red(colour_of("JavaThread::x")) == green(colour_of("JavaThread::x")));
  CHECK(red(colour_of("do_[k]")) > 200);
  CHECK(green(colour_of("do_[k]")) < 150);
}

TEST_CASE("the legend fits the image; a narrow one explains the colours that it has") {
  Tree tree;
  add(tree, "java-1;f_[j];do_[k]", 1);
  tree.finish();
  const Classes classes(tree, 1);
  const auto legend_of = [&](int width, bool compared) {
    const std::string svg = svg_of(tree, classes, {.width = width, .compared = compared});
    const size_t begin = svg.find('>', svg.find("class=\"about\"")) + 1;
    return svg.substr(begin, svg.find('<', begin) - begin);
  };
  for (int width = 300; width <= 1500; width += 50)
    for (const bool compared : {false, true}) {
      CAPTURE(width);
      CHECK(static_cast<double>(core::display_width(legend_of(width, compared))) * 7.25 <= width - 20);
    }
  CHECK(legend_of(1200, false).ends_with("red: libraries, orange: kernel, grey: unknown"));
  CHECK(legend_of(500, false) == "green: application, orange: kernel");
  CHECK(legend_of(300, true).ends_with("…"));
}

TEST_CASE("an empty profile is reported as empty") {
  Tree tree;
  const std::string svg = draw(tree);
  CHECK(svg.find("no stacks") != std::string::npos);
  CHECK(svg.find("nan") == std::string::npos);
  CHECK(svg.find("inf") == std::string::npos);
}

TEST_CASE("values as texts") {
  CHECK(value_text(0, Unit::samples) == "0 samples");
  CHECK(value_text(1, Unit::samples) == "1 sample");
  CHECK(value_text(1'234'567, Unit::samples) == "1,234,567 samples");
  CHECK(value_text(2.5, Unit::samples) == "2.50 samples");
  CHECK(value_text(1'500'000, Unit::nanoseconds) == "1.500 ms");
  CHECK(value_text(61.5e9, Unit::nanoseconds) == "61.500 s");
}

}  // namespace
}  // namespace atalaya::flamegraph
