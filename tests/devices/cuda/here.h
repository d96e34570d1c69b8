// A kernel text in CUDA C, compiled as C++ for the processor: c++ -include here.h. What CUDA's compiler knows by itself stands here.
//
// A block's threads are fibers that take turns on one processor: a thread runs until it waits at a barrier or for its warp, or
// leaves; a text without barriers is a plain loop. So that a result which hangs on an order is seen, the last block is the first to
// run, odd blocks begin with the last thread, and after a barrier the order is turned round. Shared memory begins as bytes 0xff: no
// numbers.
//
// Told, and the launch's end: a barrier that a thread does not reach or that is another line's, a warp's call that a named lane
// does not join, an address that is not a multiple of its type's size, an index beyond an array, and an access that the processor
// itself refuses. Where HERE_RACES is defined (-fsanitize=thread) also two accesses of shared memory, one of which writes, with no
// barrier between them; calls of a warp order nothing, except __syncwarp.
#pragma once
#include <math.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <pthread.h>
#include <ucontext.h>

#define HERE 1
#ifndef __CUDACC__  // the compiler's first look at a text defines both already
#define __CUDACC__ 1
#define __CUDA_ARCH__ 900
#endif
#define __global__
#define __device__
#define __host__
#define __forceinline__ inline
#define __launch_bounds__(...)
#define __constant__ static
#define __grid_constant__
#define __align__(n) __attribute__((aligned(n)))
#define __shared__ static __attribute__((section("here_shared")))

// ---- vectors

#define HERE_VECTORS(type, name)                                                         \
  struct alignas(2 * sizeof(type)) name##2 { type x, y; };                               \
  struct name##3 { type x, y, z; };                                                      \
  struct alignas(sizeof(type) < 4 ? 4 * sizeof(type) : 16) name##4 { type x, y, z, w; }; \
  inline name##2 make_##name##2(type x, type y) { return {x, y}; }                       \
  inline name##3 make_##name##3(type x, type y, type z) { return {x, y, z}; }            \
  inline name##4 make_##name##4(type x, type y, type z, type w) { return {x, y, z, w}; }
HERE_VECTORS(signed char, char)
HERE_VECTORS(unsigned char, uchar)
HERE_VECTORS(short, short)
HERE_VECTORS(unsigned short, ushort)
HERE_VECTORS(int, int)
HERE_VECTORS(unsigned int, uint)
HERE_VECTORS(long long, longlong)
HERE_VECTORS(unsigned long long, ulonglong)
HERE_VECTORS(float, float)
HERE_VECTORS(double, double)
using dim3 = uint3;

uint3 threadIdx, blockIdx, blockDim, gridDim;
constexpr int warpSize = 32;

// ---- threads as fibers

