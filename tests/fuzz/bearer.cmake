# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET xec_plugin_access)
  xec_fuzzer(bearer SOURCES bearer_fuzz.cc DEPS plugin_access)
endif()
