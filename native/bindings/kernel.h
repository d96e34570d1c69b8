// A kernel is a typed C++ function, and one row: `kernel<f, "name(a, dim, keepdim=False): a note">()` in a file's `KernelRows`.
//
// The types of its parameters say how arguments are read (`Read`), the text gives their names and the values of those that
// may be left out. From both follow the count of arguments, their errors, and what checkers of types see (tools/public_stub.py).
// Tensors are read first. A result that is empty without an exception, or an argument that is not read and raised nothing, is
// NotImplemented: there is no kernel for these, and the caller runs the reference implementation. All arguments are positional.
#pragma once
#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>
#include <vector>

#include "bindings/bindings.h"

namespace rushlight {

template <size_t N>
struct Text {
  char chars[N];
  consteval Text(const char (&text)[N]) { std::copy_n(text, N, chars); }  // NOLINT: as if it were the text
};

// ---- results: a Ref is a tensor, a Result an object of that type
template <Text kType>
struct Result : Ref {
  Result() = default;
  Result(Ref&& made) : Ref(std::move(made)) {}
};
using Nothing = Result<"None">;
using Tensors = Result<"tuple[Tensor, ...]">;
using Pair = Result<"tuple[Tensor, Tensor]">;
using Triple = Result<"tuple[Tensor, Tensor, Tensor]">;
using Gradients = Result<"tuple[Tensor | None, ...]">;
using Int = Result<"int">;
using Bool = Result<"bool">;
using Object = Result<"Any">;

inline Nothing none() { return Ref(Py_NewRef(Py_None)); }
// The n gradients, None for those that were not made.
Gradients gradients_of(std::initializer_list<Ref*> gradients);
template <class... R>
Ref tuple_of(const R&... items) {
  return owned(PyTuple_Pack(sizeof...(R), items.get()...));
}

// ---- arguments
struct Argument {
  PyObject* object;
  const char *kernel, *name;
  const TensorInfo* first;  // of the call's tensors
};
// How an argument is read, and its type for checkers: by the type itself. False with an exception, or without: no kernel for it.
template <class T>
struct Read {
  static constexpr auto kType = T::kType;
  static bool of(const Argument& a, T& out) { return out.read(a); }
};

template <>
struct Read<TensorInfo> {
  static constexpr Text kType = "Tensor";
  static bool of(const Argument& a, TensorInfo& out) { return read_tensor(a.object, out); }
};
template <>
struct Read<double> {
  static constexpr Text kType = "float";
  static bool of(const Argument& a, double& out) { return double_argument(a.object, out); }
};
template <>
struct Read<bool> {
  static constexpr Text kType = "bool";
  static bool of(const Argument& a, bool& out) { return bool_argument(a.object, out); }
};
template <>
struct Read<Py_ssize_t> {
  static constexpr Text kType = "int";
  static bool of(const Argument& a, Py_ssize_t& out) { return index_argument(a.object, out); }
};
template <class T>
struct Read<std::optional<T>> {
  static constexpr auto kType = Read<T>::kType;
  static constexpr bool kOrNone = true;
  static bool of(const Argument& a, std::optional<T>& out) { return a.object == Py_None || Read<T>::of(a, out.emplace()); }
};

struct TensorOrNone : TensorInfo {
  static constexpr Text kType = "Tensor | None";
  bool read(const Argument& a) { return a.object == Py_None || read_tensor(a.object, *this); }
  void set(const Ref& tensor) { TensorInfo::operator=(info_of(tensor)); }
};
// A dimension of the first tensor, or of one that has kMore dimensions more.
template <int kMore = 0>
struct DimOf {
  static constexpr Text kType = "int";
  bool read(const Argument& a) { return (at = dim_argument(a.object, a.first->ndim + kMore)) >= 0; }
  operator int() const { return at; }
  int at;
};
using Dim = DimOf<>;
// Some of its dimensions, as bits: None is all, an empty tuple none.
struct Dims {
  static constexpr Text kType = "int | Sequence[int] | None";
  bool read(const Argument& a) {
    given = a.object != Py_None;
    return dims_argument(a.object, a.first->ndim, mask);
  }
  uint64_t mask;
  bool given;  // not None
};
// Ints of any values, as sizes and strides are given.
struct Sizes {
  static constexpr Text kType = "int | Sequence[int]";
  Sizes() {}  // not set
  bool read(const Argument& a) { return sizes_argument(a.kernel, a.name, a.object, at, n); }
  Py_ssize_t at[kMaxDims];
  int n;
};
// Sizes that are not negative.
struct Shape : Sizes {
  bool read(const Argument& a) { return shape_argument(a.object, at, n); }
};
// A rule's `Needs`: 0 for no gradient, else the dimensions of the tensor plus 1.
template <int kCount>
struct Needs {
  static constexpr Text kType = "tuple[int, ...]";
  bool read(const Argument& a) { return needs_argument(a.object, kCount, at); }
  int operator[](int i) const { return at[i]; }
  int at[kCount];
};
// An argument for which there is a kernel where it is None alone.
struct OnlyNone {
  static constexpr Text kType = "Any";
  bool read(const Argument& a) { return a.object == Py_None; }
};
// An object that the kernel reads itself.
template <Text kIts>
struct Given {
  static constexpr Text kType = kIts;
  bool read(const Argument& a) { return (object = a.object); }
  operator PyObject*() const { return object; }
  PyObject* object;
};
using Any = Given<"Any">;
// One of some words, by its place. There is no kernel for another.
template <Text... kWords>
struct OneOf {
  static constexpr Text kType = "str";
  bool read(const Argument& a) {
    if (!PyUnicode_Check(a.object)) return false;
    at = -1;
    int place = 0;
    ((PyUnicode_CompareWithASCIIString(a.object, kWords.chars) ? ++place : (at = place++)), ...);
    return at >= 0;
  }
  int at;
};
using IntOrInts = Given<"int | Sequence[int]">;
using SomeDims = Given<"int | Sequence[int] | None">;

// ---- a kernel's text, taken apart
template <size_t N, size_t kLength>
struct Signature {
  char text[kLength];  // with an end behind every name
  uint16_t names[N + 1], defaults[N + 1], note = 0, count = 0, least = 0;
  uint8_t values[N + 1];

