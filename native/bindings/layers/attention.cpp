// Scaled dot-product attention over tensors, and its gradient: heads and their rows are handed to the kernels of isa/layers/attention.cpp.
//
// All leading dimensions count heads. Where the query has `group` times as many heads as key and value, each of theirs serves
// `group` of its own, one after the other. Threads take rows of heads; who works on several pieces of one head packs its
// keys once. No sum depends on how the work was cut: what is added over rows (the gradients of keys and values) is added
// in parts that the sizes alone decide, and the parts in their order.
#include "bindings/kernel.h"

#include <algorithm>
#include <atomic>
#include <cstring>

namespace rushlight {
namespace {

constexpr double kReleaseWork = 1 << 17;  // multiplications from which other Python threads run
constexpr double kThreadWork = 1 << 18;  // and from which a piece is worth another thread

// A tensor of matrices seen through its strides; data is null where there is none.
struct Operand {
  Ref owner;
  char* data = nullptr;
  DType dtype = DType::F32;
  ptrdiff_t strides[kMaxDims] = {};  // of the leading dimensions, 0 where it is broadcast
  ptrdiff_t row = 0, column = 0;
};

// Reads a tensor whose last dimensions are rows x columns, broadcast to `ndim` dimensions; copies what is not aligned.
bool read_operand(const TensorInfo& given, int ndim, Operand& out) {
  TensorInfo a = given;
  if (a.tensor->is_aligned()) {
    out.owner = Ref::borrow(as_object(a.tensor));
  } else {
    if (!(out.owner = contiguous(a.tensor))) return false;
    a = info_of(as_tensor(out.owner));
  }
  out.data = a.data;
  out.dtype = a.dtype;
  const auto stride = [&](int d) { return d < 0 || a.shape[d] == 1 ? Py_ssize_t{0} : a.strides[d]; };
  for (int d = 0; d < ndim - 2; d++) out.strides[d] = stride(d - (ndim - a.ndim));
  out.row = stride(a.ndim - 2);
  out.column = stride(a.ndim - 1);
  return true;
}
// The same of a result, whose last dimension is adjacent.
bool read_result(const Ref& result, Operand& out) {
  if (!read_operand(info_of(result), as_tensor(result)->ndim(), out)) return false;
  out.column = item_size(out.dtype);
  return true;
}

// Key, query and value have their last dimension adjacent even where it has one element, so that they need no copy.
void settle(Operand& a, Py_ssize_t columns) {
  if (columns == 1) a.column = item_size(a.dtype);
}

struct Heads {
  int leading = 0;  // dimensions
  Py_ssize_t shape[kMaxDims];  // of key and value
  Py_ssize_t count = 1;  // of heads of keys
  Py_ssize_t group = 1;  // heads of queries for each
  bool folded = false;  // the group are the rows: one query each