namespace here {

constexpr int kMost = 1024, kCopies = 256;
constexpr size_t kStack = 128 << 10, kDynamic = 256 << 10;

using Whole = void (*)(unsigned mask, void** lanes);

struct Copy {  // of 16 bytes, not yet done
  void* to;
  const void* from;
};

struct Thread {
  enum { kNew, kRuns, kAtBarrier, kInWarp, kLeft } state;
  int line, fiber, copies, groups, synced;  // synced: the number of its last __syncwarp
  unsigned mask;  // of the lanes that it waits for
  void* mine;  // what it gives to its warp's call, and takes from there
};

struct Fiber {
  jmp_buf at;
  bool begun;
  int thread;
};

Thread threads[kMost];
Copy copies[kMost][kCopies];
int ends[kMost][kCopies];  // of groups of copies
Fiber fibers[kMost];
ucontext_t first;
jmp_buf scheduler;
int current, count, begun, waiting, left, phase, n_ready, ready[kMost], n_idle, idle[kMost];
int barriers, syncs;  // of all blocks and warps so far
bool in_atomic;
void (*job)(void**);
void** parameters;
const char* name;
char trouble[512];
char *stacks, *dynamic;
pthread_t runs_here;
extern "C" char __start_here_shared[] __attribute__((visibility("hidden"))),
    __stop_here_shared[] __attribute__((visibility("hidden")));
__shared__ int one_shared __attribute__((used));  // so that the section is there

inline int number() { return fibers[current].thread; }
inline Thread& self() { return threads[number()]; }

// Ends the launch; the first word counts.
[[noreturn]] inline void tell(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const int n = snprintf(trouble, sizeof trouble, "%s, block (%u, %u, %u), thread %d: ", name, blockIdx.x, blockIdx.y, blockIdx.z,
                         number());
  vsnprintf(trouble + n, sizeof trouble - n, format, arguments);
  va_end(arguments);
  _longjmp(scheduler, 1);
}

inline int in_order(int i) { return phase & 1 ? count - 1 - i : i; }

inline void show() {
  const unsigned t = number();
  if (blockDim.x == (unsigned)count) threadIdx = {t, 0, 0};
  else threadIdx = {t % blockDim.x, t / blockDim.x % blockDim.y, t / blockDim.x / blockDim.y};
}

void fiber();

// The next that can run does; when none can, the block is at its end.
[[noreturn]] inline void next() {
  if (!n_ready && begun == count) _longjmp(scheduler, 1);
  current = n_ready ? ready[--n_ready] : idle[--n_idle];
  if (fibers[current].begun) _longjmp(fibers[current].at, 1);
  fibers[current].begun = true;
  getcontext(&first);
  first.uc_stack.ss_sp = stacks + current * kStack, first.uc_stack.ss_size = kStack;
  makecontext(&first, fiber, 0);
  setcontext(&first);
  __builtin_unreachable();
}

__attribute__((noinline)) inline void rest() {
  if (!_setjmp(fibers[current].at)) next();
  show();
}

// A fiber runs threads one after another; one that waits keeps its fiber, and the next thread gets another.
void fiber() {
  for (;;) {
    while (begun < count) {
      fibers[current].thread = in_order(begun++);
      Thread& me = self();
      me.state = Thread::kRuns, me.fiber = current, me.line = me.copies = me.groups = me.synced = 0;
      show();
      job(parameters);
      self().state = Thread::kLeft, ++left;
    }
    idle[n_idle++] = current;
    rest();
  }
}

inline void release(int thread) {
  threads[thread].state = Thread::kRuns;
  ready[n_ready++] = threads[thread].fiber;
}

inline void barrier(int line) {
  Thread& me = self();
  me.state = Thread::kAtBarrier, me.line = line;
  if (++waiting == count) {
    for (int i = 0; i < count; ++i) {
      if (threads[i].line != line) tell("waits at the barrier of line %d, thread %d at that of line %d", line, i, threads[i].line);
    }
    waiting = 0, ++phase, ++barriers;
    for (int i = count; i-- > 0;) release(in_order(i));  // the last is the first to go on
  }
  rest();
}

// A call that the lanes of a mask make together: the last that comes does it for all.
inline void together(unsigned mask, Whole whole, void* mine, int line) {
  Thread& me = self();
  const int t = number(), warp = t & ~31, lanes = count - warp < 32 ? count - warp : 32;
  if (lanes < 32) mask &= (1u << lanes) - 1;
  if (!(mask >> (t - warp) & 1)) tell("calls in line %d for lanes %08x, and is none of those", line, mask);
  me.state = Thread::kInWarp, me.line = line, me.mask = mask, me.mine = mine;
  void* all[32];
  for (int i = 0; i < lanes; ++i) {
    const Thread& other = threads[warp + i];
    if (!(mask >> i & 1)) continue;
    if (other.state != Thread::kInWarp) return rest();
    if (other.line != line || other.mask != mask) {
      tell("calls in line %d for lanes %08x, lane %d in line %d for lanes %08x", line, mask, i, other.line, other.mask);
    }
    all[i] = other.mine;
  }
  whole(mask, all);
  for (int i = lanes - 1; i >= 0; --i) {
    if (mask >> i & 1) release(warp + i);
  }
  rest();
}

inline void block(size_t shared) {
  memset(__start_here_shared, 0xff, __stop_here_shared - __start_here_shared);
  memset(dynamic, 0xff, shared);
  begun = waiting = left = n_ready = 0, ++barriers;
  phase = blockIdx.x + blockIdx.y + blockIdx.z;
  for (int i = 0; i < count; ++i) threads[i].state = Thread::kNew;
  if (!_setjmp(scheduler)) next();
  if (*trouble || left == count) return;
  int waits = 0;
  while (threads[waits].state == Thread::kLeft) ++waits;
  const Thread& t = threads[waits];
  snprintf(trouble, sizeof trouble,
           "%s, block (%u, %u, %u): thread %d waits for ever %s line %d: %d threads of %d left, %d wait at a barrier", name,
           blockIdx.x, blockIdx.y, blockIdx.z, waits,
           t.state == Thread::kAtBarrier ? "at the barrier of" : "for lanes of its warp in", t.line, left, count, waiting);
}

inline void refused(int signal, siginfo_t* what, void*) {
  if (!pthread_equal(pthread_self(), runs_here)) {  // not of a kernel
    ::signal(signal, SIG_DFL);
    return;
  }
  if (signal == SIGFPE) tell("divides by zero");
  tell("an illegal address: %p", what->si_addr);
}

// nullptr, or what was wrong.
inline const char* launch(const char* kernel, void (*run)(void**), uint3 grid, uint3 size, size_t shared, void** values) {
  if (!stacks) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    stacks = (char*)mmap(nullptr, kMost * kStack, PROT_READ | PROT_WRITE, flags, -1, 0);
    dynamic = (char*)mmap(nullptr, kDynamic + 4096, PROT_READ | PROT_WRITE, flags, -1, 0);
    mprotect(dynamic + kDynamic, 4096, PROT_NONE);
  }
  char* const kept = dynamic;
  dynamic += kDynamic - (shared + 127) / 128 * 128;  // ends where no access is allowed
  name = kernel, job = run, parameters = values, gridDim = grid, blockDim = size, count = size.x * size.y * size.z, *trouble = 0;
  runs_here = pthread_self(), in_atomic = false;
  for (n_idle = 0; n_idle < kMost; ++n_idle) idle[n_idle] = kMost - 1 - n_idle;
  struct sigaction mine = {}, before[3];
  const int signals[] = {SIGSEGV, SIGBUS, SIGFPE};
  mine.sa_sigaction = refused, mine.sa_flags = SA_SIGINFO | SA_NODEFER;
  for (int i = 0; i < 3; ++i) sigaction(signals[i], &mine, &before[i]);
  for (unsigned z = grid.z; z-- > 0;) {
    for (unsigned y = grid.y; y-- > 0;) {
      for (unsigned x = grid.x; x-- > 0 && !*trouble;) blockIdx = {x, y, z}, block(shared);
    }
  }
  for (int i = 0; i < 3; ++i) sigaction(signals[i], &before[i], nullptr);
  dynamic = kept;
  if (!*trouble) return nullptr;
  for (Fiber& f : fibers) f.begun = false;  // what they were doing is given up
  return trouble;
}