  template <size_t kWord>
  consteval bool says(const char (&word)[kWord]) const {
    for (size_t i = 0; i + kWord < kLength; i++) {
      if (std::equal(text + i, text + i + kWord - 1, word)) return true;
    }
    return false;
  }

  consteval explicit Signature(const Text<kLength>& given) : text{}, names{}, defaults{}, values{} {
    std::copy_n(given.chars, kLength, text);
    size_t i = 0;
    while (text[i] != '(') i++;
    text[i++] = 0;
    while (text[i] != ')') {
      if (count == N) throw "more names than the function has parameters";
      names[count] = static_cast<uint16_t>(i);
      while (text[i] != ',' && text[i] != ')' && text[i] != '=') i++;
      if (text[i] == '=') {
        text[i++] = 0;
        defaults[count] = static_cast<uint16_t>(i);
        if (text[i] == 'T') values[count] = 1;
        for (size_t k = i; text[k] >= '0' && text[k] <= '9'; k++)
          values[count] = static_cast<uint8_t>(values[count] * 10 + text[k] - '0');
        while (text[i] != ',' && text[i] != ')') i++;
      } else if (least != count) {
        throw "a parameter that may not be left out follows one that may";
      } else {
        least++;
      }
      count++;
      const bool last = text[i] == ')';
      text[i++] = 0;
      if (last) break;
      while (text[i] == ' ') i++;
    }
    while (i < kLength - 1 && (text[i] == ' ' || text[i] == ':' || text[i] == ')' || text[i] == 0)) i++;
    note = static_cast<uint16_t>(i);
  }
};

template <class T>
constexpr bool kOrNone = requires { Read<T>::kOrNone; };
template <class R>
constexpr auto kResultType = Text("Tensor");
template <Text kType>
constexpr auto kResultType<Result<kType>> = kType;

[[gnu::cold]] Failed wrong_count(const char* kernel, Py_ssize_t given, Py_ssize_t low, Py_ssize_t high);
// NotImplemented where no exception is set.
[[gnu::cold]] PyObject* no_kernel();
// The line of a stub: `parameters` of (name, type, whether None is one more, default value).
struct Described {
  const char *name, *type;
  bool or_none;
  const char* otherwise;
};
const char* describe(const char* name, std::initializer_list<Described> parameters, const char* result, const char* note);

template <auto F, Text kText>
struct Call;
template <class R, class... P, R (*F)(P...), Text kText>
struct Call<F, kText> {
  using Values = std::tuple<std::remove_cvref_t<P>...>;
  template <size_t I>
  using Value = std::tuple_element_t<I, Values>;
  static constexpr size_t kCount = sizeof...(P);
  static constexpr Signature<kCount, sizeof(kText.chars)> kSignature{kText};
  static_assert(kSignature.count == kCount, "the function has more parameters than the text names");
  static constexpr bool kAnswers = std::is_same_v<R, Int> || std::is_same_v<R, Bool> || std::is_same_v<R, Object>;
  static constexpr Border kBorder = kSignature.says("writes") ? Border::Writes : Border::Computes;
  template <class T>
  static constexpr bool kIsTensor = std::is_base_of_v<TensorInfo, T>;
  template <class T>
  static constexpr bool kIsEarly = kIsTensor<T> || std::is_same_v<T, OnlyNone>;

