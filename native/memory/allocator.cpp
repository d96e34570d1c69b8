#include "memory/allocator.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <utility>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
#define RUSHLIGHT_MMAP 1
#endif
#ifdef __GLIBC__
#include <malloc.h>
#endif

namespace rushlight::memory {

namespace {

// ---------------------------------------------------------------- what is in use

std::atomic<std::ptrdiff_t> in_use{0}, most{0}, segment_bytes{0}, chunk_bytes{0};

void note_peak(std::ptrdiff_t now) {
  std::ptrdiff_t before = most.load(std::memory_order_relaxed);
  while (now > before && !most.compare_exchange_weak(before, now, std::memory_order_relaxed)) {
  }
}

void note_use(std::ptrdiff_t more) {
  const std::ptrdiff_t now = in_use.fetch_add(more, std::memory_order_relaxed) + more;
  if (more > 0) note_peak(now);
}

void* from_malloc(std::size_t bytes) {
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
#ifdef _WIN32
  return _aligned_malloc(rounded, kAlignment);
#else
  return rounded < bytes ? nullptr : std::aligned_alloc(kAlignment, rounded);
#endif
}

#if defined(RUSHLIGHT_MMAP) && !defined(RUSHLIGHT_SANITIZED)

// ---------------------------------------------------------------- large blocks

constexpr std::size_t kPage = 4096, kHuge = 2 << 20, kSegment = 32 << 20;
constexpr int kRecent = 16;

std::size_t rounded_large(std::size_t bytes) {
  const std::size_t step = bytes >= (4 << 20) ? kPage * 16 : kPage;
  return (bytes + step - 1) / step * step;
}

// Address space of the system. Kept ranges are known by their address, to find neighbours, and by their size.
class Segments {
 public:
  void* take(std::size_t size) {
    const std::lock_guard<std::mutex> guard(lock_);
    for (int i = recent_; i-- > 0;) {
      if (recents_[i].size != size) continue;
      char* block = recents_[i].at;
      std::move(recents_ + i + 1, recents_ + recent_, recents_ + i);
      --recent_;
      kept_ -= size;
      return block;
    }
    char* block = best_fit(size);
    if (!block && recent_) {
      settle();
      block = best_fit(size);
    }
    if (block) return block;
    trim(size);
    if (!grow(size)) {
      release_all();
      if (!grow(size)) return nullptr;
    }
    return best_fit(size);
  }

  void give(char* block, std::size_t size) {
    const std::lock_guard<std::mutex> guard(lock_);
    if (recent_ == kRecent) {
      insert(recents_[0].at, recents_[0].size, true);
      std::move(recents_ + 1, recents_ + kRecent, recents_);
      --recent_;
    }
    recents_[recent_++] = {block, size};
    kept_ += size;
  }

  void empty() {
    const std::lock_guard<std::mutex> guard(lock_);
    release_all();
  }

  std::size_t kept() {
    const std::lock_guard<std::mutex> guard(lock_);
    return kept_;
  }

  std::mutex& lock() { return lock_; }

 private:
  struct Range {
    char* at;
    std::size_t size;
  };
  // A free range: `touched` says that the system has given its pages (they count as kept).
  struct Free {
    std::size_t size;
    bool touched;
  };

  char* best_fit(std::size_t size) {
    auto found = by_size_.lower_bound({size, nullptr});
    if (found == by_size_.end()) return nullptr;
    // Pages that are there already are better than a tighter fit among those that are not.
    for (auto at = found; at != by_size_.end() && at->first <= 2 * size; ++at) {
      if (by_address_[at->second].touched) {
        found = at;
        break;
      }
    }
    const auto [have, at] = *found;
    const bool touched = by_address_[at].touched;
    by_size_.erase(found);
    by_address_.erase(at);
    if (touched) kept_ -= have;
    if (have > size) insert(at + size, have - size, touched);
    return at;
  }

  // Neighbours are joined where both are touched or both are not.
  void insert(char* at, std::size_t size, bool touched) {
    auto after = by_address_.lower_bound(at);
    if (after != by_address_.end() && after->first == at + size && after->second.touched == touched && !is_start(after->first)) {
      by_size_.erase({after->second.size, after->first});
      size += after->second.size;
      if (touched) kept_ -= after->second.size;
      after = by_address_.erase(after);
    }
    if (after != by_address_.begin() && !is_start(at)) {
      auto before = std::prev(after);
      if (before->first + before->second.size == at && before->second.touched == touched) {
        by_size_.erase({before->second.size, before->first});
        at = before->first;
        size += before->second.size;
        if (touched) kept_ -= before->second.size;
        by_address_.erase(before);
      }
    }
    by_address_[at] = {size, touched};
    by_size_.insert({size, at});
    if (touched) kept_ += size;
  }

