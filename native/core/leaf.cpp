// The members of a tensor about its gradient: grad_fn, is_leaf, requires_grad, .grad and
// .grad_dtype, with two rules: requires_grad is set on leaves only, and a gradient fits the tensor.
#include <string>

#include "core/layout.h"
#include "core/pytorch.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

int change_requires_grad(Tensor* t, bool on, bool by_method) {
  if (t->flags & kWrapped) {
    Ref done(ask_levels(asked::set_requires_grad, as_object(t), on ? Py_True : Py_False));
    if (!done) return -1;
  }
  // By the history as it stands: that of a view is not brought up to date for this, which could fail.
  if (t->grad_fn) {
    if (on && by_method) return 0;
    if (on) {
      PyErr_SetString(PyExc_RuntimeError, "you can only change requires_grad flags of leaf variables.");
    } else {
      PyErr_SetString(PyExc_RuntimeError,
                      "you can only change requires_grad flags of leaf variables. If you want to use a computed variable in a "
                      "subgraph that doesn't require differentiation use var_no_grad = var.detach().");
    }
    return -1;
  }
  if (on && !is_differentiable(t->dtype)) {
    PyErr_Format(PyExc_RuntimeError,
                 "only Tensors of floating point %sdtype can require gradients; this one is %s. Convert it first, for example "
                 "with .float()",
                 by_method ? "" : "and complex ", c_name(t->dtype));
    return -1;
  }
  if (on && (t->flags & kInference) && !tls.inference) {
    PyErr_SetString(PyExc_RuntimeError, "Setting requires_grad=True on inference tensor outside InferenceMode is not allowed.");
    return -1;
  }
  t->flags = on ? (t->flags | kRequiresGrad) : (t->flags & ~kRequiresGrad);
  note_metadata();
  return 0;
}

// A leaf that saved-tensor hooks gave back refers to the AccumulateGrad of the leaf that was saved: it is a leaf to a program.
int visible_grad_fn(Tensor* t, Node** node) {
  if (current_grad_fn(t, node) < 0) return -1;
  if (*node && (*node)->kind == Node::Accumulate) *node = nullptr;
  return 0;
}

}  // namespace

PyObject* get_grad_fn(PyObject* self, void*) {
  if (as_tensor(self)->flags & kWrapped) return ask_levels(asked::grad_fn, self);
  Node* node;
  if (visible_grad_fn(as_tensor(self), &node) < 0) return nullptr;
  return Py_NewRef(node ? as_object(node) : Py_None);
}

PyObject* get_is_leaf(PyObject* self, void*) {
  if (as_tensor(self)->flags & kWrapped) {
    Ref node(get_grad_fn(self, nullptr));
    return node ? PyBool_FromLong(node.get() == Py_None) : nullptr;
  }
  Node* node;
  if (visible_grad_fn(as_tensor(self), &node) < 0) return nullptr;
  return PyBool_FromLong(node == nullptr);
}

PyObject* get_requires_grad(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  return PyBool_FromLong(requires_grad(t) && is_differentiable(t->dtype));
}

int set_requires_grad(PyObject* self, PyObject* value, void*) {
  if (!value || !PyBool_Check(value)) {
    PyErr_SetString(PyExc_RuntimeError, "requires_grad must be a bool");
    return -1;
  }
  return change_requires_grad(as_tensor(self), value == Py_True, false);
}

PyObject* method_requires_grad_(PyObject* self, PyObject* args, PyObject* kwargs) {
  static const char* names[] = {"requires_grad", nullptr};
  PyObject* on = Py_True;
  if (PyTuple_GET_SIZE(args) > 1) {
    PyErr_Format(PyExc_TypeError, "requires_grad_() takes from 0 to 1 positional arguments but %zd were given",
                 PyTuple_GET_SIZE(args));
    return nullptr;
  }
  if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|O:requires_grad_", const_cast<char**>(names), &on)) return nullptr;
  if (!PyBool_Check(on) && !is_numpy_bool(on)) {
    PyErr_Format(PyExc_TypeError, "requires_grad_(): argument 'requires_grad'%s must be bool, not %s",
                 PyTuple_GET_SIZE(args) ? " (position 1)" : "", Py_TYPE(on)->tp_name);
    return nullptr;
  }
  if (tls.transform) {
    Ref done(ask_levels(asked::refuse_requires_grad));
    if (!done) return nullptr;
  }
  if (change_requires_grad(as_tensor(self), PyObject_IsTrue(on), true) < 0) return nullptr;
  return Py_NewRef(self);
}

