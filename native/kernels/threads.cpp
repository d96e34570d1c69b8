// The thread pool behind parallel_for.
//
// One job at a time: its range is cut into chunks that the caller and the workers take from a shared counter, so a
// worker that wakes late (or never, on a busy machine) costs nothing: the caller does its chunks. Workers spin for a while
// after a job, then sleep: to wake one takes some 50 microseconds, as long as a small product. The pool is never
// destroyed; after fork the child forgets it and starts its own.
#include <algorithm>
#include <atomic>
#include <bitset>
#include <condition_variable>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

#include "kernels/kernels.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif
#if defined(__linux__)
#include <sched.h>
#endif

namespace rushlight {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kChunksPerThread = 4;     // small enough chunks that an interrupted thread is not waited for
constexpr int kWorkerSpins = 4000;      // some 50 to 200 microseconds, then sleep: between the calls of a program there is less
constexpr int kCallerSpins = 4000;

inline void pause() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__) && defined(__GNUC__)
  __asm__ __volatile__("yield");
#endif
}

struct Job {
  void (*fn)(void* context, ptrdiff_t begin, ptrdiff_t end);
  void* context;
  ptrdiff_t n, chunk;
};

class Pool {
 public:
  // Runs the job on this thread and up to `helpers` workers. False, and nothing done, if another job is running.
  bool run(const Job& job, int helpers) {
    if (busy_.exchange(true, std::memory_order_acquire)) return false;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      start_workers(helpers);
      job_ = job;
      next_.store(0, std::memory_order_relaxed);
      seats_ = helpers;
      generation_.fetch_add(1, std::memory_order_release);
    }
    for (int i = 0; i < helpers; ++i) wake_.notify_one();  // not all of them: where there are many, the others stay asleep
    work();
    {
      std::lock_guard<std::mutex> lock(mutex_);
      seats_ = 0;  // who has not joined by now need not
    }
    for (int i = 0; i < kCallerSpins && running_.load(std::memory_order_acquire) != 0; ++i) pause();
    if (running_.load(std::memory_order_acquire) != 0) {
      std::unique_lock<std::mutex> lock(mutex_);
      done_.wait(lock, [this] { return running_.load(std::memory_order_acquire) == 0; });
    }
    busy_.store(false, std::memory_order_release);
    return true;
  }

 private:
  void start_workers(int wanted) {
    try {
      for (; workers_ < wanted; ++workers_) std::thread([this] { serve(); }).detach();
    } catch (const std::system_error&) {
      // no more threads to be had: those there are, and the caller, do the work
    }
  }

  void serve() {
    uint64_t seen = 0;
    for (;;) {
      for (int i = 0; i < kWorkerSpins && generation_.load(std::memory_order_acquire) == seen; ++i) pause();
      {
        std::unique_lock<std::mutex> lock(mutex_);
        wake_.wait(lock, [&] { return generation_.load(std::memory_order_relaxed) != seen; });
        seen = generation_.load(std::memory_order_relaxed);
        if (seats_ == 0) continue;
        --seats_;
        running_.fetch_add(1, std::memory_order_relaxed);
      }
      work();
      if (running_.fetch_sub(1, std::memory_order_acq_rel) == 1) {
        std::lock_guard<std::mutex> lock(mutex_);
        done_.notify_one();
      }
    }
  }

  void work() {
    const Job job = job_;
    for (;;) {
      const ptrdiff_t begin = next_.fetch_add(job.chunk, std::memory_order_relaxed);
      if (begin >= job.n) return;
      job.fn(job.context, begin, std::min(begin + job.chunk, job.n));
    }
  }

  std::atomic<bool> busy_{false};
  std::mutex mutex_;  // guards job_, seats_, workers_
  std::condition_variable wake_, done_;
  Job job_{};
  int seats_ = 0;  // how many more workers may join the job
  int workers_ = 0;
  alignas(64) std::atomic<ptrdiff_t> next_{0};
  alignas(64) std::atomic<uint64_t> generation_{0};
  alignas(64) std::atomic<int> running_{0};  // workers in the job
};

std::atomic<Pool*> the_pool{nullptr};
std::atomic<int> the_num_threads{0};  // 0: not asked for yet
thread_local bool inside = false;     // this thread is running a chunk: a nested call runs alone