  bool is_start(char* at) const { return segments_.count(at) != 0; }

  // Moves the ranges that were freed last to the other free ranges, and joins neighbours.
  void settle() {
    for (int i = 0; i < recent_; ++i) {
      kept_ -= recents_[i].size;
      insert(recents_[i].at, recents_[i].size, true);
    }
    recent_ = 0;
  }

  // Before new pages are touched: what is kept and in use together passes the most that was in use by a sixteenth and 4 MiB at most.
  void trim(std::size_t wanted) {
    const std::size_t used = static_cast<std::size_t>(std::max<std::ptrdiff_t>(in_use.load(std::memory_order_relaxed), 0)) + wanted;
    const std::size_t peak = std::max(used,
                                      static_cast<std::size_t>(std::max<std::ptrdiff_t>(most.load(std::memory_order_relaxed), 0)));
    const std::size_t bound = peak + peak / 16 + (4 << 20);
    if (used + kept_ <= bound) return;
    settle();
    // The largest first: fewest calls.
    while (used + kept_ > bound) {
      Range largest{nullptr, 0};
      for (auto at = by_size_.rbegin(); at != by_size_.rend(); ++at) {
        if (by_address_[at->second].touched) {
          largest = {at->second, at->first};
          break;
        }
      }
      if (!largest.at) return;
      release(largest);
    }
  }

  // Gives the pages of a free range back.
  void release(Range r) {
    by_size_.erase({r.size, r.at});
    by_address_.erase(r.at);
    kept_ -= r.size;
    const auto whole = segments_.find(r.at);
    if (whole != segments_.end() && whole->second == r.size) {
      munmap(r.at, r.size);
      segment_bytes.fetch_sub(static_cast<std::ptrdiff_t>(r.size), std::memory_order_relaxed);
      segments_.erase(whole);
      return;
    }
    madvise(r.at, r.size, MADV_DONTNEED);
    insert(r.at, r.size, false);
  }

  void release_all() {
    settle();
    for (;;) {
      Range next{nullptr, 0};
      for (const auto& [at, free] : by_address_) {
        if (free.touched) {
          next = {at, free.size};
          break;
        }
      }
      if (!next.at) break;
      release(next);
    }
    // A segment of which nothing is in use goes altogether.
    for (auto s = segments_.begin(); s != segments_.end();) {
      const auto free = by_address_.find(s->first);
      if (free == by_address_.end() || free->second.size != s->second) {
        ++s;
        continue;
      }
      by_size_.erase({free->second.size, free->first});
      by_address_.erase(free);
      munmap(s->first, s->second);
      segment_bytes.fetch_sub(static_cast<std::ptrdiff_t>(s->second), std::memory_order_relaxed);
      s = segments_.erase(s);
    }
  }

  bool grow(std::size_t size) {
    for (const std::size_t wanted : {std::max(size, kSegment), size}) {
      const std::size_t rounded = (wanted + kHuge - 1) / kHuge * kHuge;
      if (rounded < wanted) return false;
      char* at = map_aligned(rounded);
      if (!at) continue;
#ifdef MADV_HUGEPAGE
      madvise(at, rounded, MADV_HUGEPAGE);
#endif
      segments_[at] = rounded;
      segment_bytes.fetch_add(static_cast<std::ptrdiff_t>(rounded), std::memory_order_relaxed);
      insert(at, rounded, false);
      return true;
    }
    return false;
  }

