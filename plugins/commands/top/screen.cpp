// SPDX-License-Identifier: Apache-2.0
#include "plugins/commands/top/screen.h"

#include <curses.h>

#include <algorithm>
#include <atalaya/plugin.hpp>
#include <clocale>
#include <cstdio>

namespace atalaya::top {
namespace {

SCREEN *terminal = nullptr;  // ncurses has one per process

constexpr int kTitleLines = 2, kStatusLines = 1;

void put(int row, std::string_view text, attr_t attributes) {
  ::wattrset(stdscr, static_cast<int>(attributes));
  ::wmove(stdscr, row, 0);
  ::waddnstr(stdscr, text.data(), static_cast<int>(text.size()));
  // The attribute covers the whole line.
  if (attributes != A_NORMAL)
    for (int column = getcurx(stdscr); column < COLS && getcury(stdscr) == row; ++column) ::waddch(stdscr, ' ');
  ::wattrset(stdscr, A_NORMAL);
}

}  // namespace

Screen::Screen() {
  std::setlocale(LC_CTYPE, "");
  terminal = ::newterm(nullptr, stdout, stdin);
  if (terminal == nullptr) throw Failure(Code::permanent, "this terminal is not known: set TERM, or use --once for a table");
  ::set_term(terminal);
  ::cbreak();
  ::noecho();
  ::keypad(stdscr, TRUE);
  ::curs_set(0);
  ::set_escdelay(50);
}

Screen::~Screen() {
  ::endwin();
  ::delscreen(terminal);
  terminal = nullptr;
}

size_t Screen::width() const {
  return static_cast<size_t>(std::max(COLS, 1));
}

size_t Screen::rows() const {
  return static_cast<size_t>(std::max(LINES - kTitleLines - kStatusLines, 1));
}

void Screen::draw(const Lines &lines, std::string_view status) {
  ::werase(stdscr);
  put(0, lines.title, A_NORMAL);
  put(1, lines.heading, A_REVERSE);
  int row = kTitleLines;
  for (const std::string &line : lines.rows) put(row++, line, A_NORMAL);
  put(LINES - 1, status, A_DIM);
  ::wrefresh(stdscr);
}

int Screen::key(int wait_ms) {
  ::wtimeout(stdscr, wait_ms);
  return ::wgetch(stdscr);
}

}  // namespace atalaya::top
