# The toolchain of `make wasm`: Debian's clang for WebAssembly as Pyodide 0.29 has it (ABI pyodide_2025_0): position independent,
# exceptions as WebAssembly's own, vectors of 16 bytes, one thread. tools/wasm.py gives RUSHLIGHT_WASM_HEADERS and
# RUSHLIGHT_EMSCRIPTEN, emscripten's folder "system".
cmake_minimum_required(VERSION 3.21)
set(CMAKE_SYSTEM_NAME Emscripten)
set(CMAKE_SYSTEM_PROCESSOR wasm32)
set(CMAKE_TRY_COMPILE_TARGET_TYPE STATIC_LIBRARY)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES RUSHLIGHT_WASM_HEADERS RUSHLIGHT_EMSCRIPTEN)
find_program(CMAKE_CXX_COMPILER NAMES clang++-19 REQUIRED)
find_program(WASM_LD NAMES wasm-ld-19 REQUIRED)

set(CMAKE_CXX_COMPILER_TARGET wasm32-unknown-emscripten)
string(JOIN " " CMAKE_CXX_FLAGS_INIT
  -Wno-bitwise-conditional-parentheses -Wno-bitwise-instead-of-logical -Wno-pass-failed  # conditions of vectors, too
  -fPIC -fwasm-exceptions -msimd128 -mbulk-memory -mnontrapping-fptoint -nostdinc++
  -isystem ${RUSHLIGHT_WASM_HEADERS}/c++ -isystem /usr/lib/llvm-19/include/wasm32-wasi/c++/v1
  -isystem ${RUSHLIGHT_EMSCRIPTEN}/lib/libc/musl/include -isystem ${RUSHLIGHT_EMSCRIPTEN}/lib/libc/musl/arch/emscripten
  -isystem ${RUSHLIGHT_EMSCRIPTEN}/lib/libc/musl/arch/generic -isystem ${RUSHLIGHT_EMSCRIPTEN}/include)

# A module is what emscripten calls a side module: what it does not define comes from Pyodide's main module when it is loaded.
set_property(GLOBAL PROPERTY TARGET_SUPPORTS_SHARED_LIBS TRUE)
set(CMAKE_SHARED_MODULE_PREFIX "")
set(CMAKE_SHARED_MODULE_SUFFIX ".so")
set(CMAKE_CXX_CREATE_SHARED_MODULE
  "${WASM_LD} -shared --experimental-pic --unresolved-symbols=import-dynamic --import-memory --import-table -mllvm -wasm-enable-eh --strip-debug --export=PyInit__core --export-if-defined=__wasm_apply_data_relocs --export-if-defined=__wasm_call_ctors <OBJECTS> -o <TARGET> <LINK_LIBRARIES>")
