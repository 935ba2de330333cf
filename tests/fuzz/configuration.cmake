# SPDX-License-Identifier: LGPL-3.0-or-later
if(TARGET xec_assembly)
  xec_fuzzer(configuration SOURCES configuration_fuzz.cc DEPS assembly)
endif()
