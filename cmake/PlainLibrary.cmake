# SPDX-License-Identifier: LGPL-3.0-or-later
# For find modules of C libraries whose Debian packages ship no CMake configuration: defines the imported target
# PACKAGE::LIBRARY from one header and one library.
include(FindPackageHandleStandardArgs)
macro(xec_find_plain_library package header library)
  find_path(${package}_INCLUDE_DIR ${header})
  find_library(${package}_LIBRARY ${library})
  find_package_handle_standard_args(${package} REQUIRED_VARS ${package}_LIBRARY ${package}_INCLUDE_DIR)
  if(${package}_FOUND AND NOT TARGET ${package}::${library})
    add_library(${package}::${library} UNKNOWN IMPORTED)
    set_target_properties(${package}::${library} PROPERTIES IMPORTED_LOCATION ${${package}_LIBRARY}
                          INTERFACE_INCLUDE_DIRECTORIES ${${package}_INCLUDE_DIR})
  endif()
endmacro()
