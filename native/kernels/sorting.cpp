// The loops of sorting.h. A row's keys are read once; a key with the place behind it is one number, so that no two are equal and any
// way of sorting keeps the order of equal elements.
#include "kernels/sorting.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <numeric>
#include <type_traits>
#include <utility>

#include "kernels/workspace.h"

namespace rushlight {

namespace {

// ---------------------------------------------------------------- keys

struct Truth {
  uint8_t byte;
};
struct HalfBits {
  uint16_t bits;
};
struct BrainBits {
  uint16_t bits;
};
template <class T>
constexpr bool kHalf = std::is_same_v<T, HalfBits> || std::is_same_v<T, BrainBits>;
template <class K>
constexpr K kNan = static_cast<K>(~(std::make_unsigned_t<K>(1) << (8 * sizeof(K) - 1)));  // the largest key

template <class K, class T>
K key_of(T x) {
  if constexpr (std::is_same_v<T, Truth>) {
    return x.byte != 0;
  } else if constexpr (std::is_floating_point_v<T>) {
    const K bits = std::bit_cast<K>(x + T(0));  // -0 becomes 0
    const K key = bits ^ ((bits >> (8 * sizeof(K) - 1)) & kNan<K>);
    return x != x ? kNan<K> : key;
  } else if constexpr (kHalf<T>) {
    const K magnitude = x.bits & 0x7fff;
    const K key = x.bits & 0x8000 ? -magnitude : magnitude;
    return magnitude > (std::is_same_v<T, HalfBits> ? 0x7c00 : 0x7f80) ? kNan<K> : key;
  } else if constexpr (std::is_unsigned_v<T> && sizeof(T) == sizeof(K)) {
    return static_cast<K>(x ^ (T(1) << (8 * sizeof(T) - 1)));
  } else {
    return static_cast<K>(x);
  }
}

template <class K, class T>
void load(const char* data, ptrdiff_t step, ptrdiff_t n, K flip, K* keys) {
  if (step == static_cast<ptrdiff_t>(sizeof(T))) {
    for (ptrdiff_t i = 0; i < n; i++) keys[i] = key_of<K>(reinterpret_cast<const T*>(data)[i]) ^ flip;
  } else {
    for (ptrdiff_t i = 0; i < n; i++) keys[i] = key_of<K>(*reinterpret_cast<const T*>(data + i * step)) ^ flip;
  }
}
// The keys of n elements; all bits of `flip` turn the order.
template <class K>
using LoadFn = void (*)(const char* data, ptrdiff_t step, ptrdiff_t n, K flip, K* keys);

LoadFn<int32_t> loader(DType dtype, int32_t) {
  switch (dtype) {
    case DType::Bool: return load<int32_t, Truth>;
    case DType::U8: return load<int32_t, uint8_t>;
    case DType::I8: return load<int32_t, int8_t>;
    case DType::I16: return load<int32_t, int16_t>;
    case DType::U16: return load<int32_t, uint16_t>;
    case DType::I32: return load<int32_t, int32_t>;
    case DType::U32: return load<int32_t, uint32_t>;
    case DType::F16: return load<int32_t, HalfBits>;
    case DType::BF16: return load<int32_t, BrainBits>;
    case DType::F32: return load<int32_t, float>;
    default: return nullptr;
  }
}
LoadFn<int64_t> loader(DType dtype, int64_t) {
  switch (dtype) {
    case DType::I64: return load<int64_t, int64_t>;
    case DType::U64: return load<int64_t, uint64_t>;
    case DType::F64: return load<int64_t, double>;
    default: return nullptr;
  }
}
bool has_nan(DType dtype) { return dtype == DType::F32 || dtype == DType::F64 || is_half(dtype); }

// Calls f with a key: that of the types of eight bytes, or that of the others.
template <class F>
auto by_key(DType dtype, const F& f) {
  return item_size(dtype) == 8 ? f(int64_t()) : f(int32_t());
}

// Parts of a long line, on threads: f(part, begin, end).
constexpr ptrdiff_t kPart = 1 << 16, kParts = 16;
ptrdiff_t parts_of(ptrdiff_t n) { return std::clamp<ptrdiff_t>(n / kPart, 1, kParts); }
template <class F>
void in_parts(ptrdiff_t n, const F& f) {
  const ptrdiff_t parts = parts_of(n);
  if (parts == 1) return f(0, 0, n);
  const ptrdiff_t each = (n + parts - 1) / parts;
  parallel(parts, 1, [&](ptrdiff_t first, ptrdiff_t last) {
    for (ptrdiff_t p = first; p < last; p++) f(p, std::min(p * each, n), std::min((p + 1) * each, n));
  });
}

// ---------------------------------------------------------------- keys with places

using Narrow = uint64_t;  // 32 bits each
struct Wide {
  uint64_t key, place;
  bool operator<(const Wide& other) const { return key < other.key || (key == other.key && place < other.place); }
};
template <class P>
P packed(uint64_t key, ptrdiff_t place) {
  if constexpr (std::is_same_v<P, Narrow>) return key << 32 | static_cast<uint64_t>(place);
  else return {key, static_cast<uint64_t>(place)};
}
uint64_t key_in(Narrow p) { return p >> 32; }
uint64_t key_in(Wide p) { return p.key; }
int64_t place_in(Narrow p) { return p & 0xffffffff; }
int64_t place_in(Wide p) { return static_cast<int64_t>(p.place); }

// The keys of a line, and the bounds they lie in: packed keys count from the least.
template <class K>
struct Keys {
  using Bits = std::make_unsigned_t<K>;
  const K* at;
  ptrdiff_t n;
  K least;
  Bits range;

