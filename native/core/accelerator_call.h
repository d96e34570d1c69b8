// Numbers and structs that the core and the kernel texts of accelerators share: C++ and OpenCL C.
enum {
  DIMS = 6,    // of operands with strides, after neighbours were joined
  GROUP = 64,  // work items of a group
  INPUTS = 8,
  REGISTERS = 32,  // of a pointwise program
  BLOCK = 8,     // elements that a work item of the interpreter does
  SCALAR = 255,  // the type of an input that is a number
  TABLE = 460    // numbers of a table of tensors
};

// Where elements lie that a tensor shows: sizes, and strides in bytes.
typedef struct {
  i64 ndim, sizes[DIMS], strides[DIMS];
} Layout;

// A call of a pointwise program; scalars: the bits of a T each.
typedef struct {
  int n_inputs, n_constants, n_instructions, result, out_type, ndim, types[INPUTS];
  i64 count, sizes[DIMS], out_strides[DIMS], strides[INPUTS][DIMS], places[INPUTS], out_place, scalars[INPUTS];
} Call;

// Tensors that one launch computes: several lists, whose tensors at one place go together. A place
// has in `words` the number of its first group, how many elements a tensor there has, and the
// address of each list's tensor. before: groups of the launches before, where the lists are too
// long for one.
typedef struct {
  i64 places, lists, before, words[TABLE];
} Table;
