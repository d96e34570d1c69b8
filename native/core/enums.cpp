// The numbers that both sides speak of, as Python sees them: one class an enum, `rushlight._core.Flag.REQUIRES_GRAD`. The numbers
// themselves stand with their enums, and nowhere in Python. Plain ints: an IntFlag's operators run Python code.
#include <iterator>

#include "core/op.h"
#include "core/override.h"

namespace rushlight {

namespace {

struct Number {
  const char* name;
  long value;
  template <typename E>
  constexpr Number(const char* n, E e) : name(n), value(static_cast<long>(e)) {}
};

constexpr Number kFlags[] = {
    {"REQUIRES_GRAD", kRequiresGrad},
    {"RETAINS_GRAD", kRetainsGrad},
    {"INFERENCE", kInference},
    {"NO_GRAD_VIEW", kNoGradView},
    {"MULTI_VIEW", kMultiView},
    {"FUNCTION_VIEW", kFunctionView},
    {"CONJ", kConjBit},
    {"INFERENCE_VIEW", kInferenceView},
    {"SPECIAL_VIEW", kSpecialView},
    {"NEG", kNegBit},
    {"LAZY", kLazy},
    {"TANGENT", kTangent},
    {"TRANSFORMED", kTransformed},
    {"WRAPPED", kWrapped},
    {"CUT", kCut},
};
constexpr Number kCuts[] = {
    {"NONE", Cut::None},           {"DETACHED", Cut::Detached},          {"NO_GRAD", Cut::NoGrad},
    {"INFERENCE", Cut::Inference}, {"NO_DERIVATIVE", Cut::NoDerivative}, {"FROM_DATA", Cut::FromData},
};
constexpr Number kOpKinds[] = {
    {"POINTWISE", Op::Pointwise}, {"LINEAR", Op::Linear},       {"BILINEAR", Op::Bilinear},
    {"GENERAL", Op::General},     {"COMPOSITE", Op::Composite}, {"CONSTANT", Op::Constant},
};
constexpr Number kParamKinds[] = {
    {"TENSOR", Param::TensorArg}, {"OPERAND", Param::Operand}, {"OPTIONAL", Param::OptionalTensor}, {"TENSORS", Param::TensorList},
    {"PLAIN", Param::Plain},      {"VARARGS", Param::VarArgs}, {"NUMBER", Param::Number},
};
constexpr Number kSources[] = {
    {"ARG", Source::Arg},   {"ARG_SHAPE", Source::ArgShape}, {"ARG_DTYPE", Source::ArgDtype}, {"OUT", Source::Out},
    {"GRAD", Source::Grad}, {"GRADS", Source::Grads},        {"NEEDS", Source::Needs},
};
constexpr Number kTakes[] = {
    {"TENSOR", Takes::kTensor},       {"NUMBER", Takes::kNumber},
    {"FLOAT", Takes::kFloat},         {"INT", Takes::kInt},
    {"INTS", Takes::kInts},           {"BOOL", Takes::kBool},
    {"TEXT", Takes::kText},           {"TYPE", Takes::kType},
    {"TENSORS", Takes::kTensors},     {"NONE", Takes::kNone},
    {"LAYOUT", Takes::kLayout},       {"DEVICE", Takes::kDevice},
    {"GENERATOR", Takes::kGenerator}, {"MEMORY_FORMAT", Takes::kMemoryFormat},
};
constexpr Number kWhens[] = {
    {"GIVEN", Variant::Given},
    {"SCALAR", Variant::Scalar},
    {"EQUALS", Variant::Equals},
    {"BELOW", Variant::Below},
};
constexpr Number kOverlaps[] = {
    {"SELF_MAY", kSelfMay},       {"ARGUMENTS_MAY", kArgumentsMay}, {"ARGUMENTS_NEVER", kArgumentsNever},
    {"COPIES_SAME", kCopiesSame}, {"SAID_LATE", kSaidLate},
};
constexpr Number kTyped[] = {{"NO", Typed::No}, {"INSIDE", Typed::Inside}, {"NODE", Typed::Node}};
constexpr Number kKeeps[] = {
    {"MADE", Keeps::Made},
    {"ROWS", Keeps::Rows},
    {"COLUMNS", Keeps::Columns},
    {"FORMAT", Keeps::Format},
    {"FORMAT_AND_BACK", Keeps::FormatAndBack},
    {"STRIDES", Keeps::Strides},
};
constexpr Number kResults[] = {
    {"PROMOTED", ResultType::Promoted},
    {"FLOAT", ResultType::Float},
    {"BOOL", ResultType::Bool},
};
// By torch's names of the element types.
constexpr Number kDTypes[] = {
    {"bool", DType::Bool},
    {"uint8", DType::U8},
    {"int8", DType::I8},
    {"int16", DType::I16},
    {"int32", DType::I32},
    {"int64", DType::I64},
    {"float16", DType::F16},
    {"bfloat16", DType::BF16},
    {"float32", DType::F32},
    {"float64", DType::F64},
    {"uint16", DType::U16},
    {"uint32", DType::U32},
    {"complex64", DType::C64},
    {"complex128", DType::C128},
    {"uint64", DType::U64},
    {"float8_e4m3fn", DType::F8E4M3FN},
    {"float8_e4m3fnuz", DType::F8E4M3FNUZ},
    {"float8_e5m2", DType::F8E5M2},
    {"float8_e5m2fnuz", DType::F8E5M2FNUZ},
    {"float8_e8m0fnu", DType::F8E8M0FNU},
    {"complex32", DType::C32},
};
static_assert(std::size(kDTypes) == static_cast<size_t>(DType::Count));
constexpr Number kCategories[] = {
    {"BOOL", Category::Bool},
    {"INTEGER", Category::Integer},
    {"FLOATING", Category::Floating},
    {"COMPLEX", Category::Complex},
};
constexpr Number kReductions[] = {{"NONE", Reduction::None}, {"MEAN", Reduction::Mean}, {"SUM", Reduction::Sum}};
constexpr Number kObserved[] = {
    {"ANOMALY", kAnomaly}, {"SELECTIVE", kSelective}, {"TRACE", kTrace}, {"RECORDS", kRecords}};
constexpr Number kPaths[] = {
    {"NONE", Path::None},     {"BLOCK", Path::Block},      {"MACHINE", Path::Machine},   {"STRIDED", Path::Strided},
    {"KERNEL", Path::Kernel}, {"NUMPY", Path::Numpy},      {"FALLBACK", Path::Fallback}, {"STAND_INS", Path::StandIns},
    {"VIEW", Path::View},     {"IN_PLACE", Path::InPlace}, {"OUT", Path::Out},           {"COMPOSITE", Path::Composite},
    {"LEVEL", Path::Level},   {"KEPT", Path::Kept},
};
constexpr Number kWays[] = {
    {"FUSED", kFused},
    {"FUSED_NUMPY", kFusedNumpy},
    {"TRACED", kTraced},
    {"PASSED_ON", kPassedOn},
    {"RULE", kRule},
    {"FUNCTION", kFunction},
    {"COPY_SLICES", kCopySlices},
    {"STORED", kStored},
    {"COPIED", kCopied},
    {"ADDED", kAdded},
    {"CAPTURED", kCaptured},
    {"HOOKS", kHooks},
};
constexpr Number kAsks[] = {{"ALL", Asks::All}, {"MODES", Asks::Modes}, {"NOBODY", Asks::Nobody}};
constexpr Number kOverrides[] = {{"ALL", Overrides::All}, {"MODES", Overrides::Modes}, {"NONE", Overrides::None}};

template <size_t N>
int add(PyObject* module, const char* name, const char* doc, const Number (&numbers)[N]) {
  Ref members(Py_BuildValue("{ssss}", "__module__", "rushlight._core", "__doc__", doc));
  if (!members) return -1;
  for (const Number& n : numbers) {
    const Ref value(PyLong_FromLong(n.value));
    if (!value || PyDict_SetItemString(members.get(), n.name, value.get()) < 0) return -1;
  }
  const Ref type(PyObject_CallFunction(reinterpret_cast<PyObject*>(&PyType_Type), "s()O", name, members.get()));
  return type ? PyModule_AddObjectRef(module, name, type.get()) : -1;
}

}  // namespace

int init_enums(PyObject* m) {
  const bool failed = add(m, "Flag", "Bits of a tensor's flags.", kFlags) < 0 ||
                      add(m, "Cut", "What ended the history of a tensor.", kCuts) < 0 ||
                      add(m, "OpKind", "The kinds of op, by their derivative.", kOpKinds) < 0 ||
                      add(m, "ParamKind", "What a parameter of an op takes.", kParamKinds) < 0 ||
                      add(m, "Source", "Where an argument of a rule comes from.", kSources) < 0 ||
                      add(m, "Takes", "Bits of what a function takes for a parameter.", kTakes) < 0 ||
                      add(m, "When", "When a variant takes over an op.", kWhens) < 0 ||
                      add(m, "Overlap", "Bits of what shared memory means to an in-place form.", kOverlaps) < 0 ||
                      add(m, "Typed", "Whether an op converts its first argument to `dtype`.", kTyped) < 0 ||
                      add(m, "Keeps", "How the results of an op lie in memory.", kKeeps) < 0 ||
                      add(m, "ResultType", "The element type of a pointwise result.", kResults) < 0 ||
                      add(m, "DType", "The codes of the element types.", kDTypes) < 0 ||
                      add(m, "Category", "The ranks of element types in promotion.", kCategories) < 0 ||
                      add(m, "Reduction", "What a loss makes of the losses of its elements.", kReductions) < 0 ||
                      add(m, "Observed", "Bits of what calls are reported to.", kObserved) < 0 ||
                      add(m, "Path", "How the result of a call was computed.", kPaths) < 0 ||
                      add(m, "Way", "Bits of how the gradients of a node were.", kWays) < 0 ||
                      add(m, "Asks", "Whose `__torch_function__` is asked about a function.", kAsks) < 0 ||
                      add(m, "Overrides", "Who takes calls over on a thread.", kOverrides) < 0;
  return failed ? -1 : 0;
}

}  // namespace rushlight