  Keys(const K* keys, ptrdiff_t count) : at(keys), n(count), least(count ? keys[0] : 0) {
    K most = least, bounds[kParts][2];
    in_parts(n, [&, first = least](ptrdiff_t part, ptrdiff_t begin, ptrdiff_t end) {
      K low = first, high = first;
      for (ptrdiff_t i = begin; i < end; i++) {
        low = keys[i] < low ? keys[i] : low;
        high = keys[i] > high ? keys[i] : high;
      }
      bounds[part][0] = low, bounds[part][1] = high;
    });
    for (ptrdiff_t p = 0; p < parts_of(n); p++) least = std::min(least, bounds[p][0]), most = std::max(most, bounds[p][1]);
    range = static_cast<Bits>(most) - static_cast<Bits>(least);
  }
  uint64_t operator[](ptrdiff_t i) const { return static_cast<Bits>(at[i]) - static_cast<Bits>(least); }
  int bits() const { return static_cast<int>(std::bit_width(range)); }
  bool narrow() const { return range <= 0xffffffff && n <= kLongestLine; }
};

template <class P>
void insertion_sort(P* a, ptrdiff_t n) {
  for (ptrdiff_t i = 1; i < n; i++) {
    const P p = a[i];
    ptrdiff_t j = i;
    for (; j > 0 && p < a[j - 1]; j--) a[j] = a[j - 1];
    a[j] = p;
  }
}

// By the `bits` of the keys, some at a time from the lowest on; what is equal keeps its order. Returns where the result is: a or b.
template <class P>
P* radix_sort(P* a, P* b, ptrdiff_t n, int bits) {
  constexpr int kMost = 8;  // bits, and passes
  const int passes = (bits + kMost - 1) / kMost, each = passes ? (bits + passes - 1) / passes : 0;
  const ptrdiff_t buckets = ptrdiff_t{1} << each;
  const uint64_t mask = static_cast<uint64_t>(buckets) - 1;
  ptrdiff_t counts[kMost][1 << kMost];
  for (int pass = 0; pass < passes; pass++) std::fill_n(counts[pass], buckets, 0);
  for (ptrdiff_t i = 0; i < n; i++) {
    uint64_t key = key_in(a[i]);
    for (int pass = 0; pass < passes; pass++, key >>= each) counts[pass][key & mask]++;
  }
  for (int pass = 0; pass < passes; pass++) {
    const int shift = pass * each;
    ptrdiff_t* at = counts[pass];
    if (at[key_in(a[0]) >> shift & mask] == n) continue;
    ptrdiff_t sum = 0;
    for (ptrdiff_t k = 0; k < buckets; k++) sum += std::exchange(at[k], sum);
    for (ptrdiff_t i = 0; i < n; i++) b[at[key_in(a[i]) >> shift & mask]++] = a[i];
    std::swap(a, b);
  }
  return a;
}

constexpr ptrdiff_t kShort = 40;  // a row that is sorted by insertion

// All of a line in order; `room` has 2 n places.
template <class P, class K>
P* sorted(const Keys<K>& keys, P* room) {
  for (ptrdiff_t i = 0; i < keys.n; i++) room[i] = packed<P>(keys[i], i);
  if (keys.n > kShort) return radix_sort(room, room + keys.n, keys.n, keys.bits());
  insertion_sort(room, keys.n);
  return room;
}

// The k smallest, of many, in any order. Candidates are collected, and from time to time all but the best k of them dropped: after that only
// what is smaller than the last of these is a candidate, which is seldom. `room` has candidates(k) places.
constexpr ptrdiff_t kStep = 32;
ptrdiff_t candidates(ptrdiff_t k) { return std::max<ptrdiff_t>(2 * k, 2 * kStep) + kStep; }

template <class P, class K>
void smallest(const Keys<K>& keys, ptrdiff_t k, P* room) {
  const ptrdiff_t most = candidates(k) - kStep;
  ptrdiff_t have = 0;
  uint64_t bound = ~uint64_t{0};
  K last = kNan<K>;
  bool bounded = false;
  for (ptrdiff_t start = 0; start < keys.n; start += kStep) {
    const ptrdiff_t end = std::min(start + kStep, keys.n);
    if (bounded) {
      int any = 0;
      for (ptrdiff_t i = start; i < end; i++) any |= keys.at[i] < last;
      if (!any) continue;
    }
    for (ptrdiff_t i = start; i < end; i++) {
      room[have] = packed<P>(keys[i], i);
      have += keys[i] < bound || !bounded;
    }
    if (have <= most) continue;
    std::nth_element(room, room + k - 1, room + have);
    bound = key_in(room[k - 1]);
    last = keys.at[place_in(room[k - 1])];
    bounded = true;
    have = k;
  }
  if (have > k) std::nth_element(room, room + k - 1, room + have);
}
constexpr int kTopBits = 11;
// Number k in order, from 0: keys are counted by their upper bits, and only those that share k's are looked at more closely. `room`
// has n + 1 places.
template <class P, class K>
P kth(const Keys<K>& keys, ptrdiff_t k, P* room) {
  const ptrdiff_t n = keys.n;
  const int bits = std::min({static_cast<int>(std::bit_width(static_cast<uint64_t>(n))) - 1, kTopBits, keys.bits()});
  const int shift = keys.bits() - bits;
  ptrdiff_t counts[1 << kTopBits];
  std::fill_n(counts, 1 << bits, 0);
  std::mutex adding;
  in_parts(n, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t part[1 << kTopBits];
    ptrdiff_t* own = end - begin == n ? counts : part;
    if (own == part) std::fill_n(own, 1 << bits, 0);
    for (ptrdiff_t i = begin; i < end; i++) own[keys[i] >> shift]++;
    if (own == counts) return;
    const std::scoped_lock lock(adding);
    for (ptrdiff_t c = 0; c < 1 << bits; c++) counts[c] += own[c];
  });
  uint64_t bucket = 0;
  for (; k >= counts[bucket]; bucket++) k -= counts[bucket];
  ptrdiff_t begins[kParts], ends[kParts];  // of what each part found
  in_parts(n, [&](ptrdiff_t part, ptrdiff_t begin, ptrdiff_t end) {
    ptrdiff_t at = begin;
    begins[part] = begin;
    const bool brief = n < 512;  // no jump is foreseen, and no other part has the place behind
    for (ptrdiff_t i = begin; i < end; i++) {
      const bool is = keys[i] >> shift == bucket;
      if (brief || is) room[at] = packed<P>(keys[i], i);
      at += is;
    }
    ends[part] = at;
  });
  ptrdiff_t found = ends[0];
  for (ptrdiff_t p = 1; p < parts_of(n); p++) found = std::copy(room + begins[p], room + ends[p], room + found) - room;
  std::nth_element(room, room + k, room + found);
  return room[k];
}

// The first k in order; `room` has 2 n places and some.
template <class P, class K>
P* first(const Keys<K>& keys, ptrdiff_t k, P* room) {
  if (k > keys.n / 4 || keys.n <= kShort) return sorted(keys, room);
  if (k < keys.n / 64) {
    smallest(keys, k, room);
    std::sort(room, room + k);
    return room;
  }
  const P last = kth(keys, k - 1, room);
  ptrdiff_t found = 0;
  for (ptrdiff_t i = 0; found < k; i++) {
    room[found] = packed<P>(keys[i], i);
    found += !(last < room[found]);
  }
  if (k > kShort) return radix_sort(room, room + k, k, keys.bits());
  insertion_sort(room, k);
  return room;
}

// The same of few, kept in order as they are met.
constexpr ptrdiff_t kFew = 16, kByRank = 8;
template <class K>
void first_few(const K* keys, ptrdiff_t n, ptrdiff_t k, int64_t* places) {
  if (n <= kByRank) {  // without a branch that depends on the keys
    int64_t by_rank[kByRank];
    for (ptrdiff_t i = 0; i < n; i++) {
      ptrdiff_t rank = 0;
      for (ptrdiff_t j = 0; j < i; j++) rank += keys[j] <= keys[i];
      for (ptrdiff_t j = i + 1; j < n; j++) rank += keys[j] < keys[i];
      by_rank[rank] = i;
    }
    std::copy_n(by_rank, k, places);
    return;
  }
  constexpr ptrdiff_t kTogether = 16;
  K best[kFew];
  ptrdiff_t have = 0;
  const auto put = [&](K key, ptrdiff_t i) {
    ptrdiff_t at = have < k ? have++ : k - 1;
    for (; at > 0 && key < best[at - 1]; at--) best[at] = best[at - 1], places[at] = places[at - 1];
    best[at] = key, places[at] = i;
  };
  while (have < k) put(keys[have], have);
  for (ptrdiff_t i = k; i < n;) {
    const ptrdiff_t end = std::min(i + kTogether, n);
    int any = 0;
    for (ptrdiff_t j = i; j < end; j++) any |= keys[j] < best[k - 1];
    if (any) {
      for (ptrdiff_t j = i; j < end; j++)
        if (keys[j] < best[k - 1]) put(keys[j], j);
    }
    i = end;
  }
}

template <class P, class K>
int64_t most_frequent(const Keys<K>& keys, bool nan, P* room) {
  const P* order = sorted(keys, room);
  ptrdiff_t longest = 0, end = 0, length = 0;
  for (ptrdiff_t i = 0; i < keys.n; i++) {
    const bool same = i && key_in(order[i]) == key_in(order[i - 1]) && !(nan && keys.at[place_in(order[i])] == kNan<K>);
    length = same ? length + 1 : 1;
    if (length > longest) longest = length, end = i;
  }
  return place_in(order[end]);
}

// Which number in order a choice of one is, of k or of the middle.
template <class K>
ptrdiff_t number_of(Choice choice, const K* keys, ptrdiff_t n, ptrdiff_t k, bool nan) {
  if (choice != Choice::Median && choice != Choice::NanMedian) return k;
  ptrdiff_t nans[kParts] = {};
  if (nan) {
    in_parts(n,
             [&](ptrdiff_t part, ptrdiff_t begin, ptrdiff_t end) { nans[part] = std::count(keys + begin, keys + end, kNan<K>); });
  }
  const ptrdiff_t numbers = n - std::accumulate(nans, nans + kParts, ptrdiff_t{0});
  const ptrdiff_t of = choice == Choice::Median ? n : numbers;
  return choice == Choice::Median && numbers < n ? numbers : of ? (of - 1) / 2 : 0;
}

template <class P, class K>
void choose_of(const Keys<K>& keys, Choice choice, ptrdiff_t k, bool nan, P* room, int64_t* places) {
  if (choice == Choice::First) {
    const P* order = first(keys, k, room);
    for (ptrdiff_t i = 0; i < k; i++) places[i] = place_in(order[i]);
  } else if (choice == Choice::Mode) {
    *places = most_frequent(keys, nan, room);
  } else {
    *places = place_in(kth(keys, k, room));
  }
}

template <class T>
void move_elements(const Lines lines, const int64_t* places, ptrdiff_t m, const Moved to) {  // no store changes copies
  const auto move = [&](ptrdiff_t i, ptrdiff_t j) {
    const int64_t place = places[j * m + i];
    const char* from = lines.data + place * lines.step + j * lines.next;
    *reinterpret_cast<T*>(to.values + i * to.value_step + j * to.value_next) = *reinterpret_cast<const T*>(from);
    if (to.indices) *reinterpret_cast<int64_t*>(to.indices + i * to.index_step + j * to.index_next) = place;
  };
  if (lines.count > 1 && to.value_step > to.value_next) {  // as the results lie
    for (ptrdiff_t i = 0; i < m; i++)
      for (ptrdiff_t j = 0; j < lines.count; j++) move(i, j);
  } else {
    for (ptrdiff_t j = 0; j < lines.count; j++)
      for (ptrdiff_t i = 0; i < m; i++) move(i, j);
  }
}

}  // namespace

