/* SPDX-License-Identifier: Apache-2.0
 * The header alone, as C11 and as C++17: nothing else included, every macro used. */
#include <atalaya/plugin.h>

#define NAME "header"
ATALAYA_NOTE(NAME, "1.0.0", "source header");

const atalaya_plugin *atalaya_plugin_v1(void) {
  static const atalaya_plugin plugin = {sizeof(atalaya_plugin),
                                        ATALAYA_ABI_MAJOR,
                                        ATALAYA_ABI_MINOR,
                                        ATALAYA_SAMPLE_LAYOUT,
                                        0,
                                        ATALAYA_STR(NAME),
                                        ATALAYA_STR("1.0.0"),
                                        NULL,
                                        0};
  return &plugin;
}
