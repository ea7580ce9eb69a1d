/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Record that bare_iterator.bpf.c writes for each process. */
#ifndef ATALAYA_BENCH_BARE_ITERATOR_H
#define ATALAYA_BENCH_BARE_ITERATOR_H

#include <linux/types.h>

struct BareRecord {
  __s32 pid, tgid;
  __u64 sequence; /* of the record, which costs no look at the task */
};

#endif
