// Note [Numbers]: what a run computes of numbers of optimizers, which a replay reads first, and of
// tensors with one element, is steps, too. A replay calls the same functions of Python, so that the
// bits are the same, and gives what they make to the steps that the run gave it to. A truth that
// Python asked of a number has to be the same again. The class of the numbers says which operations
// there are (src/rushlight/_capture/numbers.py).
#include <algorithm>
#include <cstring>
#include <unordered_map>

#include "core/program.h"
#include "core/state.h"

namespace rushlight {

bool is_inside(const Value& v, PyObject* number) {
  bool found = std::any_of(v.items.begin(), v.items.end(),
                           [number](const Value& item) { return item.object == number || is_inside(item, number); });
  const bool tuple = v.object && PyTuple_Check(v.object);
  for (Py_ssize_t i = 0; tuple && i < PyTuple_GET_SIZE(v.object); ++i) found |= PyTuple_GET_ITEM(v.object, i) == number;
  return found;
}

const char* settle_numbers(Body* body, PyTypeObject* numbers) {
  const auto is_number = [numbers](const Value& v) { return v.object && Py_TYPE(v.object) == numbers; };
  for (Step& step : body->steps) {
    if (std::any_of(step.args.begin(), step.args.end(), is_number)) step.told.clear();  // which has a copy
  }
  for (Step& made : body->steps) {
    if (made.kind != Step::Number || made.compares) continue;
    bool given = false, inside = false;
    for (const Step& step : body->steps) {
      for (const Value& v : step.args) given |= v.object == made.answer, inside |= is_inside(v, made.answer);
    }
    if (given && !inside) continue;
    if (!made.ahead) return "computes with the value of a tensor in Python";
    made.compares = true;
  }
  return nullptr;
}

void bind_numbers(Body* body) {
  std::unordered_map<PyObject*, Step*> of;
  for (Step& step : body->steps) {
    if (step.kind == Step::Number) of[step.answer] = &step;
    if (step.kind == Step::Number && step.ahead) body->ahead.push_back(&step);
  }
  for (Step& step : body->steps) {
    if (of.empty()) return;
    for (PyObject*& o : step.given) {
      if (const auto found = of.find(o); found != of.end() && !PyBool_Check(o)) found->second->places.push_back(&o);
    }
  }
}

int run_number(Step& step) {
  const Ref made(PyObject_Vectorcall(step.given[0], step.given.data() + 1, step.given.size() - 1, nullptr));
  const auto same = [&] {
    if (!PyFloat_Check(step.answer)) return made.get() == step.answer;
    const double a = PyFloat_AS_DOUBLE(made.get()), b = PyFloat_AS_DOUBLE(step.answer);
    return !std::memcmp(&a, &b, sizeof a);
  };
  if (made && (PyFloat_CheckExact(made.get()) || PyBool_Check(made.get())) && (!step.compares || same())) {
    for (PyObject** place : step.places) Py_DECREF(std::exchange(*place, Py_NewRef(made.get())));
    return 0;
  }
  if (step.ahead || step.restarts) {  // an eager call goes another way
    PyErr_Clear();
    return 1;
  }
  if (made)
    PyErr_Format(PyExc_RuntimeError, "torch.compile: a number of a captured call is a %s here:\n%s", Py_TYPE(made.get())->tp_name,
                 site_text(step.site).c_str());
  return -1;
}

}  // namespace rushlight