// What the driver knows of a kernel. HERE_KERNEL follows the text for each: the compiler finds the parameters' types.
struct Kernel {
  const char* name;
  int most_threads, n_parameters;
  const size_t* sizes;  // of the parameters
  size_t shared;  // bytes, of all kernels of the text
  void (*run)(void**);
  const char* (*launch)(const char*, void (*)(void**), uint3, uint3, size_t, void**);
};

template <auto function, class... P>
struct Run {
  static constexpr size_t sizes[sizeof...(P) + 1] = {sizeof(P)...};
  template <size_t... i>
  struct Numbers {};
  template <size_t n, size_t... i>
  static void all(void** values) {
    if constexpr (n > 0) all<n - 1, n - 1, i...>(values);
    else function(*(P*)values[i]...);
  }
  static void run(void** values) { all<sizeof...(P)>(values); }
};
template <auto function, class... P>
Kernel kernel_of(const char* name, int most_threads, void (*)(P...)) {
  using R = Run<function, P...>;
  return {name, most_threads, sizeof...(P), R::sizes, size_t(__stop_here_shared - __start_here_shared), R::run, launch};
}
// Behind the name: the launch bounds.
constexpr int most_of(int threads = kMost, int = 0) { return threads; }
#define HERE_KERNEL(name, ...)                                                                               \
  extern "C" __attribute__((visibility("default"))) here::Kernel here_kernel_##name = here::kernel_of<name>( \
      #name, here::most_of(__VA_ARGS__), name);

