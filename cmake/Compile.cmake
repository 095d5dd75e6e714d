# Flags that every target takes.

add_library(onward_flags INTERFACE)
target_include_directories(onward_flags INTERFACE ${PROJECT_SOURCE_DIR} ${CMAKE_BINARY_DIR}/generated)
# Records such as OpDef name only the fields that differ from their defaults.
target_compile_options(onward_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wall> $<$<COMPILE_LANGUAGE:CXX>:-Wextra>
  $<$<COMPILE_LANGUAGE:CXX>:-Wno-missing-field-initializers>)
# GCC 12 warns of overlapping copies inside <string> where there are none (its bug 105329, mended in 13).
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
  target_compile_options(onward_flags INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-Wno-restrict>)
endif()
# Nobody reads errno or the exception flags after arithmetic; without these a square root or a choice between two
# floating-point values keeps a loop from being vectorised.
target_compile_options(onward_flags INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-fno-math-errno> $<$<COMPILE_LANGUAGE:CXX>:-fno-trapping-math>)

if(ONWARD_SANITIZE)
  target_compile_options(onward_flags INTERFACE -fsanitize=${ONWARD_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(onward_flags INTERFACE -fsanitize=${ONWARD_SANITIZE})
  if(ONWARD_SANITIZE MATCHES "undefined")
    target_compile_options(onward_flags INTERFACE -fno-sanitize-recover=undefined)
  endif()
endif()

find_program(MOLD mold)
if(MOLD)
  target_link_options(onward_flags INTERFACE -fuse-ld=mold)
endif()
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()

# Functions marked ONWARD_SIMD are compiled once per instruction set and chosen when the program starts. Sanitizer run
# times are not ready when that choice is made, so their builds take the plain form.
set(ONWARD_SIMD_ATTRIBUTE "__attribute__((target_clones(\"default\", \"arch=haswell\", \"arch=skylake-avx512\")))")
if(ONWARD_SANITIZE OR NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set(ONWARD_SIMD_ATTRIBUTE "")
endif()
set(ONWARD_INDEPENDENT_PRAGMA "_Pragma(\"GCC ivdep\")")
if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
  set(ONWARD_INDEPENDENT_PRAGMA "_Pragma(\"clang loop vectorize(assume_safety)\")")
endif()
configure_file(${PROJECT_SOURCE_DIR}/ops/core/simd.h.in ${CMAKE_BINARY_DIR}/generated/ops/core/simd.h @ONLY)