bool has_keys(DType dtype) { return loader(dtype, int32_t()) || loader(dtype, int64_t()); }

bool choose(DType dtype, Choice choice, ptrdiff_t k, bool descending, const Lines& lines, int64_t* places) {
  return by_key(dtype, [&]<class K>(K zero) {
    const ptrdiff_t n = lines.n, each = choice == Choice::First ? k : 1;
    const LoadFn<K> load_keys = loader(dtype, zero);
    // Lines beside each other are read together, so that what a line of the cache has is read at once.
    const bool together = lines.next < lines.step && lines.count > 1;
    const Workspace<K> keys(n * (together ? lines.count : 1));
    const Workspace<Wide> room((sizeof(K) == 4 ? n : 2 * n) + 4 * kStep);
    if (!keys.p || !room.p) return false;
    const K flip = descending ? K(-1) : K(0);
    if (together) {
      Workspace<K> across(lines.count);
      if (!across.p) return false;
      for (ptrdiff_t i = 0; i < n; i++) {
        load_keys(lines.data + i * lines.step, lines.next, lines.count, flip, across.p);
        for (ptrdiff_t j = 0; j < lines.count; j++) keys.p[j * n + i] = across.p[j];
      }
    }
    const bool nan = has_nan(dtype), several = choice == Choice::First;
    for (ptrdiff_t j = 0; j < lines.count; j++, places += each) {
      K* line = keys.p + (together ? j * n : 0);
      if (!together) {
        in_parts(n, [&](ptrdiff_t, ptrdiff_t begin, ptrdiff_t end) {
          load_keys(lines.data + j * lines.next + begin * lines.step, lines.step, end - begin, flip, line + begin);
        });
      }
      const ptrdiff_t number = number_of(choice, line, n, k, nan), count = several ? k : number + 1;
      if (choice != Choice::Mode && count > 0 && count <= kFew && (count <= n / 4 || n <= kFew)) {
        int64_t found[kFew];
        first_few(line, n, count, several ? places : found);
        if (!several) *places = found[number];
        continue;
      }
      const Keys<K> read(line, n);
      if (sizeof(K) == 4 || read.narrow()) choose_of(read, choice, number, nan, reinterpret_cast<Narrow*>(room.p), places);
      else if constexpr (sizeof(K) == 8) choose_of(read, choice, number, nan, room.p, places);
    }
    return true;
  });
}