// ---- races in shared memory

#ifndef HERE_RACES
inline void access(const void*, size_t, bool) {}
#else
#define HERE_PLAIN __attribute__((no_sanitize_thread))

struct Access {
  int thread, barriers, syncs;  // when: after how many of them
};
struct Byte {
  Access written, read[2];
};
constexpr size_t kStatic = 256 << 10;
Byte bytes[kStatic + kDynamic];

// Whether what another thread did comes before what this one does now.
HERE_PLAIN inline bool is_before(const Access& other) {
  if (other.barriers != barriers || other.thread == number()) return true;
  return other.thread / 32 == number() / 32 && threads[other.thread].synced > other.syncs && self().synced > other.syncs;
}

HERE_PLAIN inline void access(const void* p, size_t size, bool writes) {
  const char* at = (const char*)p;
  const bool fixed = at >= __start_here_shared && at < __stop_here_shared;
  if (in_atomic || (!fixed && !(at >= dynamic && at < dynamic + kDynamic))) return;
  const size_t place = fixed ? at - __start_here_shared : kStatic + (at - dynamic);
  const Access now = {number(), barriers, syncs};
  for (size_t i = place; i < place + size; ++i) {
    Byte& b = bytes[i];
    const Access* other = !is_before(b.written) ? &b.written : nullptr;
    for (const Access& read : b.read) {
      if (writes && !is_before(read)) other = &read;
    }
    if (other) {
      tell("%s byte %zu of shared memory, which thread %d has %s, with no barrier between since line %d",
           writes ? "writes" : "reads", place, other->thread, other == &b.written ? "written" : "read", self().line);
    }
    if (writes) b.written = now;
    else if (b.read[0].thread != now.thread) b.read[1] = b.read[0];
    if (!writes) b.read[0] = now;
  }
}

// What the compiler's -fsanitize=thread calls.
extern "C" {
void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}
#define HERE_ACCESS(size)                                                          \
  HERE_PLAIN void __tsan_read##size(void* p) { access(p, size, false); }           \
  HERE_PLAIN void __tsan_write##size(void* p) { access(p, size, true); }           \
  HERE_PLAIN void __tsan_unaligned_read##size(void* p) { access(p, size, false); } \
  HERE_PLAIN void __tsan_unaligned_write##size(void* p) { access(p, size, true); }
HERE_ACCESS(1)
HERE_ACCESS(2)
HERE_ACCESS(4)
HERE_ACCESS(8)
HERE_ACCESS(16)
HERE_PLAIN void __tsan_read_range(void* p, size_t size) { access(p, size, false); }
HERE_PLAIN void __tsan_write_range(void* p, size_t size) { access(p, size, true); }
}
#endif

// What the compiler's -fsanitize=alignment,bounds calls.
struct Place {
  const char* file;
  unsigned line, column;
};
extern "C" void __ubsan_handle_type_mismatch_v1(Place* place, size_t address) {
  tell("a misaligned address, or none, in line %u: %p", place->line, (void*)address);
}
extern "C" void __ubsan_handle_out_of_bounds(Place* place, size_t index) {
  tell("index %zd is beyond an array in line %u", (ssize_t)index, place->line);
}

}  // namespace here

// ---- threads wait for each other

inline void __syncthreads(int line = __builtin_LINE()) { here::barrier(line); }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __trap() { here::tell("calls __trap"); }

