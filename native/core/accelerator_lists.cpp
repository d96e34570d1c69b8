// Kernels that compute all tensors of lists in one launch, on devices where memory has addresses.
#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "core/accelerator.h"
#include "core/accelerator_given.h"
#include "core/accelerator_repeats.h"
#include "core/guard.h"
#include "core/layout.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

// Lists of tensors, each of the length of the first.
class Lists {
 public:
  // False with an exception.
  bool read(PyObject* tuple) {
    if (!PyTuple_Check(tuple) || !PyTuple_GET_SIZE(tuple)) return refuse();
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(tuple); ++k) {
      PyObject* list = PyTuple_GET_ITEM(tuple, k);
      if (!PyList_Check(list) && !PyTuple_Check(list)) return refuse();
      if (k && PySequence_Fast_GET_SIZE(list) != places()) return refuse();
      lists_.push_back(list);
    }
    for (PyObject* list : lists_) {
      if (!std::all_of(PySequence_Fast_ITEMS(list), PySequence_Fast_ITEMS(list) + places(), is_tensor)) return refuse();
    }
    return true;
  }
  Py_ssize_t places() const { return PySequence_Fast_GET_SIZE(lists_[0]); }
  size_t count() const { return lists_.size(); }
  const Tensor* at(size_t list, Py_ssize_t place) const { return as_tensor(PySequence_Fast_GET_ITEM(lists_[list], place)); }

 private:
  static bool refuse() {
    PyErr_SetString(PyExc_TypeError, "a tuple of lists of tensors, all of one length");
    return false;
  }
  std::vector<PyObject*> lists_;
};

// Whether tensors of the first list reach into each other's memory.
bool overlap(const Lists& lists) {
  struct Extent {
    const Storage* storage;
    const char *low, *high;
    bool operator<(const Extent& o) const { return storage != o.storage ? std::less<>()(storage, o.storage) : low < o.low; }
  };
  std::vector<Extent> extents;
  for (Py_ssize_t i = 0; i < lists.places(); ++i) {
    Extent e{lists.at(0, i)->storage(), nullptr, nullptr};
    extent(lists.at(0, i), &e.low, &e.high);
    if (e.low < e.high) extents.push_back(e);
  }
  std::sort(extents.begin(), extents.end());
  for (size_t i = 1; i < extents.size(); ++i) {
    if (extents[i].storage == extents[i - 1].storage && extents[i].low < extents[i - 1].high) return true;
  }
  return false;
}

// accelerator_alike(lists): whether the lists have one element type and one accelerator, equal
// layouts without gaps at each place, and no memory that two tensors of the first list share.
PyObject* alike(PyObject*, PyObject* tuple) {
  Lists lists;
  if (!lists.read(tuple)) return nullptr;
  if (!lists.places()) Py_RETURN_FALSE;
  const Tensor* one = lists.at(0, 0);
  for (size_t k = 0; k < lists.count(); ++k) {
    for (Py_ssize_t i = 0; i < lists.places(); ++i) {
      const Tensor *t = lists.at(k, i), *first = lists.at(0, i);
      if (!(t->flags & kAccelerator) || (t->flags & (kWrapped | kLazy)) || t->dtype != one->dtype || t->device() != one->device() ||
          !same_shape(t, first) || !is_dense(t) || !lie_alike(t, first))
        Py_RETURN_FALSE;
    }
  }
  return PyBool_FromLong(!overlap(lists));
}

PyObject* overlapping(PyObject*, PyObject* list) {
  Lists lists;
  const Ref tuple(PyTuple_Pack(1, list));
  return tuple && lists.read(tuple.get()) ? PyBool_FromLong(overlap(lists)) : nullptr;
}

// accelerator_launch_lists(kernel, group, chunk, lists, arguments): groups of `group` work items do
// `chunk` elements each of what is at one place of the lists; the first argument of the kernel is a
// table. One launch has as many places as a table takes. How many groups there were.
PyObject* launch_lists(PyObject*, PyObject* args) {
  int kernel;
  Py_ssize_t group, chunk;
  PyObject *tuple, *arguments;
  if (!PyArg_ParseTuple(args, "innO!O!", &kernel, &group, &chunk, &PyTuple_Type, &tuple, &PyTuple_Type, &arguments)) return nullptr;
  Lists lists;
  if (!lists.read(tuple)) return nullptr;
  const Py_ssize_t width = 2 + static_cast<Py_ssize_t>(lists.count());
  const uint64_t before = devices::queued();
  int64_t groups = 0;  // of the next launch
  shared::Table table{};
  table.lists = width - 2;
  Given given;
  given.arguments.push_back({sizeof table, &table});
  if (!given.read(arguments)) return nullptr;
  const auto start = [&] {
    devices::launch(kernel, static_cast<size_t>(groups * group), static_cast<size_t>(group), given.arguments);
    table.before += groups;
    table.places = groups = 0;
  };
  for (Py_ssize_t i = 0; i < lists.places(); ++i) {
    const int64_t count = lists.at(0, i)->numel();
    if (!count) continue;
    if ((table.places + 1) * width > shared::TABLE) start();
    int64_t* words = table.words + table.places++ * width;
    words[0] = groups;
    words[1] = count;
    for (size_t k = 0; k < lists.count(); ++k) {
      const Tensor* t = lists.at(k, i);
      if (!(t->flags & kAccelerator)) return PyErr_Format(PyExc_TypeError, "launch(): a tensor is not on an accelerator");
      words[2 + k] = static_cast<int64_t>(reinterpret_cast<intptr_t>(block_of(t->storage())->memory)) + t->offset();
    }
    groups += (count + chunk - 1) / chunk;
  }
  if (table.places) start();
  repeats::note_call(launch_lists, args, devices::queued() - before);
  return PyLong_FromLongLong(table.before);
}

// counted(tensors): adds one to each tensor; the new numbers. None, and nothing is changed, unless
// all are one float on the host.
PyObject* counted(PyObject*, PyObject* list) {
  Lists lists;
  const Ref tuple(PyTuple_Pack(1, list));
  if (!tuple || !lists.read(tuple.get())) return nullptr;
  for (Py_ssize_t i = 0; i < lists.places(); ++i) {
    const Tensor* t = lists.at(0, i);
    if (t->numel() != 1 || t->flags & kNotPlain || !t->is_writeable() || !(t->dtype == DType::F64 || t->dtype == DType::F32))
      Py_RETURN_NONE;
  }
  Ref made(PyTuple_New(lists.places()));
  for (Py_ssize_t i = 0; made && i < lists.places(); ++i) {
    const Tensor* t = lists.at(0, i);
    void* memory = t->data();
    const double count = t->dtype == DType::F64 ? *static_cast<double*>(memory) += 1 : *static_cast<float*>(memory) += 1;
    PyObject* number = PyFloat_FromDouble(count);
    if (!number) return nullptr;
    PyTuple_SET_ITEM(made.get(), i, number);
  }
  return made.release();
}

}  // namespace

PyMethodDef kAcceleratorListFunctions[] = {
    {"accelerator_alike", method_of<alike>(), METH_O, "Whether one launch may compute all tensors of lists."},
    {"accelerator_overlap", method_of<overlapping>(), METH_O, "Whether tensors of a list reach into each other's memory."},
    {"accelerator_launch_lists", method_of<launch_lists>(), METH_VARARGS, "Queues a kernel of a table of tensors."},
    {"accelerator_counted", method_of<counted>(), METH_O, "Counts steps, of which each has a number on the host."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