void move_chosen(DType dtype, const Lines& lines, const int64_t* places, ptrdiff_t m, const Moved& to) {
  switch (item_size(dtype)) {
    case 1: return move_elements<uint8_t>(lines, places, m, to);
    case 2: return move_elements<uint16_t>(lines, places, m, to);
    case 4: return move_elements<uint32_t>(lines, places, m, to);
    default: return move_elements<uint64_t>(lines, places, m, to);
  }
}

// ---------------------------------------------------------------- distinct elements

namespace {

// Integers of a short range, counted: `places` has a number for each of it. Returns how many there are.
template <class K>
ptrdiff_t counted(const Keys<K>& keys, int64_t* places, int64_t* firsts, int64_t* counts, int64_t* inverse) {
  const ptrdiff_t range = static_cast<ptrdiff_t>(keys.range) + 1;
  std::fill_n(places, range, -1);
  for (ptrdiff_t i = keys.n; i-- > 0;) places[keys[i]] = i;
  ptrdiff_t found = 0;
  for (ptrdiff_t k = 0; k < range; k++) {
    if (places[k] < 0) continue;
    firsts[found] = places[k];
    places[k] = found++;
  }
  if (counts) std::fill_n(counts, found, 0);
  for (ptrdiff_t i = 0; i < keys.n && (counts || inverse); i++) {
    const int64_t number = places[keys[i]];
    if (counts) counts[number]++;
    if (inverse) inverse[i] = number;
  }
  return found;
}

}  // namespace

