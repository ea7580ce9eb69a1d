/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Finds the call that a uretprobe ends: a recursive function returns from its inner calls first. */
#ifndef ATALAYA_BPF_RETURNS_H
#define ATALAYA_BPF_RETURNS_H

#include <asm/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <linux/types.h>
#include <stdbool.h>

/* Returns true if the call that was entered with the stack pointer `stack`, or one of its callers, returns. On x86 the return has
 * popped the return address, so the stack pointer is above that of the entry.
 */
static inline bool returns_from(struct pt_regs *ctx, __u64 stack) {
#if defined(__TARGET_ARCH_x86)
  return PT_REGS_SP(ctx) > stack;
#else
  return PT_REGS_SP(ctx) >= stack;
#endif
}

#endif
