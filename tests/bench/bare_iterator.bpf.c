// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* The minimum cost of a pass over all processes: it walks the tasks and reports that they exist. */
#include "kernel.h"

#include <bpf/bpf_helpers.h>

#include "bare_iterator.h"

char _license[] SEC("license") = "Dual BSD/GPL";

__u64 records;

SEC("iter/task")
int every_task(struct bpf_iter__task *ctx) {
  struct task_struct *task = ctx->task;
  if (!task || task->pid != task->tgid) return 0;
  struct BareRecord record = {.pid = task->pid, .tgid = task->tgid, .sequence = records++};
  bpf_seq_write(ctx->meta->seq, &record, sizeof(record));
  return 0;
}
