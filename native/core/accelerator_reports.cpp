// Numbers that a kernel cannot use, such as an index beyond the end. Raising at once would make every such call wait for the device, so
// kernels report into a little memory there, and the host looks at it when it waits for the device anyway.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <string>
#include <utility>

#include "core/accelerator.h"
#include "core/accelerator_repeats.h"
#include "core/guard.h"
#include "core/layout.h"
#include "core/tensor.h"

namespace rushlight {

namespace {

constexpr int kCalls = 1 << 10;  // of which the place is known

struct Call {
  int64_t number = 0;
  std::string op, what;
  Site site{nullptr, 0};
};

// The report is four numbers of 64 bits. The first says whether there is a report; the others are of the first report: the number of
// the call, the index or value that the kernel was given, and the end of the range that it can use.
struct Reports {
  std::mutex lock;  // not held while Python runs
  Tensor* memory = nullptr;
  int64_t calls = 0;
  Call made[kCalls];
  std::atomic<bool> to_look_at{false};
};

// Never destroyed, as the devices' memory is not.
Reports& reports_of(DeviceType device) {
  static Reports* const all = new Reports[kMostAccelerators];
  return all[accelerator_number(device)];
}

Tensor* four_zeros(DeviceType device) {
  const Py_ssize_t size = 4;
  const Owned<Tensor> zeros(new_zeros(DType::I64, 1, &size));
  return zeros ? copy_to(zeros.get(), device) : nullptr;
}

}  // namespace

bool prepare_reports(DeviceType device) {
  Reports& r = reports_of(device);
  if (r.memory) return true;
  Owned<Tensor> made(four_zeros(device));
  if (!made) return false;
  const std::lock_guard<std::mutex> guard(r.lock);
  if (!r.memory) r.memory = made.release();
  return true;
}

void expect_reports(DeviceType device) { reports_of(device).to_look_at.store(true); }

void raise_broken(const char* said) {
  PyObject* type = callbacks.AcceleratorError.get();
  if (!type) return;
  const std::string op = asked_of_device(), place = site_text(program_site());
  PyErr_Format(type, "%s%s%s%s%s%s", said, op.empty() ? "" : "\nThe last call that this thread asked the device for was ",
               op.c_str(), op.empty() ? "" : "().",
               place.empty() ? "" : " The error was told here, and is of this call or of one before:\n", place.c_str());
}

int check_reports(DeviceType device) try {
  Reports& r = reports_of(device);
  if (!r.to_look_at.load(std::memory_order_relaxed) || !r.to_look_at.exchange(false)) return 0;
  const devices::Block block = *block_of(r.memory->storage());
  int64_t found[4];
  {
    const ReleaseGil release(true);
    devices::read(block, 0, found, sizeof found);
    if (!found[0]) return 0;
    const int64_t none[4] = {};
    devices::write(block, 0, none, sizeof none);
  }
  std::string op = "A call", what = "number", place;
  Ref code;
  Site site{nullptr, 0};
  {
    const std::lock_guard<std::mutex> guard(r.lock);
    const Call& call = r.made[found[1] % kCalls];
    if (call.number == found[1]) {
      op = call.op + "()";
      what = call.what;
      site = call.site;
      code = Ref::borrow(reinterpret_cast<PyObject*>(site.code));
    }
  }
  if (site.code) place = site_text(site);
  PyObject* type = callbacks.AcceleratorError.get();
  if (!type) return -1;
  PyErr_Format(type,
               "%s error: device-side assert triggered. %s was given the %s %lld, which is out of bounds for a size of %lld%s%s%s",
               devices::title(accelerator_number(device)).c_str(), op.c_str(), what.c_str(), static_cast<long long>(found[2]),
               static_cast<long long>(found[3]), place.empty() ? "." : ":\n", place.c_str(),
               "\nThe device goes on: it left such numbers out. The host learns of them when it next waits for the device.");
  return -1;
} catch (...) {  // callers expect an exception of Python's
  raise_caught();
  return -1;
}

bool begin_report(DeviceType device, const std::string& what, const Tensor** memory, int64_t* number) {
  if (!prepare_reports(device)) return false;
  Reports& r = reports_of(device);
  std::string op = asked_of_device();
  if (op[0] == '_') op.erase(0, 1);
  const std::string end = op.size() > 4 ? op.substr(op.size() - 4) : "";
  if (end == "_get" || end == "_set") op.resize(op.size() - 4);  // kernels of index() and scatter()
  Site site = program_site();
  Ref kept = Ref::borrow(reinterpret_cast<PyObject*>(site.code)), before;
  {
    const std::lock_guard<std::mutex> guard(r.lock);
    *number = ++r.calls;
    Call& slot = r.made[*number % kCalls];
    slot.number = *number;
    slot.op = std::move(op);
    slot.what = what;
    before = Ref(reinterpret_cast<PyObject*>(slot.site.code));
    slot.site = site;
    kept.release();
  }
  r.to_look_at.store(true);
  *memory = r.memory;
  return true;
}

namespace {

// accelerator_report(device, what): the memory of the reports and the number of the call, for a kernel that reports `what`.
PyObject* report(PyObject*, PyObject* args) {
  int number;
  const char* what;
  if (!PyArg_ParseTuple(args, "is", &number, &what)) return nullptr;
  if (!devices::facts_of(number)) {
    PyErr_SetString(PyExc_ValueError, "accelerator_report(): no such device");
    return nullptr;
  }
  const Tensor* memory;
  int64_t call;
  if (!begin_report(accelerator_at(number), what, &memory, &call)) return nullptr;
  repeats::note_report(memory, what);
  return Py_BuildValue("OL", memory, static_cast<long long>(call));
}

}  // namespace

PyMethodDef kAcceleratorReportFunctions[] = {
    {"accelerator_report", method_of<report>(), METH_VARARGS, "What a kernel needs to report a number that it cannot use."},
    {nullptr, nullptr, 0, nullptr}};

}  // namespace rushlight