namespace {

// The runs of n rows: place(i) is that of number i, begins(i) whether it is unlike the one before.
template <class Place, class Begins>
ptrdiff_t runs(ptrdiff_t n, const Place& place, const Begins& begins, int64_t* firsts, int64_t* counts, int64_t* inverse) {
  ptrdiff_t found = 0;
  for (ptrdiff_t i = 0; i < n; i++) {  // written as the first of the next run, and kept if it is
    const int64_t at = place(i);
    firsts[found] = at;
    if (counts) counts[found] = i;
    found += i == 0 || begins(i);
    if (inverse) inverse[at] = found - 1;
  }
  for (ptrdiff_t k = 0; counts && k < found; k++) counts[k] = (k + 1 < found ? counts[k + 1] : n) - counts[k];
  return found;
}

}  // namespace

ptrdiff_t distinct(DType dtype, const char* data, ptrdiff_t n, ptrdiff_t width, bool in_order, int64_t* firsts, int64_t* counts,
                   int64_t* inverse) {
  if (dtype == DType::I64 && width == 1 && !in_order) {  // numbers of this type are keys as they are
    const int64_t* all = reinterpret_cast<const int64_t*>(data);
    return runs(n, [](ptrdiff_t i) { return i; }, [&](ptrdiff_t i) { return all[i] != all[i - 1]; }, firsts, counts, inverse);
  }
  return by_key(dtype, [&]<class K>(K zero) -> ptrdiff_t {
    const Workspace<K> keys(n * width);
    if (!keys.p) return -1;
    loader(dtype, zero)(data, item_size(dtype), n * width, 0, keys.p);
    const bool nan = has_nan(dtype);
    const K* all = keys.p;
    if (width == 1 && !in_order) {
      const auto begins = [&](ptrdiff_t i) { return all[i] != all[i - 1] || (nan && all[i] == kNan<K>); };
      return runs(n, [](ptrdiff_t i) { return i; }, begins, firsts, counts, inverse);
    }
    const Workspace<Wide> room(2 * n + 1);
    if (!room.p) return -1;
    if (width == 1) {
      const Keys<K> read(all, n);
      if (!nan && read.range < static_cast<uint64_t>(2 * n))
        return counted(read, reinterpret_cast<int64_t*>(room.p), firsts, counts, inverse);
      const auto of_sorted = [&]<class P>(P* free) {
        const P* order = sorted(read, free);
        const uint64_t last = static_cast<typename Keys<K>::Bits>(kNan<K>) - static_cast<typename Keys<K>::Bits>(read.least);
        const auto begins = [&](ptrdiff_t i) {
          const uint64_t key = key_in(order[i]);
          return key != key_in(order[i - 1]) || (nan && key == last);
        };
        return runs(n, [&](ptrdiff_t i) { return place_in(order[i]); }, begins, firsts, counts, inverse);
      };
      return read.narrow() ? of_sorted(reinterpret_cast<Narrow*>(room.p)) : of_sorted(room.p);
    }
    int64_t* order = reinterpret_cast<int64_t*>(room.p);
    std::iota(order, order + n, int64_t{0});
    if (in_order) {
      std::sort(order, order + n, [&](int64_t a, int64_t b) {
        const K *x = all + a * width, *y = all + b * width;
        const auto [p, q] = std::mismatch(x, x + width, y);
        return p == x + width ? a < b : *p < *q;
      });
    }
    const auto begins = [&](ptrdiff_t i) {
      const K *x = all + order[i] * width, *y = all + order[i - 1] * width;
      bool differ = false;
      for (ptrdiff_t k = 0; k < width; k++) differ |= x[k] != y[k] || (nan && x[k] == kNan<K>);
      return differ;
    };
    return runs(n, [&](ptrdiff_t i) { return order[i]; }, begins, firsts, counts, inverse);
  });
}