Pool& pool() {
  Pool* found = the_pool.load(std::memory_order_acquire);
  if (found != nullptr) return *found;
#if !defined(_WIN32)
  static std::once_flag registered;
  std::call_once(registered, [] { pthread_atfork(nullptr, nullptr, [] { the_pool.store(nullptr, std::memory_order_release); }); });
#endif
  Pool* made = new Pool;
  if (the_pool.compare_exchange_strong(found, made, std::memory_order_acq_rel)) return *made;
  delete made;  // another thread was first; this one has started nothing
  return *found;
}

// The cores that this process may use: processors that share a core (hyperthreading) count once.
int usable_cores() {
#if defined(__linux__)
  cpu_set_t usable;
  if (sched_getaffinity(0, sizeof usable, &usable) == 0) {
    std::bitset<CPU_SETSIZE> cores;
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
      if (!CPU_ISSET(cpu, &usable)) continue;
      char path[96];
      std::snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu%d/topology/thread_siblings_list", cpu);
      int first = cpu;  // the list begins with the lowest of those that share the core
      if (std::FILE* file = std::fopen(path, "r")) {
        if (std::fscanf(file, "%d", &first) != 1 || first < 0 || first >= CPU_SETSIZE) first = cpu;
        std::fclose(file);
      }
      cores.set(static_cast<size_t>(first));
    }
    if (cores.any()) return static_cast<int>(cores.count());
  }
#endif
  return std::max(static_cast<int>(std::thread::hardware_concurrency()), 1);
}

// The first of a list of positive numbers, as OMP_NUM_THREADS may be; 0 where the text is no such list.
int first_number(const char* text) {
  int first = 0;
  for (;; text++) {
    char* end = nullptr;
    const long n = std::strtol(text, &end, 10);
    if (end == text || n < 1) return 0;
    if (first == 0) first = static_cast<int>(std::min<long>(n, std::numeric_limits<int>::max()));
    text = end + std::strspn(end, " \t");
    if (*text == '\0') return first;
    if (*text != ',') return 0;
  }
}

// As PyTorch's with MKL: a thread for every core; MKL_NUM_THREADS, and where that says nothing OMP_NUM_THREADS, may ask for
// fewer. Of the former, what is no number means one; the latter is then ignored.
int default_num_threads() {
  const int cores = usable_cores();
  const char* asked = std::getenv("MKL_NUM_THREADS");
  if (asked != nullptr && asked[std::strspn(asked, " \t0")] != '\0') return std::clamp(first_number(asked), 1, cores);
  asked = std::getenv("OMP_NUM_THREADS");
  const int n = asked != nullptr ? first_number(asked) : 0;
  return n != 0 ? std::min(n, cores) : cores;
}

struct Marked {
  void (*fn)(void*, ptrdiff_t, ptrdiff_t);
  void* context;
  static void run(void* self, ptrdiff_t begin, ptrdiff_t end) {
    const Marked& marked = *static_cast<Marked*>(self);
    inside = true;
    marked.fn(marked.context, begin, end);
    inside = false;
  }
};

}  // namespace

#ifdef __EMSCRIPTEN__
void set_num_threads(int) {}  // there is one
#else
void set_num_threads(int n) { the_num_threads.store(std::max(n, 1), std::memory_order_relaxed); }
#endif

int get_num_threads() {
  const int set = the_num_threads.load(std::memory_order_relaxed);
  if (set != 0) return set;
  const int n = default_num_threads();
  the_num_threads.store(n, std::memory_order_relaxed);
  return n;
}

void parallel_for(ptrdiff_t n, ptrdiff_t grain, void (*fn)(void* context, ptrdiff_t begin, ptrdiff_t end), void* context) {
  if (n <= 0) return;
  grain = std::max<ptrdiff_t>(grain, 1);
  const ptrdiff_t most = std::min(get_num_threads(), kMaxThreads);
  const ptrdiff_t threads = n <= grain || inside ? 1 : std::min(most, (n + grain - 1) / grain);
  if (threads > 1) {
    ptrdiff_t chunk = std::max(grain, (n + threads * kChunksPerThread - 1) / (threads * kChunksPerThread));
    if (chunk >= 1024) chunk = (chunk + 63) / 64 * 64;  // whole cache lines of elements
    Marked marked = {fn, context};
    if (pool().run({Marked::run, &marked, n, chunk}, static_cast<int>(threads) - 1)) return;
  }
  fn(context, 0, n);
}

}  // namespace rushlight
