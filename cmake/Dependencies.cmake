# Libraries from the system's packages; tools/install_packages.sh installs them.

find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(ONNX CONFIG REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
find_package(spdlog REQUIRED)
find_package(LibArchive REQUIRED)
find_package(ZLIB REQUIRED)  # libarchive's gzip filter does not check the stored checksum; zlib does
find_path(XXHASH_INCLUDE_DIR xxhash.h REQUIRED)
find_library(XXHASH_LIBRARY xxhash REQUIRED)

if(ONWARD_OPENMP)
  find_package(OpenMP REQUIRED)
endif()

if(ONWARD_ONEDNN)
  # Debian's CMake config of oneDNN asks for OpenCL headers that nothing here uses, hence the direct look-up.
  find_path(DNNL_INCLUDE_DIR oneapi/dnnl/dnnl.hpp REQUIRED)
  find_library(DNNL_LIBRARY dnnl REQUIRED)
  file(STRINGS ${DNNL_INCLUDE_DIR}/oneapi/dnnl/dnnl_version.h dnnl_major REGEX "define DNNL_VERSION_MAJOR")
  string(REGEX REPLACE ".*MAJOR[ ]+([0-9]+).*" "\\1" ONWARD_DNNL_MAJOR "${dnnl_major}")
  message(STATUS "oneDNN ${ONWARD_DNNL_MAJOR}: ${DNNL_LIBRARY}")
endif()

if(ONWARD_BLAS)
  find_library(OPENBLAS_LIBRARY openblas REQUIRED)
  find_path(OPENBLAS_INCLUDE_DIR cblas.h PATH_SUFFIXES x86_64-linux-gnu openblas openblas-pthread REQUIRED)
endif()
