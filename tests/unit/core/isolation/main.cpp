// SPDX-License-Identifier: Apache-2.0
#define DOCTEST_CONFIG_IMPLEMENT
#include <doctest/doctest.h>

#include "core/isolation/launcher/launcher.h"

int main(int argc, char **argv) {
  if (const int ended = atalaya::core::isolation_main(argc, argv); ended >= 0) return ended;
  return doctest::Context(argc, argv).run();
}
