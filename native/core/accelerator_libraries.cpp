// For Python: products and convolutions by NVIDIA's libraries (native/devices/libraries.h).
#include <climits>
#include <string>
#include <vector>

#include "core/accelerator.h"
#include "core/accelerator_repeats.h"
#include "core/guard.h"
#include "core/tensor.h"
#include "devices/libraries.h"

namespace rushlight {

namespace {

// Where a tensor's first element is; nullptr with an exception for one on no accelerator, or
// without memory.
char* first_of(PyObject* o) {
  const Tensor* t = is_tensor(o) ? as_tensor(o) : nullptr;
  const devices::Block* block = t && t->flags & kAccelerator ? block_of(t->storage()) : nullptr;
  if (block && block->memory) return static_cast<char*>(block->memory) + t->offset();
  PyErr_SetString(PyExc_TypeError, "a tensor with elements on an accelerator is needed");
  return nullptr;
}

// accelerator_library(device, name, path): opens cublas or cudnn; RuntimeError tells why not.
PyObject* open_library_there(PyObject*, PyObject* args) {
  int device;
  const char *name, *path;
  if (!PyArg_ParseTuple(args, "iss", &device, &name, &path)) return nullptr;
  {
    const ReleaseGil release(true);
    (std::string(name) == "cudnn" ? devices::open_cudnn : devices::open_cublas)(device, path);
  }
  Py_RETURN_NONE;
}

// The result of a function that gets `args`: why a library did not compute the call, or "". before:
// devices::queued() before the call.
PyObject* found(const std::string& why, PyCFunction function, PyObject* args, uint64_t before) {
  if (why.empty()) repeats::note_call(function, args, devices::queued() - before);
  else repeats::note_unlike();
  return PyUnicode_FromStringAndSize(why.data(), static_cast<Py_ssize_t>(why.size()));
}

// accelerator_multiply(a, b, out, (rows, columns, depth, stacks), thrice (turned, line, stack),
// alpha, beta, tf32, reduced): "", or why cuBLAS did not.
PyObject* multiply(PyObject*, PyObject* args) {
  PyObject* o[3];
  long long rows, columns, depth, stacks, lines[3], steps[3];
  int turned[3], tf32, reduced;
  double alpha, beta;
  if (!PyArg_ParseTuple(args, "OOO(LLLL)(pLL)(pLL)(pLL)ddpp", &o[0], &o[1], &o[2], &rows, &columns, &depth, &stacks, &turned[0],
                        &lines[0], &steps[0], &turned[1], &lines[1], &steps[1], &turned[2], &lines[2], &steps[2], &alpha, &beta,
                        &tf32, &reduced))
    return nullptr;
  const auto of = [&](int i) { return devices::Matrices{first_of(o[i]), turned[i] != 0, lines[i], steps[i]}; };
  const devices::Matrices a = of(0), b = of(1), out = of(2);
  if (PyErr_Occurred()) return nullptr;
  const Tensor* like = as_tensor(o[2]);
  const uint64_t before = devices::queued();
  return found(devices::multiply(accelerator_number(like->device()),
                                 {like->dtype, rows, columns, depth, stacks, a, b, out, alpha, beta, tf32 != 0, reduced != 0}),
               multiply, args, before);
}

// The numbers of a tuple; fewer with an exception.
std::vector<int> numbers_of(PyObject* tuple) {
  std::vector<int> found;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(tuple); ++i) {
    const long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
    if (number < INT_MIN || number > INT_MAX) PyErr_SetString(PyExc_OverflowError, "a size of more than 31 bits");
    if (PyErr_Occurred()) break;
    found.push_back(static_cast<int>(number));
  }
  return found;
}

// accelerator_convolve(wanted, x, w, y, sizes of each, padding, stride, dilation, groups, tf32,
// deterministic): "", or why cuDNN did not.
PyObject* convolve(PyObject*, PyObject* args) {
  PyObject *o[3], *sizes[6];
  int wanted, groups, tf32, deterministic;
  if (!PyArg_ParseTuple(args, "iOOOO!O!O!O!O!O!ipp", &wanted, &o[0], &o[1], &o[2], &PyTuple_Type, &sizes[0], &PyTuple_Type,
                        &sizes[1], &PyTuple_Type, &sizes[2], &PyTuple_Type, &sizes[3], &PyTuple_Type, &sizes[4], &PyTuple_Type,
                        &sizes[5], &groups, &tf32, &deterministic))
    return nullptr;
  devices::Convolution c{static_cast<devices::Wanted>(wanted), DType::F32, first_of(o[0]), first_of(o[1]), first_of(o[2])};
  std::vector<int>* const places[] = {&c.x_sizes, &c.w_sizes, &c.y_sizes, &c.padding, &c.stride, &c.dilation};
  for (int i = 0; i < 6 && !PyErr_Occurred(); ++i) *places[i] = numbers_of(sizes[i]);
  if (PyErr_Occurred()) return nullptr;
  const Tensor* like = as_tensor(o[0]);
  const uint64_t before = devices::queued();
  c.dtype = like->dtype, c.groups = groups, c.tf32 = tf32 != 0, c.deterministic = deterministic != 0;
  return found(devices::convolve(accelerator_number(like->device()), c), convolve, args, before);
}

}  // namespace

PyMethodDef kAcceleratorLibraryFunctions[] = {
    {"accelerator_library", method_of<open_library_there>(), METH_VARARGS, "Opens cublas or cudnn for a device."},
    {"accelerator_multiply", method_of<multiply>(), METH_VARARGS, "Products by cuBLAS; why not, or an empty text."},
    {"accelerator_convolve", method_of<convolve>(), METH_VARARGS, "A convolution by cuDNN; why not, or an empty text."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