  // So that pages of 2 MiB fit.
  static char* map_aligned(std::size_t size) {
    const std::size_t more = size + kHuge;
    if (more < size) return nullptr;
    void* p = mmap(nullptr, more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return nullptr;
    char* raw = static_cast<char*>(p);
    const std::size_t skip = (kHuge - reinterpret_cast<std::uintptr_t>(raw) % kHuge) % kHuge;
    if (skip) munmap(raw, skip);
    if (kHuge - skip) munmap(raw + skip + size, kHuge - skip);
    return raw + skip;
  }

  std::mutex lock_;
  std::map<char*, std::size_t> segments_;
  std::map<char*, Free> by_address_;
  std::set<std::pair<std::size_t, char*>> by_size_;
  Range recents_[kRecent];
  int recent_ = 0;
  std::size_t kept_ = 0;  // bytes of touched free ranges and of the recent ones
};

// Never destroyed: tensors may outlive the library's static objects.
Segments& segments() {
  static Segments* one = new Segments;
  return *one;
}

// ---------------------------------------------------------------- small blocks

struct Link {
  Link* next;
};

constexpr int kFine = 16;  // classes of 64 bytes each, up to 1 KiB; then eight to a doubling
constexpr int kClasses = kFine + 5 * 8;

inline int class_of(std::size_t bytes) {
  if (bytes <= kFine * 64) return static_cast<int>((bytes + 63) / 64) - 1;
  const int doubling = 63 - __builtin_clzll(bytes - 1);  // 2^doubling < bytes <= 2^(doubling + 1)
  return kFine + (doubling - 10) * 8 + static_cast<int>((bytes - 1) >> (doubling - 3) & 7);
}

constexpr std::size_t size_of_class(int c) {
  if (c < kFine) return static_cast<std::size_t>(c + 1) * 64;
  const int doubling = 10 + (c - kFine) / 8;
  return (std::size_t{1} << doubling) + (static_cast<std::size_t>((c - kFine) % 8 + 1) << (doubling - 3));
}

struct Sizes {
  std::uint32_t at[kClasses];
  constexpr Sizes() : at() {
    for (int c = 0; c < kClasses; ++c) at[c] = static_cast<std::uint32_t>(size_of_class(c));
  }
};
constexpr Sizes kSizes;
inline std::size_t class_size(int c) { return kSizes.at[c]; }

// How many blocks of a class a thread keeps before it gives half of them to the others.
constexpr int keeps(int c) { return c < kFine ? 256 : static_cast<int>(std::max<std::size_t>(8, (256 << 10) / class_size(c))); }

struct Lists {
  Link* first[kClasses] = {};
  int count[kClasses] = {};
  std::ptrdiff_t used = 0;  // not yet in `in_use`
  ~Lists();
};

class Center {
 public:
  // A chain of blocks for a thread without blocks: given back by other threads, or new.
  Link* fetch(int c, int* n) {
    const std::lock_guard<std::mutex> guard(lock);
    if (Link* chain = chains_[c]) {
      Link* last = chain;
      *n = 1;
      for (const int wanted = keeps(c) / 2; *n < wanted && last->next; ++*n) last = last->next;
      chains_[c] = last->next;
      last->next = nullptr;
      return chain;
    }
    const std::size_t size = class_size(c);
    const int wanted = static_cast<int>(std::clamp<std::size_t>((8 << 10) / size, 1, 32));
    Link* chain = nullptr;
    for (*n = 0; *n < wanted; ++*n) {
      if (static_cast<std::size_t>(end_ - at_) < size) {
        constexpr std::size_t kChunk = 256 << 10;
        char* chunk = static_cast<char*>(from_malloc(kChunk));
        if (!chunk) break;
        chunk_bytes.fetch_add(kChunk, std::memory_order_relaxed);
        at_ = chunk;
        end_ = chunk + kChunk;
      }
      Link* block = reinterpret_cast<Link*>(at_);
      at_ += size;
      block->next = chain;
      chain = block;
    }
    return chain;
  }

  void return_chain(int c, Link* first, Link* last) {
    const std::lock_guard<std::mutex> guard(lock);
    last->next = chains_[c];
    chains_[c] = first;
  }

  std::mutex lock;

