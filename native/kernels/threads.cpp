// The thread pool behind parallel_for.
//
// One job at a time: its range is cut into chunks that the caller and the workers take from a shared counter, so a
// worker that wakes late (or never, on a busy machine) costs nothing: the caller does its chunks. Workers spin for
// some microseconds after a job, then sleep. The pool is never destroyed; after fork the child forgets it and starts
// its own.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <cstdlib>
#include <mutex>
#include <system_error>
#include <thread>

#include "kernels/kernels.h"

#if !defined(_WIN32)
#include <pthread.h>
#endif

namespace rushlight {
namespace {

constexpr int kMaxThreads = 256;
constexpr int kDefaultThreads = 8;      // more seldom helps loops that wait for memory
constexpr int kChunksPerThread = 4;     // small enough chunks that an interrupted thread is not waited for
constexpr int kWorkerSpins = 400;       // some 5-20 microseconds, then sleep
constexpr int kCallerSpins = 2000;

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
    wake_.notify_all();
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

int default_num_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS")) {
    const int asked = std::atoi(text);
    if (asked > 0) return std::min(asked, kMaxThreads);
  }
  return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kDefaultThreads);
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

void set_num_threads(int n) { the_num_threads.store(std::clamp(n, 1, kMaxThreads), std::memory_order_relaxed); }

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
  const ptrdiff_t threads = n <= grain || inside ? 1 : std::min<ptrdiff_t>(get_num_threads(), (n + grain - 1) / grain);
  if (threads > 1) {
    ptrdiff_t chunk = std::max(grain, (n + threads * kChunksPerThread - 1) / (threads * kChunksPerThread));
    if (chunk >= 1024) chunk = (chunk + 63) / 64 * 64;  // whole cache lines of elements
    Marked marked = {fn, context};
    if (pool().run({Marked::run, &marked, n, chunk}, static_cast<int>(threads) - 1)) return;
  }
  fn(context, 0, n);
}

}  // namespace rushlight