namespace here {
template <class V>
struct Given {
  V value, got;
  int from;
};
template <class V>
V shuffled(unsigned mask, V value, int from, int line) {
  Given<V> mine{value, value, from};
  together(
      mask,
      [](unsigned mask, void** lanes) {
        for (int i = 0; i < 32; ++i) {
          if (!(mask >> i & 1)) continue;
          Given<V>* to = (Given<V>*)lanes[i];
          if (mask >> to->from & 1) to->got = ((Given<V>*)lanes[to->from])->value;
          else memset(&to->got, 0xff, sizeof(V));  // of a lane that takes no part: anything
        }
      },
      &mine, line);
  return mine.got;
}
inline int lane() { return number() & 31; }
inline int kept_within(int from, int width) { return (from ^ lane()) & ~(width - 1) ? lane() : from; }
}  // namespace here

inline void __syncwarp(unsigned mask = ~0u, int line = __builtin_LINE()) {
  const auto count = [](unsigned mask, void** lanes) {
    ++here::syncs;
    for (int i = 0; i < 32; ++i) {
      if (mask >> i & 1) ((here::Thread*)lanes[i])->synced = here::syncs;
    }
  };
  here::together(mask, count, &here::self(), line);
}
template <class V>
V __shfl_sync(unsigned mask, V value, int from, int width = 32, int line = __builtin_LINE()) {
  return here::shuffled(mask, value, (here::lane() & ~(width - 1)) | (from & (width - 1)), line);
}
template <class V>
V __shfl_xor_sync(unsigned mask, V value, int with, int width = 32, int line = __builtin_LINE()) {
  return here::shuffled(mask, value, here::kept_within(here::lane() ^ with, width), line);
}
template <class V>
V __shfl_down_sync(unsigned mask, V value, unsigned by, int width = 32, int line = __builtin_LINE()) {
  return here::shuffled(mask, value, here::kept_within(here::lane() + (int)by, width), line);
}
template <class V>
V __shfl_up_sync(unsigned mask, V value, unsigned by, int width = 32, int line = __builtin_LINE()) {
  return here::shuffled(mask, value, here::kept_within(here::lane() - (int)by, width), line);
}
inline unsigned __ballot_sync(unsigned mask, int said, int line = __builtin_LINE()) {
  here::Given<unsigned> mine{said != 0, 0, 0};
  here::together(
      mask,
      [](unsigned mask, void** lanes) {
        unsigned votes = 0;
        for (int i = 0; i < 32; ++i) {
          if (mask >> i & 1) votes |= ((here::Given<unsigned>*)lanes[i])->value << i;
        }
        for (int i = 0; i < 32; ++i) {
          if (mask >> i & 1) ((here::Given<unsigned>*)lanes[i])->got = votes;
        }
      },
      &mine, line);
  return mine.got;
}
inline int __any_sync(unsigned mask, int said, int line = __builtin_LINE()) { return __ballot_sync(mask, said, line) != 0; }
inline int __all_sync(unsigned mask, int said, int line = __builtin_LINE()) { return !__ballot_sync(mask, !said, line); }

// ---- atomics: threads take turns anyway

namespace here {
template <class V>
struct As {
  using Type = V;
};
template <class V, class F>
V changed(V* p, F f) {
  in_atomic = true;
  const V before = *p;
  *p = f(before);
  in_atomic = false;
  return before;
}
}  // namespace here
#define HERE_ATOMIC(name, result)                                \
  template <class V>                                             \
  V atomic##name(V* p, typename here::As<V>::Type v) {           \
    return here::changed(p, [&](V a) -> V { return (result); }); \
  }
HERE_ATOMIC(Add, a + v)
HERE_ATOMIC(Sub, a - v)
HERE_ATOMIC(Exch, v)
HERE_ATOMIC(Max, a < v ? v : a)
HERE_ATOMIC(Min, v < a ? v : a)
HERE_ATOMIC(And, a& v)
HERE_ATOMIC(Or, a | v)
HERE_ATOMIC(Xor, a ^ v)
HERE_ATOMIC(Inc, a >= v ? 0 : a + 1)
template <class V>
V atomicCAS(V* p, typename here::As<V>::Type expected, typename here::As<V>::Type v) {
  return here::changed(p, [&](V a) { return a == expected ? v : a; });
}

// ---- loads, bits, numbers

#define HERE_LOAD(name) \
  template <class V>    \
  V name(const V* p) {  \
    return *p;          \
  }