  static const TensorInfo* first(const Values& values) {
    const TensorInfo* found = nullptr;
    const auto look = [&found]<class T>(const T& value) {
      if constexpr (kIsTensor<T>) found = found ? found : &value;
    };
    std::apply([&look](const auto&... each) { (look(each), ...); }, values);
    return found;
  }
  template <bool kEarly, size_t I>
  static bool read_one(PyObject* const* args, Py_ssize_t n, Values& values) {
    using T = Value<I>;
    if constexpr (kIsEarly<T> != kEarly) return true;
    PyObject* object = Py_None;
    if constexpr (kSignature.defaults[I] == 0) {
      object = args[I];
    } else if (static_cast<Py_ssize_t>(I) < n) {
      object = args[I];
    } else if constexpr (std::is_arithmetic_v<T>) {
      std::get<I>(values) = static_cast<T>(kSignature.values[I]);
      return true;
    }
    return Read<T>::of({object, kSignature.text, kSignature.text + kSignature.names[I], first(values)}, std::get<I>(values));
  }
  template <size_t... I>
  static bool read([[maybe_unused]] PyObject* const* args, [[maybe_unused]] Py_ssize_t n, Values& values,
                   std::index_sequence<I...>) {
    return (read_one<true, I>(args, n, values) && ...) && (read_one<false, I>(args, n, values) && ...);
  }
  static PyObject* call(PyObject*, PyObject* const* args, Py_ssize_t n) {
    if (n < kSignature.least || n > static_cast<Py_ssize_t>(kCount))
      return wrong_count(kSignature.text, n, kSignature.least, kCount);
    try {
      Values values;
      if (!read(args, n, values, std::make_index_sequence<kCount>())) return no_kernel();
      R result = std::apply(F, values);
      return result ? result.release() : no_kernel();
    } catch (const Raised&) {
      return nullptr;
    }
  }

  template <size_t I>
  static Described described() {
    const char* otherwise = kSignature.defaults[I] ? kSignature.text + kSignature.defaults[I] : nullptr;
    return {kSignature.text + kSignature.names[I], Read<Value<I>>::kType.chars, kOrNone<Value<I>>, otherwise};
  }
  template <size_t... I>
  static const char* row(std::index_sequence<I...>) {
    return describe(kSignature.text, {described<I>()...}, kResultType<R>.chars, kSignature.text + kSignature.note);
  }
};

// The rows of a file; make_kernels_module() puts all into the module.
struct KernelRows {
  KernelRows(std::initializer_list<PyMethodDef> given) : rows(given), next(all) {
    rows.push_back({nullptr, nullptr, 0, nullptr});
    all = this;
  }
  std::vector<PyMethodDef> rows;
  KernelRows* next;
  static inline KernelRows* all = nullptr;
};

// Arguments as over_arrays, over_devices and over_aliases have them (bindings.h).
template <class C, FastFunction F>
PyMethodDef row_of(Border border) {
  facts_of_kernel<F> = {C::kSignature.text, border, C::kSignature.says("generator"), plain_call<C::call>};
  return {C::kSignature.text, method_of<over_arrays<F>>(), METH_FASTCALL, C::row(std::make_index_sequence<C::kCount>())};
}
template <auto F, Text kText>
PyMethodDef layout_kernel(Border border = Call<F, kText>::kAnswers ? Border::Asks : Border::Looks) {
  return row_of<Call<F, kText>, Call<F, kText>::call>(border);
}
template <class C, FastFunction F>
PyMethodDef row_over_devices(Border border) {
  (there_of(method_of<over_arrays<over_devices<F>>>()) = &there_of_kernel<F>)->name = C::kSignature.text;
  return row_of<C, over_devices<F>>(C::kAnswers ? Border::Reads : border);
}
template <auto F, Text kText>
PyMethodDef kernel(Border border = Call<F, kText>::kBorder) {
  return row_over_devices<Call<F, kText>, Call<F, kText>::call>(border);
}
template <auto F, Text kText>
PyMethodDef long_kernel(Border border = Call<F, kText>::kBorder) {
  return row_over_devices<Call<F, kText>, over_aliases<Call<F, kText>::call>>(border);
}

}  // namespace rushlight
