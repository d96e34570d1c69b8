// Numbers and structs that the core and the kernel texts of accelerators share: C++ and OpenCL C at once.
enum {
  DIMS = 6,       // of operands with strides, after neighbours were joined
  GROUP = 64,     // work items of a group
  INPUTS = 8,     // of a pointwise program
  REGISTERS = 32,
  BLOCK = 8,      // elements that a work item of the interpreter does
  SCALAR = 255    // the type of an input that is a number
};

// Where elements lie that a tensor shows: sizes, and strides in bytes.
typedef struct {
  i64 ndim;
  i64 sizes[DIMS];
  i64 strides[DIMS];
} Layout;

// A call of a pointwise program.
typedef struct {
  int n_inputs, n_constants, n_instructions, result, out_type, ndim;
  int types[INPUTS];
  i64 count;
  i64 sizes[DIMS];
  i64 out_strides[DIMS];
  i64 strides[INPUTS][DIMS];
  i64 places[INPUTS];
  i64 out_place;
  i64 scalars[INPUTS];  // the bits of a T
} Call;
