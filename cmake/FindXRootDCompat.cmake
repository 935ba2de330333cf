# SPDX-License-Identifier: LGPL-3.0-or-later
# XRootD 5.5.3 (exports only variables) and 6.1 (exports targets) under the same names:
# XRootDCompat::utils, ::client, ::server; XROOTD_MAJOR is the major version (names of plug-ins: libX-5.so).
find_path(XROOTD_INCLUDE_DIR XrdVersion.hh HINTS ${XROOTD_PREFIX}/include/xrootd PATH_SUFFIXES xrootd
          NO_DEFAULT_PATH)
find_path(XROOTD_INCLUDE_DIR XrdVersion.hh PATH_SUFFIXES xrootd)
set(_missing)
foreach(lib XrdUtils XrdCl XrdServer)
  find_library(XROOTD_${lib} ${lib} HINTS ${XROOTD_PREFIX}/lib ${XROOTD_PREFIX}/lib64
               ${XROOTD_PREFIX}/lib/x86_64-linux-gnu NO_DEFAULT_PATH)
  find_library(XROOTD_${lib} ${lib})
endforeach()
if(XROOTD_INCLUDE_DIR)
  file(STRINGS ${XROOTD_INCLUDE_DIR}/XrdVersion.hh _version REGEX "#define XrdVERSION +\"")
  string(REGEX REPLACE ".*\"v?([0-9]+)\\.([0-9.]+).*" "\\1.\\2" XROOTD_VERSION "${_version}")
  string(REGEX REPLACE "\\..*" "" XROOTD_MAJOR "${XROOTD_VERSION}")
endif()
include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(XRootDCompat REQUIRED_VARS XROOTD_INCLUDE_DIR XROOTD_XrdUtils XROOTD_XrdCl
                                  XROOTD_XrdServer VERSION_VAR XROOTD_VERSION)
if(XRootDCompat_FOUND AND NOT TARGET XRootDCompat::utils)
  foreach(pair "utils;XrdUtils" "client;XrdCl" "server;XrdServer")
    list(GET pair 0 name)
    list(GET pair 1 lib)
    add_library(XRootDCompat::${name} UNKNOWN IMPORTED)
    # IMPORTED targets' includes are SYSTEM: the XRootD headers give about 60 warnings otherwise.
    set_target_properties(XRootDCompat::${name} PROPERTIES IMPORTED_LOCATION ${XROOTD_${lib}}
                          INTERFACE_INCLUDE_DIRECTORIES ${XROOTD_INCLUDE_DIR}
                          INTERFACE_COMPILE_DEFINITIONS "_FILE_OFFSET_BITS=64")
  endforeach()
endif()