  Py_ssize_t queries_count() const { return folded ? count : count * group; }
};

struct Arguments {
  TensorInfo q, k, v, mask, noise;
  bool causal;
  double scale;
  Heads heads;
  AttentionHead head{};
  Operand query, key, value, mask_at, noise_at;
  DeviceType device;
};

bool broadcasts(const TensorInfo& a, const Py_ssize_t* shape, int ndim) {
  if (a.ndim < 2 || a.ndim > ndim) return false;
  for (int d = 1; d <= a.ndim; d++)
    if (a.shape[a.ndim - d] != 1 && a.shape[a.ndim - d] != shape[ndim - d]) return false;
  return true;
}

// False with an exception, or without: no kernel for them.
bool read_arguments(const TensorInfo& query, const TensorInfo& key, const TensorInfo& value, const TensorInfo& mask_or_none,
                    const TensorInfo& noise_or_none, bool causal, double scale, Arguments& a) {
  a.q = query, a.k = key, a.v = value, a.mask = mask_or_none, a.noise = noise_or_none;
  a.causal = causal;
  a.scale = scale;
  const TensorInfo &q = a.q, &k = a.k, &v = a.v;
  const DType type = q.dtype;
  if (!q.is_float_or_half()) return false;
  if (k.dtype != type || v.dtype != type || q.ndim < 2 || k.ndim != q.ndim || v.ndim != q.ndim) return false;
  const int ndim = q.ndim;
  AttentionHead& h = a.head;
  h.queries = q.shape[ndim - 2];
  h.keys = k.shape[ndim - 2];
  h.depth = q.shape[ndim - 1];
  h.width = v.shape[ndim - 1];
  h.scale = a.scale;
  h.causal = a.causal;
  h.dtype = type;
  if (k.shape[ndim - 1] != h.depth || v.shape[ndim - 2] != h.keys) return false;
  Heads& heads = a.heads;
  heads.leading = ndim - 2;
  Py_ssize_t scores[kMaxDims];
  for (int d = 0; d < heads.leading; d++) {
    heads.shape[d] = k.shape[d];
    scores[d] = q.shape[d];
    if (v.shape[d] != k.shape[d]) return false;
    if (q.shape[d] != k.shape[d]) {
      if (d != heads.leading - 1 || k.shape[d] == 0 || q.shape[d] % k.shape[d]) return false;
      heads.group = q.shape[d] / k.shape[d];
    }
    heads.count *= k.shape[d];
  }
  scores[ndim - 2] = h.queries;
  scores[ndim - 1] = h.keys;
  const auto fits = [&](const TensorInfo& m) { return broadcasts(m, scores, ndim); };
  const DType computed = computed_in(type);
  if (a.mask.tensor && (!fits(a.mask) || (a.mask.dtype != DType::Bool && a.mask.dtype != computed && a.mask.dtype != DType::F32 &&
                                          a.mask.dtype != type)))
    return false;
  if (a.noise.tensor && (!fits(a.noise) || a.noise.dtype != computed)) return false;
  a.device = device_of(q, k, v, a.mask, a.noise);
  if (a.device == DeviceType::Meta) return true;
  if (!read_operand(q, ndim, a.query) || !read_operand(k, ndim, a.key) || !read_operand(v, ndim, a.value) ||
      (a.mask.tensor && !read_operand(a.mask, ndim, a.mask_at)) || (a.noise.tensor && !read_operand(a.noise, ndim, a.noise_at)))
    return false;
  settle(a.query, h.depth);
  settle(a.key, h.depth);
  settle(a.value, h.width);
  h.mask_dtype = a.mask_at.dtype;
  h.noise_dtype = a.noise_at.dtype;
  // One query each, as when a text is continued: those of a group are the rows of one head.
  if (h.queries == 1 && heads.group > 1 && !h.causal) {
    heads.folded = true;
    h.queries = heads.group;
    for (Operand* m : {&a.query, &a.mask_at, &a.noise_at}) m->row = m->strides[heads.leading - 1];
  }
  const double bytes = 8.0 * (h.depth + h.width + 64.0) * (2.0 * h.keys + 1024);
  return bytes <= 1e14 || no_memory();
}

// The matrix of a head of queries (`member` of the group of head `head` of the keys), or of a head of keys.
ByteMatrix matrix_of(const Operand& a, const Heads& heads, Py_ssize_t head, Py_ssize_t member, bool of_keys = false) {
  if (!a.data) return {nullptr, 0, 0};
  char* at = a.data;
  for (int d = heads.leading - 1; d >= 0; d--) {
    Py_ssize_t place = head % heads.shape[d];
    head /= heads.shape[d];
    if (d == heads.leading - 1 && !of_keys) place = place * heads.group + member;
    at += place * a.strides[d];
  }
  return {at, a.row, a.column};
}

AttentionHead head_of(const Arguments& a, Py_ssize_t head, Py_ssize_t member) {
  AttentionHead h = a.head;
  h.query = matrix_of(a.query, a.heads, head, member);
  h.key = matrix_of(a.key, a.heads, head, 0, true);
  h.value = matrix_of(a.value, a.heads, head, 0, true);
  h.mask = matrix_of(a.mask_at, a.heads, head, member);
  h.noise = matrix_of(a.noise_at, a.heads, head, member);
  return h;
}

double work_of(const AttentionHead& h, Py_ssize_t rows) {
  return static_cast<double>(rows) * static_cast<double>(h.keys) * static_cast<double>(h.depth + h.width) * (h.causal ? 0.5 : 1.0);
}

// Strides of a result of four dimensions (batch, heads, rows, features) that lies as (batch, rows, heads, features).
void by_rows(const Py_ssize_t* shape, Py_ssize_t item, Py_ssize_t* strides) {
  const auto at_least_one = [](Py_ssize_t n) { return std::max<Py_ssize_t>(n, 1); };
  strides[3] = item;
  strides[1] = item * at_least_one(shape[3]);
  strides[2] = strides[1] * at_least_one(shape[1]);
  strides[0] = strides[2] * at_least_one(shape[2]);
}

// The result lies as the query does where PyTorch's kernel takes it: four dimensions, as many features in, a plain mask.
Ref new_result(const Arguments& a) {
  const int ndim = a.q.ndim;
  Py_ssize_t shape[kMaxDims], strides[kMaxDims], numel;
  std::copy_n(a.q.shape, ndim, shape);
  shape[ndim - 1] = a.v.shape[ndim - 1];
  const Py_ssize_t item = item_size(a.q.dtype);
  if (!contiguous_strides(ndim, shape, item, strides, &numel)) return new_ref(a.q.dtype, ndim, shape, a.device);
  const bool adjacent = a.q.shape[ndim - 1] <= 1 || a.q.strides[ndim - 1] == item;
  if (ndim == 4 && shape[3] == a.q.shape[3] && numel && a.k.shape[2] && adjacent && !a.noise.tensor &&
      (!a.mask.tensor || a.mask.ndim != 3))
    like_strides(a.q.tensor, item, strides);
  if (strides[ndim - 1] != item) return new_ref(a.q.dtype, ndim, shape, a.device);
  return owned(new_strided(a.q.dtype, ndim, shape, strides, a.device));
}

// (result, logarithms of the sums of the rows)
Pair attention(const TensorInfo& query, const TensorInfo& key, const TensorInfo& value, const TensorOrNone& mask,
               const TensorOrNone& noise, bool causal, double scale) {
  Arguments a;
  if (!read_arguments(query, key, value, mask, noise, causal, scale, a)) return {};
  const int ndim = a.q.ndim;
  Ref out = new_result(a);
  Ref lse = new_ref(computed_in(a.q.dtype), ndim - 1, a.q.shape, a.device);
  const AttentionHead& h = a.head;
  if (a.device != DeviceType::Meta && as_tensor(lse)->numel()) {
    Operand result;
    if (!read_result(out, result)) return {};
    if (a.heads.folded) result.row = result.strides[a.heads.leading - 1];
    char* sums = data_of(lse);
    const ptrdiff_t item = item_size(as_tensor(lse)->dtype);
    if (h.keys == 0) {  // nothing to see: zeros
      std::memset(data_of(out), 0, static_cast<size_t>(as_tensor(out)->nbytes()));
      std::memset(sums, 0, static_cast<size_t>(as_tensor(lse)->nbytes()));
      return tuple_of(out, lse);
    }
    const Py_ssize_t heads = a.heads.queries_count(), threads = get_num_threads();
    const Py_ssize_t most = heads < 4 * threads ? 112 : 336;  // rows of a piece: whole groups of strips
    const Py_ssize_t pieces = (h.queries + most - 1) / most;
    const double work = work_of(h, std::min(h.queries, most));
    const Py_ssize_t members = a.heads.folded ? 1 : a.heads.group;
    std::atomic<bool> failed{false};
    {
      Unlocked unlocked(work * static_cast<double>(heads * pieces) > kReleaseWork, a.query.owner, a.key.owner, a.value.owner,
                        a.mask_at.owner, a.noise_at.owner, out, lse);
      parallel(heads * pieces, static_cast<ptrdiff_t>(kThreadWork / (work + 1)) + 1, [&](ptrdiff_t begin, ptrdiff_t end) {
        Py_ssize_t packed = -1;
        const AttentionHead first = head_of(a, begin / pieces / members, begin / pieces % members);
        const Workspace scratch(dense_kernels().attention_scratch(first, false));
        if (!scratch.p) return failed.store(true, std::memory_order_relaxed);
        for (ptrdiff_t i = begin; i < end; i++) {
          const Py_ssize_t piece = i % pieces, head = i / pieces / members, member = i / pieces % members;
          const Band rows{piece * h.queries / pieces, (piece + 1) * h.queries / pieces};
          dense_kernels().attention(head_of(a, head, member), rows, head == packed, scratch.p,
                                    matrix_of(result, a.heads, head, member), sums + (head * members + member) * h.queries * item);
          packed = head;
        }
      });
    }
    if (failed.load()) return no_memory();
  }
  return tuple_of(out, lse);
}

// A gradient of the shape of `a`, which is added to: zeros.
bool new_gradient(const TensorInfo& a, DType dtype, DeviceType device, bool zeros, Ref& result) {
  Py_ssize_t strides[kMaxDims], numel;
  if (a.ndim != 4 || !contiguous_strides(a.ndim, a.shape, item_size(dtype), strides, &numel) || !numel) {
    result = new_ref(dtype, a.ndim, a.shape, device);
  } else {
    by_rows(a.shape, item_size(dtype), strides);
    result = owned(new_strided(dtype, a.ndim, a.shape, strides, device));
  }
  if (!result) return false;
  if (zeros && device != DeviceType::Meta) std::memset(data_of(result), 0, static_cast<size_t>(as_tensor(result)->nbytes()));
  return true;
}

template <class T>
void add_rows(const T* from, Py_ssize_t rows, Py_ssize_t columns, const ByteMatrix& to) {
  for (Py_ssize_t i = 0; i < rows; i++) {
    T* row = reinterpret_cast<T*>(to.data + i * to.row);
    for (Py_ssize_t j = 0; j < columns; j++) row[j] += from[i * columns + j];
  }
}

constexpr Py_ssize_t kUnit = 128;  // rows
constexpr Py_ssize_t kParts = 8;  // there are so many pieces at least, where the rows suffice

// The gradients of query, key and value, and None for the mask's.
Gradients attention_backward(const TensorInfo& g, const TensorInfo& query, const TensorInfo& key, const TensorInfo& value,
                             const TensorOrNone& mask, const TensorOrNone& noise, bool causal, double scale, const TensorInfo& out,
                             const TensorInfo& lse, const Needs<4>& needs) {
  Arguments a;
  if (needs[3]) return {};  // a gradient of the mask: by the rule
  if (!read_arguments(query, key, value, mask, noise, causal, scale, a)) return {};
  const AttentionHead& h = a.head;
  const DType type = a.q.dtype, computed = computed_in(type);
  if (g.dtype != type || out.dtype != type || lse.dtype != computed || !same_shape(g.tensor, out.tensor) || g.ndim != a.q.ndim ||
      lse.ndim != g.ndim - 1 || !same_sizes(g.ndim - 1, g.shape, a.q.shape) || !same_sizes(lse.ndim, lse.shape, a.q.shape) ||
      g.shape[g.ndim - 1] != h.width)
    return {};
  const DeviceType device = device_of(a.q, a.k, a.v, a.mask, a.noise, g, out);
  Ref dq, dk, dv;
  const bool empty = lse.size() == 0 || h.keys == 0;
  if ((needs[0] && !new_gradient(a.q, type, device, empty, dq)) || (needs[1] && !new_gradient(a.k, computed, device, true, dk)) ||
      (needs[2] && !new_gradient(a.v, computed, device, true, dv)))
    return {};
  if (device != DeviceType::Meta && !empty) {
    Operand result, grad, to_query, to_key, to_value;
    if (!read_operand(out, out.ndim, result) || !read_operand(g, g.ndim, grad) || (dq && !read_result(dq, to_query)) ||
        (dk && !read_result(dk, to_key)) || (dv && !read_result(dv, to_value)))
      return {};
    settle(result, h.width);
    settle(grad, h.width);
    if (a.heads.folded)
      for (Operand* m : {&result, &grad, &to_query}) m->row = m->strides[a.heads.leading - 1];
    Ref sums_owner = contiguous(lse.tensor);
    const char* sums = data_of(sums_owner);
    const ptrdiff_t item = item_size(computed);
    // The rows of a group in units, cut into as many parts where there are few heads.
    const Py_ssize_t heads = a.heads.count, members = a.heads.folded ? 1 : a.heads.group;
    const Py_ssize_t units_each = (h.queries + kUnit - 1) / kUnit, units = members * units_each;
    const Py_ssize_t parts = std::min(units, (kParts + heads - 1) / heads);
    // The gradients of the parts after the first.
    const Py_ssize_t key_size = dk ? h.keys * h.depth : 0, value_size = dv ? h.keys * h.width : 0;
    Ref rest;
    const Py_ssize_t rest_shape[2] = {heads * (parts - 1), key_size + value_size};
    if (parts > 1 && !(rest = zeros_ref(computed, 2, rest_shape, DeviceType::Cpu))) return {};
    char* more = rest ? data_of(rest) : nullptr;
    const double work = 2.5 * work_of(h, h.queries) * static_cast<double>(members) / static_cast<double>(parts);
    const ptrdiff_t grain = static_cast<ptrdiff_t>(kThreadWork / (work + 1)) + 1;
    std::atomic<bool> failed{false};
    {
      Unlocked unlocked(work * static_cast<double>(heads * parts) > kReleaseWork, a.query.owner, a.key.owner, a.value.owner,
                        a.mask_at.owner, a.noise_at.owner, result.owner, grad.owner, sums_owner, dq, dk, dv, rest);
      parallel(heads * parts, grain, [&](ptrdiff_t begin, ptrdiff_t end) {
        Py_ssize_t packed = -1;
        const Workspace scratch(dense_kernels().attention_scratch(head_of(a, begin / parts, 0), true));
        if (!scratch.p) return failed.store(true, std::memory_order_relaxed);
        for (ptrdiff_t i = begin; i < end; i++) {
          const Py_ssize_t head = i / parts, part = i % parts;
          AttentionGradient to{};
          if (part == 0) {
            const ByteMatrix key = matrix_of(to_key, a.heads, head, 0, true), value = matrix_of(to_value, a.heads, head, 0, true);
            to.key = key.data;
            to.value = value.data;
            to.key_row = key.row / item;
            to.value_row = value.row / item;
          } else {
            char* at = more + (head * (parts - 1) + part - 1) * (key_size + value_size) * item;
            to.key = dk ? at : nullptr;
            to.value = dv ? at + key_size * item : nullptr;
            to.key_row = h.depth;
            to.value_row = h.width;
          }
          for (Py_ssize_t unit = units * part / parts; unit < units * (part + 1) / parts;) {
            const Py_ssize_t member = unit / units_each, first = unit % units_each;
            const Py_ssize_t last = std::min(units_each, first + units * (part + 1) / parts - unit);
            to.out = matrix_of(result, a.heads, head, member);
            to.out_grad = matrix_of(grad, a.heads, head, member);
            to.query = matrix_of(to_query, a.heads, head, member);
            to.lse = sums + (head * members + member) * h.queries * item;
            const Band rows{first * h.queries / units_each, last * h.queries / units_each};
            dense_kernels().attention_backward(head_of(a, head, member), to, rows, head == packed, scratch.p);
            packed = head;
            unit += last - first;
          }
        }
      });
      if (parts > 1)
        parallel(heads, grain, [&](ptrdiff_t begin, ptrdiff_t end) {
          for (ptrdiff_t i = begin * (parts - 1); i < end * (parts - 1); i++) {
            const Py_ssize_t head = i / (parts - 1);
            const auto add = [&]<class T>(const T* from) {
              if (dk) add_rows(from, h.keys, h.depth, matrix_of(to_key, a.heads, head, 0, true));
              if (dv) add_rows(from + key_size, h.keys, h.width, matrix_of(to_value, a.heads, head, 0, true));
            };
            const char* from = more + i * (key_size + value_size) * item;
            by_type(computed, add, from);
          }
        });
    }
    if (failed.load()) return no_memory();
  }
  for (Ref* made : {&dk, &dv})
    if (*made && type != computed && !(*made = converted(*made, type))) return {};
  Ref of_mask;
  return gradients_of({&dq, &dk, &dv, &of_mask});
}

const KernelRows rows{
    long_kernel<attention, "attention(query, key, value, mask, noise, causal, scale): (out, lse)">(),
    long_kernel<
        attention_backward,
        "attention_backward(g, query, key, value, mask, noise, causal, scale, out, lse, needs): the gradients of query, key, "
        "value and mask">(),
};

}  // namespace

}  // namespace rushlight