// ---------------------------------------------------------------- places in sorted rows

namespace {

// For each key how many of the n sorted ones are smaller, or (after) not larger: several side by side, as each step waits for memory.
template <bool kAfter, class K>
void search_block(const K* row, ptrdiff_t n, const K* keys, ptrdiff_t count, ptrdiff_t* at) {
  // All bits where a[i] comes before the key: no branch, as none could be foreseen.
  const auto before = [](K a, K b) { return -static_cast<ptrdiff_t>(kAfter ? a <= b : a < b); };
  for (ptrdiff_t i = 0; i < count; i++) at[i] = 0;
  if (n == 0) return;
  for (ptrdiff_t left = n; left > 1;) {
    const ptrdiff_t half = left / 2;
    for (ptrdiff_t i = 0; i < count; i++) at[i] += half & before(row[at[i] + half - 1], keys[i]);
    left -= half;
  }
  for (ptrdiff_t i = 0; i < count; i++) at[i] -= before(row[at[i]], keys[i]);
}

constexpr ptrdiff_t kSideBySide = 64;

// Calls f(first, count, keys) for blocks of values.
template <class K, class F>
void each_block(DType dtype, const char* values, ptrdiff_t count, const F& f) {
  K keys[kSideBySide];
  const ptrdiff_t item = item_size(dtype);
  for (ptrdiff_t i = 0; i < count; i += kSideBySide) {
    const ptrdiff_t m = std::min(kSideBySide, count - i);
    loader(dtype, K())(values + i * item, item, m, 0, keys);
    f(i, m, keys);
  }
}

}  // namespace

