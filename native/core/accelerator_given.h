// The arguments of a kernel, as Python gives them.
#pragma once
#include <utility>
#include <vector>

#include "core/accelerator.h"
#include "core/tensor.h"

namespace rushlight {

// A tensor is its memory and its place in bytes; an int 64 bits; None no memory; anything else its
// bytes.
struct Given {
  std::vector<devices::Argument> arguments;
  std::vector<int64_t> numbers;
  std::vector<Ref> views;

  void number(int64_t value) {
    numbers.push_back(value);
    arguments.push_back({sizeof(int64_t), &numbers.back()});
  }

  // False with an exception.
  bool read(PyObject* tuple) {
    const Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    arguments.reserve(static_cast<size_t>(2 * n + 1));
    numbers.reserve(static_cast<size_t>(n));
    for (Py_ssize_t i = 0; i < n; ++i) {
      if (!add(PyTuple_GET_ITEM(tuple, i))) return false;
    }
    return true;
  }

  bool add(PyObject* o) {
    if (is_tensor(o)) {
      const Tensor* t = as_tensor(o);
      if (!(t->flags & kAccelerator)) {
        PyErr_SetString(PyExc_TypeError, "launch(): a tensor is not on an accelerator");
        return false;
      }
      const devices::Block* block = block_of(t->storage());
      arguments.push_back({sizeof(void*), block->memory ? &block->memory : nullptr});
      number(t->offset());
    } else if (PyLong_Check(o)) {
      const int64_t value = PyLong_AsLongLong(o);
      if (value == -1 && PyErr_Occurred()) return false;
      number(value);
    } else if (PyBytes_CheckExact(o)) {
      arguments.push_back({static_cast<size_t>(PyBytes_GET_SIZE(o)), PyBytes_AS_STRING(o)});
    } else if (o == Py_None) {
      arguments.push_back({sizeof(void*), nullptr});
      number(0);
    } else {
      Ref view(PyMemoryView_FromObject(o));
      if (!view) return false;
      const Py_buffer* bytes = PyMemoryView_GET_BUFFER(view.get());
      arguments.push_back({static_cast<size_t>(bytes->len), bytes->buf});
      views.push_back(std::move(view));
    }
    return true;
  }
};

}  // namespace rushlight
