// Tensors on an accelerator: their memory, copies, and calls that are computed there or by way of the host.
//
// Storage::data of an accelerator is no address but a number, from which the tensors of one storage count: overlaps are seen as on
// the CPU. No processor accepts the number: code that takes it for an address stops there. `block_of` finds the memory.
#pragma once
#include <atomic>

#include "core/core.h"
#include "devices/device.h"

namespace rushlight {

devices::Block* block_of(const Storage* s);
// Whether elements of a type may be there: no float64 where the device has none. False with an exception.
bool has_type(DeviceType device, DType dtype);
// Memory for a storage of so many bytes. False with torch's exception.
bool take_block(Storage* s, size_t nbytes);
void give_block(Storage* s);
bool resize_block(Storage* s, size_t nbytes);  // with the bytes that both have

// Copies the values of one tensor to another, one of them on an accelerator; `from` has the shape of `to` or is spread to it. -1 with an
// exception.
int copy_across(Tensor* to, const Tensor* from);
// A dense copy on a device, without history; bits of kLazy are not applied. nullptr with an exception.
Tensor* copy_to(const Tensor* t, DeviceType device);

// Counts a call that goes by way of the host. -1 with an exception where such calls are refused.
int count_fallback(const char* name, DeviceType device);

// Runs a pointwise program there, or by way of the host. -1 with an exception.
int run_program_there(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out);
int run_program_by_host(const Program& program, DType compute, PyObject* const* operands, int n, Tensor* out);

// The result of the device's kernels for a call, or for a call that writes, or NotImplemented.
PyObject* by_device(const There& there, PyObject* const* args, Py_ssize_t n, bool writes = false);
std::string asked_of_device();  // the name of the op or kernel that this thread asked for last
bool has_kernels_there(PyObject* kernel);  // whether a kernel of the CPU has any on accelerators
There*& there_of(PyCFunction method);  // of a kernel of the CPU, by what Python calls, or nullptr

// Raises that the device itself met an error, with the call that asked the device last. CUDA tells
// at some later call.
void raise_broken(const char* said);

// The memory of reports, and the number of the call that begins, for a kernel that reports numbers
// of a kind ("index"). False with an exception.
bool begin_report(DeviceType device, const std::string& what, const Tensor** memory, int64_t* call);
// Raises what kernels reported of numbers that they could not use: after a wait for the device. -1 with an exception.
int check_reports(DeviceType device);
// Makes the memory for them. False with an exception.
bool prepare_reports(DeviceType device);
// Work that was captured may report, too: the next wait looks.
void expect_reports(DeviceType device);

// A call with tensors on an accelerator: by a kernel of the device, or by way of the host. `function` computes the call on the CPU;
// a function that is no kernel gets ndarrays. A new reference, nullptr with an exception.
PyObject* on_accelerator(Op* op, PyObject* function, PyObject* const* args, Py_ssize_t n, bool first_shared);
using HostFunction = PyObject* (*)(PyObject* self, PyObject* const* args, Py_ssize_t n);
PyObject* kernel_on_accelerator(const There& there, HostFunction function, PyObject* self, PyObject* const* args, Py_ssize_t n);
// Whether a library of accelerators was opened: before that no tensor is on one, and calls do not look.
extern std::atomic<bool> accelerators_opened;
// Whether an argument, or an item of a list, is a tensor on an accelerator.
bool find_accelerated(PyObject* const* args, Py_ssize_t n);
inline bool has_accelerated(PyObject* const* args, Py_ssize_t n) {
  return accelerators_opened.load(std::memory_order_relaxed) && find_accelerated(args, n);
}

namespace shared {
using i64 = int64_t;
#include "core/accelerator_call.h"
}  // namespace shared

extern PyMethodDef kAcceleratorFunctions[];
extern PyMethodDef kAcceleratorLaunchFunctions[];
extern PyMethodDef kAcceleratorListFunctions[];
extern PyMethodDef kAcceleratorProgramFunctions[];
extern PyMethodDef kAcceleratorReportFunctions[];
extern PyMethodDef kAcceleratorLibraryFunctions[];
extern PyMethodDef kAcceleratorEventFunctions[];

}  // namespace rushlight