 private:
  Link* chains_[kClasses] = {};
  char *at_ = nullptr, *end_ = nullptr;
};

Center& center() {
  static Center* one = new Center;
  return *one;
}

// The thread's lists, made at its first block; none while it starts and when it ends. Read by every small result, so its place is
// fixed when the library is loaded.
#ifdef __GLIBC__
__attribute__((tls_model("initial-exec")))
#endif
thread_local Lists* mine = nullptr;

void settle_use(Lists& l) {
  if (!l.used) return;
  note_use(l.used);
  l.used = 0;
}

Lists::~Lists() {
  mine = nullptr;
  settle_use(*this);
  for (int c = 0; c < kClasses; ++c) {
    if (!first[c]) continue;
    Link* last = first[c];
    while (last->next) last = last->next;
    center().return_chain(c, first[c], last);
  }
}

// nullptr when the thread is ending.
Lists* make_lists() {
  static thread_local bool made = false;
  if (made) return nullptr;
  made = true;
  static thread_local Lists lists;
  return mine = &lists;
}

constexpr std::ptrdiff_t kUnnoted = 64 << 10;

void* take_small(int c) {
  Lists* own = mine;
  if (__builtin_expect(!own, 0) && !(own = make_lists())) {
    note_use(static_cast<std::ptrdiff_t>(class_size(c)));
    return from_malloc(class_size(c));  // never freed as such: joins the lists of whoever frees it
  }
  Lists& l = *own;
  Link* block = l.first[c];
  if (__builtin_expect(!block, 0)) {
    block = center().fetch(c, &l.count[c]);
    if (!block) {
      l.count[c] = 0;
      return nullptr;
    }
  }
  l.first[c] = block->next;
  --l.count[c];
  if ((l.used += static_cast<std::ptrdiff_t>(class_size(c))) > kUnnoted) settle_use(l);
  return block;
}

void give_small(void* p, int c) {
  Link* block = static_cast<Link*>(p);
  Lists* own = mine;
  if (__builtin_expect(!own, 0) && !(own = make_lists())) {
    note_use(-static_cast<std::ptrdiff_t>(class_size(c)));
    center().return_chain(c, block, block);
    return;
  }
  Lists& l = *own;
  block->next = l.first[c];
  l.first[c] = block;
  if ((l.used -= static_cast<std::ptrdiff_t>(class_size(c))) < -kUnnoted) settle_use(l);
  if (++l.count[c] > keeps(c)) {
    const int half = l.count[c] / 2;
    Link* last = l.first[c];
    for (int i = 1; i < half; ++i) last = last->next;
    Link* rest = last->next;
    Link* first = l.first[c];
    l.first[c] = rest;
    l.count[c] -= half;
    center().return_chain(c, first, last);
  }
}

// A child process has memory and one thread of its parent: no lock is held during a fork.
const bool forks_safely = [] {
  return pthread_atfork(
             [] {
               center().lock.lock();
               segments().lock().lock();
             },
             [] {
               segments().lock().unlock();
               center().lock.unlock();
             },
             [] {
               segments().lock().unlock();
               center().lock.unlock();
             }) == 0;
}();

#endif

}  // namespace

#if defined(RUSHLIGHT_MMAP) && !defined(RUSHLIGHT_SANITIZED)

void* take(std::size_t bytes) {
  if (bytes <= kSmall) return take_small(class_of(bytes ? bytes : 1));
  const std::size_t size = rounded_large(bytes);
  if (size < bytes || size > PTRDIFF_MAX) return nullptr;
  void* block;
  try {
    block = segments().take(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
  if (block) note_use(static_cast<std::ptrdiff_t>(size));
  return block;
}

void give(void* block, std::size_t bytes) {
  if (bytes <= kSmall) {
    give_small(block, class_of(bytes ? bytes : 1));
    return;
  }
  const std::size_t size = rounded_large(bytes);
  note_use(-static_cast<std::ptrdiff_t>(size));
  try {
    segments().give(static_cast<char*>(block), size);
  } catch (const std::bad_alloc&) {  // no memory for the note of it: the range is lost, and nothing else
  }
}

std::size_t in_use_now() {
  const std::ptrdiff_t here = mine ? mine->used : 0;
  return static_cast<std::size_t>(std::max<std::ptrdiff_t>(in_use.load(std::memory_order_relaxed) + here, 0));
}

Stats stats() {
  if (mine) settle_use(*mine);
  const std::size_t used = in_use_now();
  return {used, used + segments().kept(), static_cast<std::size_t>(most.load(std::memory_order_relaxed))};
}

void empty_cache() {
  segments().empty();
#ifdef __GLIBC__
  malloc_trim(0);  // what small blocks, Python and libraries have freed
#endif
}

#else

// Under a sanitizer every block comes from the system, so that writes beyond a block are found.
void* take(std::size_t bytes) {
  void* block = from_malloc(bytes ? bytes : 1);
  if (block) note_use(static_cast<std::ptrdiff_t>(bytes));
  return block;
}

void give(void* block, std::size_t bytes) {
  note_use(-static_cast<std::ptrdiff_t>(bytes));
#ifdef _WIN32
  _aligned_free(block);
#else
  std::free(block);
#endif
}

std::size_t in_use_now() { return static_cast<std::size_t>(std::max<std::ptrdiff_t>(in_use.load(std::memory_order_relaxed), 0)); }

Stats stats() {
  const std::size_t used = in_use_now();
  return {used, used, static_cast<std::size_t>(most.load(std::memory_order_relaxed))};
}

void empty_cache() {}

#endif

void discard(void* at, std::size_t bytes) {
#ifdef RUSHLIGHT_MMAP
  const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE)), address = reinterpret_cast<std::uintptr_t>(at);
  const std::uintptr_t first = (address + page - 1) / page * page, end = (address + bytes) / page * page;
  if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
#else
  (void)at, (void)bytes;
#endif
}

void reset_peak() {
  stats();
  most.store(std::max<std::ptrdiff_t>(in_use.load(std::memory_order_relaxed), 0), std::memory_order_relaxed);
}

}  // namespace rushlight::memory
