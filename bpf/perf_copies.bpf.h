// SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
/* Copies of stacks to user space, for programs built without frame pointers.
 *
 * Only the memory of frames is copied, not the memory above them: up to 64 KiB that often belong to another thread. To copy it
 * would take longer than the rest of the sample and would evict the caches of the sampled program.
 */
#ifndef ATALAYA_BPF_PERF_COPIES_H
#define ATALAYA_BPF_PERF_COPIES_H

#include "perf_stacks.bpf.h"

/* One of PERF_COPY_*. */
const volatile __u32 copies;

/* The reader of the ring is woken when the ring contains more bytes than this. */
const volatile __u32 wake_above;

struct {
  __uint(type, BPF_MAP_TYPE_LRU_HASH);
  __uint(max_entries, 8192);
  __type(key, struct perf_process);
  __type(value, __u8);
} listed SEC(".maps");

struct {
  __uint(type, BPF_MAP_TYPE_RINGBUF);
  __uint(max_entries, 8 << 20);
} stack_copies SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define STACK_POINTER(registers) ((registers)->rsp)
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.fsbase)
typedef struct pt_regs user_registers;
#else
#define STACK_POINTER(registers) ((registers)->sp)
#define THREAD_POINTER(task) BPF_CORE_READ(task, thread.uw.tp_value)
typedef struct user_pt_regs user_registers;
#endif

static void number_registers(__u64 *to, const user_registers *from) {
#if defined(__TARGET_ARCH_x86)
  to[0] = from->rax;
  to[1] = from->rdx;
  to[2] = from->rcx;
  to[3] = from->rbx;
  to[4] = from->rsi;
  to[5] = from->rdi;
  to[6] = from->rbp;
  to[7] = from->rsp;
  to[8] = from->r8;
  to[9] = from->r9;
  to[10] = from->r10;
  to[11] = from->r11;
  to[12] = from->r12;
  to[13] = from->r13;
  to[14] = from->r14;
  to[15] = from->r15;
  to[16] = from->rip;
#else
  for (int i = 0; i < 31; ++i) to[i] = from->regs[i];
  to[31] = from->sp;
  to[32] = from->pc;
#endif
}

/* Returns an address above all frames of the thread. C libraries place thread-local data at the top of a thread's stack; the kernel
 * places the program's arguments at the top of the first thread's stack. For any other stack the returned address is far above the
 * frames.
 */
static __always_inline __u64 end_of_frames(const struct task_struct *task, __u64 pointer) {
  const __u64 data = THREAD_POINTER(task);
  return data > pointer ? data : BPF_CORE_READ(task, mm, start_stack) + PERF_COPY_PART;
}

struct copy_of {
  const struct perf_key *key;
  const char *comm, *thread;
  const user_registers *registers;
  __u64 begin, end;
  __u32 set;
};

/* Reads parts of the stack until one cannot be read; returns the bytes read. `most`: maximum parts, a compile-time constant. */
static __always_inline __u64 read_parts(struct perf_copy *copy, const struct copy_of *of, __u32 most) {
  __u64 size = (of->end - of->begin + PERF_COPY_PART - 1) & ~(__u64)(PERF_COPY_PART - 1);
  asm volatile("" : "+r"(size)); /* the next comparison is the verifier's: the compiler must not remove it */
  if (size <= most * PERF_COPY_PART && bpf_probe_read_user(copy->bytes, size, (void *)of->begin) == 0) return size;
  __u32 parts = 0;
  for (; parts < most; ++parts) {
    const __u64 from = of->begin + (__u64)parts * PERF_COPY_PART;
    if (bpf_probe_read_user(copy->bytes + parts * PERF_COPY_PART, PERF_COPY_PART, (void *)from) != 0) break;
  }
  return (__u64)parts * PERF_COPY_PART;
}

/* Copies the stack into the ring. Returns false if the ring is full. */
static __always_inline bool copy_parts(const struct copy_of *of, __u32 most) {
  struct perf_copy *copy =
      bpf_ringbuf_reserve(&stack_copies, __builtin_offsetof(struct perf_copy, bytes) + most * PERF_COPY_PART, 0);
  if (!copy) return false;
  copy->process = of->key->process;
  copy->kernel = of->key->kernel;
  copy->set = of->set;
  copy->thread = of->key->thread;
  copy->epoch = of->key->epoch;
  copy->region = of->key->flags >> PERF_REGION_SHIFT;
  copy->unused = 0;
  __builtin_memcpy(copy->comm, of->comm, PERF_COMM);
  __builtin_memcpy(copy->thread_name, of->thread, PERF_COMM);
  __builtin_memset(copy->registers, 0, sizeof(copy->registers));
  number_registers(copy->registers, of->registers);
  copy->begin = of->begin;
  copy->size = read_parts(copy, of, most);
  /* The reader polls twice a second; wake it early only when the ring fills. */
  const bool much = bpf_ringbuf_query(&stack_copies, BPF_RB_AVAIL_DATA) > wake_above;
  bpf_ringbuf_submit(copy, much ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
  return true;
}

static __always_inline bool copy_stack(const struct perf_key *key, const char *comm, const char *thread, __u32 now) {
  struct task_struct *task = bpf_get_current_task_btf();
  user_registers registers;
  if (bpf_probe_read_kernel(&registers, sizeof(registers), (void *)bpf_task_pt_regs(task)) != 0) return false;
  const __u64 pointer = STACK_POINTER(&registers);
  const struct copy_of of = {.key = key,
                             .comm = comm,
                             .thread = thread,
                             .registers = &registers,
                             .begin = pointer & ~(__u64)(PERF_COPY_PART - 1),
                             .end = end_of_frames(task, pointer),
                             .set = now};
  /* The verifier requires constant record sizes, so a record has one of a few sizes. Reserved bytes that are not used cost no time.
   */
  const __u64 bytes = of.end - of.begin;
  if (bytes <= 8 * PERF_COPY_PART) return copy_parts(&of, 8);
  if (bytes <= 32 * PERF_COPY_PART) return copy_parts(&of, 32);
  return copy_parts(&of, PERF_COPY_PARTS);
}

static __always_inline bool is_copied(const struct perf_process *process) {
  if (process->image == 0 || copies == PERF_COPY_NONE) return false;
  if (copies == PERF_COPY_ALL) return true;
  return (bpf_map_lookup_elem(&listed, process) != 0) == (copies == PERF_COPY_LISTED);
}

static __always_inline bool copy_tick(const struct perf_key *key, const struct task_struct *task, const char *thread, __u32 now) {
  char comm[PERF_COMM] = {};
  read_comm(comm, task);
  if (!copy_stack(key, comm, thread, now)) {
    __sync_fetch_and_add(&totals[now].not_copied, 1);
    return false;
  }
  __sync_fetch_and_add(&totals[now].samples, 1);
  announce(&key->process, comm, TICK);
  return true;
}

#endif
