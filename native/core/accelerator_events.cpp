// Marks in a device's queue, and captured graphs, for Python: capsules that drop what they hold.
#include <atomic>
#include <utility>

#include "core/accelerator.h"
#include "core/guard.h"

namespace rushlight {

namespace {

struct Event {
  static constexpr const char* kName = "rushlight.event";
  int device;
  void* handle;
  void drop() const { devices::driver_of(device).drop_event(handle); }
};

struct Graph {
  static constexpr const char* kName = "rushlight.graph";
  int device, number;
  void drop() const { devices::drop_graph(number); }
};

// One graph at a time is captured: the number of its device, or -1.
std::atomic<int> capturing{-1};

template <class Held>
void drop(const Held* held) {
  try {
    held->drop();
  } catch (const devices::Failure&) {  // drivers that failed, or are forked
  }
  delete held;
}

template <class Held>
PyObject* capsule_of(const Held& made) {
  Held* held = new Held(made);
  PyObject* capsule = PyCapsule_New(
      held, Held::kName, [](PyObject* dropped) { drop(static_cast<Held*>(PyCapsule_GetPointer(dropped, Held::kName))); });
  if (!capsule) drop(held);
  return capsule;
}

template <class Held>
Held* held_by(PyObject* capsule) {
  return static_cast<Held*>(PyCapsule_GetPointer(capsule, Held::kName));
}

int device_of(PyObject* number) {
  const int device = static_cast<int>(PyLong_AsLong(number));
  if (PyErr_Occurred()) return -1;
  if (devices::facts_of(device)) return device;
  PyErr_SetString(PyExc_ValueError, "no such device");
  return -1;
}

// ---------------------------------------------------------------- events

// accelerator_event(device, timed): an event that nobody recorded.
PyObject* new_event(PyObject*, PyObject* args) {
  PyObject* number;
  int timed;
  if (!PyArg_ParseTuple(args, "Op", &number, &timed)) return nullptr;
  const int device = device_of(number);
  if (device < 0) return nullptr;
  void* handle = devices::driver_of(device).new_event(timed != 0);
  return capsule_of(Event{device, handle});
}

PyObject* record_event(PyObject*, PyObject* capsule) {
  const Event* event = held_by<Event>(capsule);
  if (!event) return nullptr;
  devices::driver_of(event->device).record(event->handle);
  Py_RETURN_NONE;
}

PyObject* is_done(PyObject*, PyObject* capsule) {
  const Event* event = held_by<Event>(capsule);
  return event ? PyBool_FromLong(devices::driver_of(event->device).is_done(event->handle)) : nullptr;
}

PyObject* wait_for(PyObject*, PyObject* capsule) {
  const Event* event = held_by<Event>(capsule);
  if (!event) return nullptr;
  {
    const ReleaseGil release(true);
    devices::driver_of(event->device).wait_for(event->handle);
  }
  return check_reports(accelerator_at(event->device)) < 0 ? nullptr : Py_NewRef(Py_None);
}

PyObject* is_idle(PyObject*, PyObject* number) {
  const int device = device_of(number);
  return device < 0 ? nullptr : PyBool_FromLong(devices::driver_of(device).is_idle());
}

PyObject* milliseconds(PyObject*, PyObject* args) {
  PyObject *first, *last;
  if (!PyArg_ParseTuple(args, "OO", &first, &last)) return nullptr;
  const Event *from = held_by<Event>(first), *to = from ? held_by<Event>(last) : nullptr;
  if (!to) return nullptr;
  return PyFloat_FromDouble(devices::driver_of(from->device).milliseconds(from->handle, to->handle));
}

PyObject* address_of(PyObject*, PyObject* capsule) {
  const Event* event = held_by<Event>(capsule);
  return event ? PyLong_FromVoidPtr(event->handle) : nullptr;
}

// ---------------------------------------------------------------- graphs

PyObject* begin_capture(PyObject*, PyObject* number) {
  const int device = device_of(number);
  if (device < 0 || !prepare_reports(accelerator_at(device))) return nullptr;
  int none = -1;
  if (!capturing.compare_exchange_strong(none, device)) {
    PyErr_SetString(PyExc_RuntimeError, "CUDA error: another graph is being captured; there is one at a time");
    return nullptr;
  }
  try {
    devices::begin_capture(device);
  } catch (...) {
    capturing.store(-1);
    throw;
  }
  Py_RETURN_NONE;
}

PyObject* end_capture(PyObject*, PyObject*) {
  const int device = capturing.exchange(-1);
  if (device < 0) {
    PyErr_SetString(PyExc_RuntimeError, "CUDA error: no graph is being captured");
    return nullptr;
  }
  const int number = devices::end_capture(device);
  return capsule_of(Graph{device, number});
}

PyObject* is_capturing(PyObject*, PyObject* number) {
  const long device = PyLong_AsLong(number);
  if (PyErr_Occurred()) return nullptr;
  const int now = capturing.load(std::memory_order_relaxed);
  return PyBool_FromLong(device < 0 ? now >= 0 : now == device);
}

PyObject* replay(PyObject*, PyObject* capsule) {
  const Graph* graph = held_by<Graph>(capsule);
  if (!graph) return nullptr;
  devices::replay(graph->number);
  expect_reports(accelerator_at(graph->device));
  Py_RETURN_NONE;
}

// ---------------------------------------------------------------- facts, one at a time

PyObject* free_memory(PyObject*, PyObject* number) {
  const int device = device_of(number);
  return device < 0 ? nullptr : PyLong_FromUnsignedLongLong(devices::free_memory(device));
}

PyObject* attribute(PyObject*, PyObject* args) {
  PyObject* number;
  int which;
  if (!PyArg_ParseTuple(args, "Oi", &number, &which)) return nullptr;
  const int device = device_of(number);
  return device < 0 ? nullptr : PyLong_FromLong(devices::driver_of(device).attribute(which));
}

}  // namespace

PyMethodDef kAcceleratorEventFunctions[] = {
    {"accelerator_event", method_of<new_event>(), METH_VARARGS, "A mark for a device's queue, that measures time where asked."},
    {"accelerator_event_record", method_of<record_event>(), METH_O, "Puts the mark behind all that the queue has."},
    {"accelerator_event_is_done", method_of<is_done>(), METH_O, "Whether the device has come to the mark."},
    {"accelerator_event_wait", method_of<wait_for>(), METH_O, "Waits until the device has come to the mark."},
    {"accelerator_event_milliseconds", method_of<milliseconds>(), METH_VARARGS, "From one mark to another, which are done."},
    {"accelerator_event_address", method_of<address_of>(), METH_O, "The driver's handle."},
    {"accelerator_is_idle", method_of<is_idle>(), METH_O, "Whether a device has done all."},
    {"accelerator_begin_capture", method_of<begin_capture>(), METH_O, "What a device is given is kept from now on, not done."},
    {"accelerator_end_capture", method_of<end_capture>(), METH_NOARGS, "A graph of what was kept."},
    {"accelerator_is_capturing", method_of<is_capturing>(), METH_O, "Whether this device, or with -1 any, is being captured."},
    {"accelerator_replay", method_of<replay>(), METH_O, "Gives the device all that a graph has."},
    {"accelerator_free_memory", method_of<free_memory>(), METH_O, "Bytes that no process has, as far as is known."},
    {"accelerator_attribute", method_of<attribute>(), METH_VARARGS, "A number of the driver's about a device."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