HERE_LOAD(__ldg)
HERE_LOAD(__ldca)
HERE_LOAD(__ldcg)
HERE_LOAD(__ldcs)
template <class V>
void __stcs(V* p, typename here::As<V>::Type v) {
  *p = v;
}
template <class V>
void __stcg(V* p, typename here::As<V>::Type v) {
  *p = v;
}

namespace here {
template <class To, class From>
To bits(From from) {
  To to;
  static_assert(sizeof to == sizeof from);
  memcpy(&to, &from, sizeof to);
  return to;
}
}  // namespace here
inline float __uint_as_float(unsigned v) { return here::bits<float>(v); }
inline float __int_as_float(int v) { return here::bits<float>(v); }
inline unsigned __float_as_uint(float v) { return here::bits<unsigned>(v); }
inline int __float_as_int(float v) { return here::bits<int>(v); }
inline double __longlong_as_double(long long v) { return here::bits<double>(v); }
inline long long __double_as_longlong(double v) { return here::bits<long long>(v); }
inline int __popc(unsigned v) { return __builtin_popcount(v); }
inline int __popcll(unsigned long long v) { return __builtin_popcountll(v); }
inline int __clz(int v) { return v ? __builtin_clz(v) : 32; }
inline int __clzll(long long v) { return v ? __builtin_clzll(v) : 64; }
inline int __ffs(int v) { return __builtin_ffs(v); }
inline int __ffsll(long long v) { return __builtin_ffsll(v); }
inline unsigned __brev(unsigned v) {
  unsigned r = 0;
  for (int i = 0; i < 32; ++i) r |= (v >> i & 1) << (31 - i);
  return r;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned long long)a * b >> 32; }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned __int128)a * b >> 64; }
inline float rsqrtf(float v) { return 1 / sqrtf(v); }
inline double rsqrt(double v) { return 1 / sqrt(v); }
inline float rsqrt(float v) { return rsqrtf(v); }
inline float __expf(float v) { return expf(v); }
inline float __logf(float v) { return logf(v); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float v) { return 1 / v; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __fadd_rn(float a, float b) { return a + b; }
inline float __fmul_rn(float a, float b) { return a * b; }
template <class A, class B>
auto min(A a, B b) -> decltype(a + b) {
  return b < a ? b : a;
}
template <class A, class B>
auto max(A a, B b) -> decltype(a + b) {
  return a < b ? b : a;
}
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }

// ---- the functions of gpu.cl, which are PTX on the card: layouts of fragments as in PTX's manual

namespace here {

inline void check_shared(const void* p, int line) {
  const char* at = (const char*)p;
  const bool fixed = at >= __start_here_shared && at < __stop_here_shared;
  if (!fixed && !(at >= dynamic && at < dynamic + kDynamic)) tell("%p in line %d is not shared memory", p, line);
  if ((uintptr_t)p % 16) tell("a misaligned address in line %d: %p", line, p);
}

inline double from_half(unsigned bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double size = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent     ? ldexp(1024 + fraction, exponent - 25)
                                     : ldexp(fraction, -24);
  return bits & 0x8000 ? -size : size;
}
inline double from_bfloat(unsigned bits) { return __uint_as_float(bits << 16); }
inline double from_tf32(unsigned bits) { return __uint_as_float(bits & 0xffffe000); }

struct Mma {
  float* d;
  const unsigned *a, *b;
};

// d += a b of 16x8 results by a warp. A register holds `each` neighbours along k; element (row, k) of a is in lane
// 4 (row % 8) + (k / each) % 4, register row / 8 + 2 (k / each / 4); b is as a's upper half with columns for rows.
template <double (*number)(unsigned), int each>
void mma_whole(unsigned, void** lanes) {
  const auto of = [&](const Mma* m, bool left, int row, int k) {
    const int pair = k / each, at = row / 8 + 2 * (pair / 4);
    const unsigned word = left ? m->a[at] : m->b[pair / 4];
    return number(each == 1 ? word : word >> 16 * (k % each) & 0xffff);
  };
  for (int row = 0; row < 16; ++row) {
    for (int column = 0; column < 8; ++column) {
      float& d = ((Mma*)lanes[row % 8 * 4 + column / 2])->d[row / 8 * 2 + column % 2];
      double sum = d;
      for (int k = 0; k < 8 * each; ++k) {
        const int lane = k / each % 4;
        sum += of((Mma*)lanes[row % 8 * 4 + lane], true, row, k) * of((Mma*)lanes[column * 4 + lane], false, 0, k);
      }
      d = (float)sum;
    }
  }
}

struct Rows {
  unsigned* d;
  const void* row;
};

template <bool turned>
void load_whole(unsigned, void** lanes) {
  for (int lane = 0; lane < 32; ++lane) {
    for (int m = 0; m < 4; ++m) {
      const auto element = [&](int row, int column) {
        return (unsigned)((const unsigned short*)((Rows*)lanes[8 * m + row])->row)[column];
      };
      const int one = lane / 4, two = 2 * (lane % 4);
      ((Rows*)lanes[lane])->d[m] = turned ? element(two, one) | element(two + 1, one) << 16
                                          : element(one, two) | element(one, two + 1) << 16;
    }
  }
}

}  // namespace here

