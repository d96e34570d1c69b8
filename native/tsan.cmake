# What `make tsan` adds to CMakeLists.txt: ThreadSanitizer in all but the kernels of native/kernels/isa, which know neither locks nor
# Python, and whose elements programs may share as they like.
cmake_language(DEFER CALL target_compile_options core PRIVATE -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer)
cmake_language(DEFER CALL target_compile_options kernels PRIVATE -O1 -g1 -fsanitize=thread -fno-omit-frame-pointer)
cmake_language(DEFER CALL target_link_options _core PRIVATE -fsanitize=thread)