PyObject* get_grad(PyObject* self, void*) {
  Tensor* t = as_tensor(self);
  if (!t->grad && t->grad_fn && t->grad_fn.peek()->kind != Node::Accumulate && !(t->flags & kRetainsGrad)) {
    if (warn_program("The .grad attribute of a Tensor that is not a leaf Tensor is being accessed. Its .grad attribute won't be "
                     "populated during autograd.backward(). If you indeed want the .grad field to be populated for a non-leaf "
                     "Tensor, use .retain_grad() on the non-leaf Tensor. If you access the non-leaf Tensor by mistake, make sure "
                     "you access the leaf Tensor instead. See github.com/pytorch/pytorch/pull/30531 for more information.") < 0) {
      return nullptr;
    }
  }
  if (!t->grad) Py_RETURN_NONE;
  note_gradient();
  return Py_NewRef(as_object(t->grad.peek()));
}

int set_grad(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (!value || value == Py_None) {
    note_gradient();
    t->grad.clear();
    return 0;
  }
  if (!is_tensor(value)) {
    PyErr_Format(PyExc_TypeError, "assigned grad expected to be a Tensor or None but got grad of type %s",
                 class_name(value).c_str());
    return -1;
  }
  if (value == self) {
    PyErr_SetString(PyExc_RuntimeError, "can't assign Variable as its own grad");
    return -1;
  }
  Tensor* g = as_tensor(value);
  DType wanted = t->dtype;
  Ref own_dtype = t->grad_dtype.own();
  if (own_dtype && own_dtype.get() != Py_None) {
    Ref code(PyObject_GetAttrString(own_dtype.get(), "code"));
    if (!code) return -1;
    wanted = static_cast<DType>(PyLong_AsLong(code.get()));
  }
  if (g->dtype != wanted && own_dtype.get() != Py_None) {
    PyErr_Format(PyExc_RuntimeError,
                 "attempting to assign a gradient with dtype '%s' to a tensor with grad_dtype '%s'. The gradient must match the "
                 "tensor's grad_dtype (defaults to the tensor's dtype). You can set the tensor's grad_dtype attribute with a "
                 "specific dtype, or None to allow any dtype. Set grad_dtype with caution. Diverging the dtypes of a tensor and "
                 "its gradient may break downstream systems that assume they match.",
                 c_name(g->dtype), scalar_name(wanted));
    return -1;
  }
  if (g->device() != t->device()) {
    PyErr_Format(PyExc_RuntimeError,
                 "attempting to assign a gradient with device type '%s' to a tensor with device type '%s'. Please ensure that the "
                 "gradient and the tensor are on the same device",
                 device_name(g->device()), device_name(t->device()));
    return -1;
  }
  const int ndim = t->ndim();
  if (!same_shape(g, t)) {
    PyErr_Format(PyExc_RuntimeError,
                 "attempting to assign a gradient of size '%s' to a tensor of size '%s'. Please ensure that the gradient and the "
                 "tensor are the same size",
                 sizes_text(g->sizes(), g->ndim()).c_str(), sizes_text(t->sizes(), ndim).c_str());
    return -1;
  }
  note_gradient();
  t->grad.set(as_tensor(Py_NewRef(value)));
  return 0;
}

PyObject* get_grad_dtype(PyObject* self, void*) {
  Node* node;
  if (visible_grad_fn(as_tensor(self), &node) < 0) return nullptr;
  if (node) {
    PyErr_SetString(PyExc_RuntimeError, "grad_dtype can only be accessed on leaf tensors.");
    return nullptr;
  }
  Tensor* t = as_tensor(self);
  if (t->grad_dtype) return t->grad_dtype.own().release();
  return Py_XNewRef(dtype_object(t->dtype));
}

int set_grad_dtype(PyObject* self, PyObject* value, void*) {
  Tensor* t = as_tensor(self);
  if (t->grad_fn) {
    PyErr_SetString(PyExc_RuntimeError, "grad_dtype can only be set on leaf tensors.");
    return -1;
  }
  if (value && value != Py_None && Py_TYPE(value) != Py_TYPE(dtype_object(t->dtype))) {
    PyErr_Format(PyExc_RuntimeError, "grad_dtype must be a torch.dtype or None, but got %s", Py_TYPE(value)->tp_name);
    return -1;
  }
  if (value && value != Py_None && t->grad) {
    const DType have = t->grad.peek()->dtype;
    if (dtype_object(have) != value) {
      Ref code(PyObject_GetAttrString(value, "code"));
      if (!code) return -1;
      PyErr_Format(PyExc_RuntimeError,
                   "Cannot set grad_dtype to '%s' because there is already a gradient with dtype '%s'. Please clear the gradient "
                   "(.grad = None) before changing grad_dtype, or ensure the new grad_dtype matches the existing gradient's "
                   "dtype.",
                   scalar_name(static_cast<DType>(PyLong_AsLong(code.get()))), c_name(have));
      return -1;
    }
  }
  t->grad_dtype.set(Py_XNewRef(value));
  return 0;
}

}  // namespace rushlight
