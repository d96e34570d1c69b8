// The memory of results: one allocator for all of them, which knows nothing of Python and needs no GIL.
//
// Small blocks (up to kSmall bytes) come from lists per size class and thread, carved out of chunks that stay. Large ones come from
// segments that the system gave: best fit, neighbours joined when they are free, the last freed tried first, because it is still in
// the cache. Freed large memory is kept for the next request, so that a training step pays no page faults after the first few;
// what is kept is bounded by the most that was in use (see Segments::trim), and given back before a request fails.
#pragma once
#include <cstddef>

namespace rushlight::memory {

constexpr std::size_t kAlignment = 64;  // of every block
constexpr std::size_t kSmall = 32 << 10;

// `bytes` (at least one) of uninitialised memory; nullptr where there is no more.
void* take(std::size_t bytes);
// Gives back what take(bytes) gave, on any thread.
void give(void* block, std::size_t bytes);

// Tells the system that the contents of a part of a block are not wanted any more.
void discard(void* at, std::size_t bytes);

struct Stats {
  std::size_t allocated;  // in use
  std::size_t reserved;  // in use or kept
  std::size_t peak;  // the most in use since reset_peak
};
Stats stats();
std::size_t in_use_now();  // `allocated`, but for some kB that other threads took or gave
void reset_peak();
void empty_cache();  // all that is kept but small blocks, and malloc's free pages, to the system

}  // namespace rushlight::memory
