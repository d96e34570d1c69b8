// Lazy conjugates and negatives. `conj()` of a complex tensor is a view with the bit kConjBit: the
// values are the conjugates of the memory's; kNegBit is the same for the negative, which
// `conj().imag` needs. Views take such bits over. Code that reads or writes a tensor's array asks
// here, off the plain path (see kNotPlain). docs/design/0012 has the whole of it.
#pragma once
#include "core/core.h"

namespace rushlight {

// An array of a tensor's values: its own array, or a new one for a lazy tensor. A new reference; nullptr with an exception.
Tensor* values_of(Tensor* t);
// Writes memory such that a tensor shows the values.
int put_values(Tensor* t, Tensor* values);
// The tensor itself, or the values of a lazy tensor. Takes over `o`; other objects stay.
PyObject* plain_tensor(PyObject* o);
// A view of `t` with those bits changed over (real numbers have no conjugates). Takes over `t`; recorded as any view.
PyObject* changed_over(PyObject* t, uint32_t bits);

// The arguments of a call for code that reads arrays: plain tensors in the place of lazy tensors.
class PlainSlots {
 public:
  PyObject** of(Op* op, PyObject* const* slots);  // nullptr with an exception

 private:
  PyObject* slots_[kMaxParams];
  Held<kMaxParams> held_;
};

}  // namespace rushlight