inline void mma_bf16(float d[4], const unsigned a[4], const unsigned b[2], int line = __builtin_LINE()) {
  here::Mma mine{d, a, b};
  here::together(~0u, here::mma_whole<here::from_bfloat, 2>, &mine, line);
}
inline void mma_half(float d[4], const unsigned a[4], const unsigned b[2], int line = __builtin_LINE()) {
  here::Mma mine{d, a, b};
  here::together(~0u, here::mma_whole<here::from_half, 2>, &mine, line);
}
inline void mma_tf32(float d[4], const unsigned a[4], const unsigned b[2], int line = __builtin_LINE()) {
  here::Mma mine{d, a, b};
  here::together(~0u, here::mma_whole<here::from_tf32, 1>, &mine, line);
}
inline unsigned to_tf32(float v) {  // to the nearest, of two as near the one away from 0
  const unsigned bits = __float_as_uint(v);
  return (bits & 0x7fffffff) >= 0x7f800000 ? bits : (bits + 0x1000) & 0xffffe000;
}
inline void load_matrix_4(unsigned d[4], const void* shared, int line = __builtin_LINE()) {
  here::check_shared(shared, line);
  here::Rows mine{d, shared};
  here::together(~0u, here::load_whole<false>, &mine, line);
}
inline void load_matrix_4t(unsigned d[4], const void* shared, int line = __builtin_LINE()) {
  here::check_shared(shared, line);
  here::Rows mine{d, shared};
  here::together(~0u, here::load_whole<true>, &mine, line);
}

// Copies are done at the wait for them; until then no numbers are there.
inline void copy_16(void* shared, const void* global, int line = __builtin_LINE()) {
  here::check_shared(shared, line);
  if ((uintptr_t)global % 16) here::tell("a misaligned address in line %d: %p", line, global);
  int& n = here::self().copies;
  if (n == here::kCopies) here::tell("more than %d copies without a wait in line %d", n, line);
  here::copies[here::number()][n++] = {shared, global};
  here::access(shared, 16, true);
  memset(shared, 0xff, 16);
}
inline void copy_commit(int line = __builtin_LINE()) {
  here::Thread& me = here::self();
  if (me.groups == here::kCopies) here::tell("more than %d groups of copies without a wait in line %d", me.groups, line);
  here::ends[here::number()][me.groups++] = me.copies;
}
inline void copy_wait(int newest) {
  here::Thread& me = here::self();
  const int groups = me.groups - newest;
  if (groups <= 0) return;
  here::Copy* copy = here::copies[here::number()];
  int *ends = here::ends[here::number()], n = ends[groups - 1];
  for (int i = 0; i < n; ++i) {
    here::access(copy[i].to, 16, true);
    memcpy(copy[i].to, copy[i].from, 16);
  }
  for (int i = n; i < me.copies; ++i) copy[i - n] = copy[i];
  for (int i = groups; i < me.groups; ++i) ends[i - groups] = ends[i] - n;
  me.copies -= n, me.groups -= groups;
}