bool search(DType dtype, const char* row, const int64_t* sorter, ptrdiff_t n, const char* values, ptrdiff_t count, bool after,
            bool narrow, char* out) {
  return by_key(dtype, [&]<class K>(K zero) {
    const Workspace<K> keys(n);
    if (!keys.p) return false;
    const ptrdiff_t item = item_size(dtype);
    if (!sorter) {
      loader(dtype, zero)(row, item, n, 0, keys.p);
    } else {
      for (ptrdiff_t i = 0; i < n; i++) loader(dtype, zero)(row + sorter[i] * item, item, 1, 0, keys.p + i);
    }
    each_block<K>(dtype, values, count, [&](ptrdiff_t first, ptrdiff_t m, const K* wanted) {
      ptrdiff_t at[kSideBySide];
      (after ? search_block<true, K> : search_block<false, K>)(keys.p, n, wanted, m, at);
      if (narrow)
        std::transform(at, at + m, reinterpret_cast<int32_t*>(out) + first, [](ptrdiff_t i) { return static_cast<int32_t>(i); });
      else std::copy_n(at, m, reinterpret_cast<int64_t*>(out) + first);
    });
    return true;
  });
}

bool among(DType dtype, const char* row, ptrdiff_t n, const char* values, ptrdiff_t count, bool invert, char* out) {
  return by_key(dtype, [&]<class K>(K zero) {
    using Bits = std::make_unsigned_t<K>;
    const Workspace<K> keys(n);
    if (!keys.p) return false;
    loader(dtype, zero)(row, item_size(dtype), n, 0, keys.p);
    if (has_nan(dtype)) n = std::remove(keys.p, keys.p + n, kNan<K>) - keys.p;
    const Keys<K> all(keys.p, n);
    if (n &&
        all.range < static_cast<uint64_t>(std::min<ptrdiff_t>(4 * (n + count), 1 << 30))) {  // a table of what is there, or is not
      const Bits range = all.range + 1;
      const Workspace<char> table(static_cast<ptrdiff_t>(range) + 1);
      if (!table.p) return false;
      std::fill_n(table.p, static_cast<size_t>(range) + 1, invert);
      for (ptrdiff_t i = 0; i < n; i++) table.p[all[i]] = !invert;
      each_block<K>(dtype, values, count, [&](ptrdiff_t first, ptrdiff_t m, const K* wanted) {
        for (ptrdiff_t i = 0; i < m; i++) {
          const Bits k = static_cast<Bits>(wanted[i]) - static_cast<Bits>(all.least);
          out[first + i] = table.p[k < range ? k : range];
        }
      });
      return true;
    }
    std::sort(keys.p, keys.p + n);
    each_block<K>(dtype, values, count, [&](ptrdiff_t first, ptrdiff_t m, const K* wanted) {
      ptrdiff_t at[kSideBySide];
      search_block<false>(keys.p, n, wanted, m, at);
      for (ptrdiff_t i = 0; i < m; i++) out[first + i] = (at[i] < n && keys.p[at[i]] == wanted[i]) != invert;
    });
    return true;
  });
}

}  // namespace rushlight
