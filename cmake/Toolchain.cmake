# Flags that every room is compiled with, and the libraries that rooms may name.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

find_program(CCACHE ccache)
if(CCACHE)
  # Precompiled headers are cached only with this sloppiness; clones in different folders share.
  set(CMAKE_CXX_COMPILER_LAUNCHER
      ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
endif()

# These options are the C++ compiler's; nvcc has its own (kernels/cuda/CMakeLists.txt).
function(banyan_compile_options)
  foreach(option ${ARGN})
    add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:${option}>")
  endforeach()
endfunction()

# One binary for any x86-64-v2 machine; wider instructions only in files that are chosen at run time.
# -ffp-contract=off: a product and a sum are fused only where the code says so (batch invariance).
banyan_compile_options(-Wall -Wextra -Wshadow -Wnon-virtual-dtor -ffp-contract=off)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|amd64|AMD64)$")
  set(BANYAN_X86 ON)
  banyan_compile_options(-march=x86-64-v2)
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  banyan_compile_options(-fpch-preprocess)
endif()
if(BANYAN_WERROR)
  banyan_compile_options(-Werror)
endif()
if(BANYAN_SANITIZE)
  add_compile_options(-fsanitize=${BANYAN_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${BANYAN_SANITIZE})
endif()

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json iostreams)
find_package(absl REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(CLI11 REQUIRED)
find_package(spdlog REQUIRED)
find_package(OpenSSL 3.0 REQUIRED COMPONENTS Crypto SSL)
if(BANYAN_CUDA)
  set(CMAKE_CUDA_ARCHITECTURES ${BANYAN_CUDA_ARCHITECTURES})
  enable_language(CUDA)
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)  # which CMake 3.25 does not know of nvcc
  find_package(CUDAToolkit 12.8 REQUIRED)
endif()
if(BANYAN_TESTS)
  find_package(Boost 1.81 REQUIRED COMPONENTS context)  # for kernels/cuda/emulation
  find_package(GTest REQUIRED)
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
endif()
