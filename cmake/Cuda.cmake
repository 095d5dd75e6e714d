# libonward_cuda.so: the CUDA kernels of every op folder, for Ampere, Hopper and Blackwell, and as PTX for what comes later.
# It is built where a toolkit is found; nothing else needs one. ONWARD_CUDA_ABSENT says why it is not built.

set(ONWARD_CUDA AUTO CACHE STRING "CUDA kernels: AUTO builds them where nvcc is found, ON insists, OFF leaves them out")
set_property(CACHE ONWARD_CUDA PROPERTY STRINGS AUTO ON OFF)
file(GLOB ONWARD_CUDA_SOURCES CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/*/*_cuda.cu ${PROJECT_SOURCE_DIR}/ops/*/*_cuda.cc
  ${PROJECT_SOURCE_DIR}/ops/core/cuda/*.cu ${PROJECT_SOURCE_DIR}/ops/core/cuda/*.cc)
set(ONWARD_PTXAS_REPORTS ${CMAKE_BINARY_DIR}/CMakeFiles/onward_cuda.dir)

set(ONWARD_CUDA_ABSENT "")
if(ONWARD_CUDA STREQUAL "OFF")
  set(ONWARD_CUDA_ABSENT "ONWARD_CUDA is OFF")
elseif(ONWARD_SANITIZE)
  set(ONWARD_CUDA_ABSENT "sanitizers do not reach code for a GPU")
else()
  find_program(ONWARD_NVCC nvcc PATHS /usr/local/cuda/bin)
  if(ONWARD_NVCC)
    set(ENV{CUDACXX} ${ONWARD_NVCC})
    include(CheckLanguage)
    check_language(CUDA)
    if(NOT CMAKE_CUDA_COMPILER)
      set(ONWARD_CUDA_ABSENT "${ONWARD_NVCC} does not work with this C++ compiler")
    endif()
  else()
    set(ONWARD_CUDA_ABSENT "nvcc is neither on PATH nor in /usr/local/cuda/bin")
  endif()
endif()

if(ONWARD_CUDA_ABSENT)
  if(ONWARD_CUDA STREQUAL "ON")
    message(FATAL_ERROR "ONWARD_CUDA is ON, but ${ONWARD_CUDA_ABSENT}")
  endif()
  message(STATUS "CUDA kernels: not built, ${ONWARD_CUDA_ABSENT}")
  return()
endif()

enable_language(CUDA)
if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION)  # CMake 3.25 does not know that nvcc takes C++20
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
message(STATUS "CUDA kernels: ${CMAKE_CUDA_COMPILER} ${CMAKE_CUDA_COMPILER_VERSION}")
# Nothing loads it yet, so that only the tests ask for it.
add_library(onward_cuda SHARED EXCLUDE_FROM_ALL ${ONWARD_CUDA_SOURCES} ${CMAKE_BINARY_DIR}/generated/ops/core/cuda/register_kernels.cc)
target_link_libraries(onward_cuda PUBLIC onward)
# The assembler's report on registers and spills is kept beside each object, for a test.
set_target_properties(onward_cuda PROPERTIES
  CUDA_ARCHITECTURES "80-real;90-real;100-real;80-virtual"
  CUDA_STANDARD 20 CUDA_STANDARD_REQUIRED ON
  CUDA_RUNTIME_LIBRARY Shared LINKER_LANGUAGE CXX
  CUDA_COMPILER_LAUNCHER "sh;${PROJECT_SOURCE_DIR}/cmake/keep_ptxas_report.sh;${CMAKE_CXX_COMPILER_LAUNCHER}")
target_compile_options(onward_cuda PRIVATE
  "$<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;-Xptxas=-v;-Xcompiler=-Wall,-Wextra,-Wno-missing-field-initializers>")
