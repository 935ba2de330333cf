# SPDX-License-Identifier: LGPL-3.0-or-later
xec_fuzzer(attributes SOURCES attributes_fuzz.cc DEPS protocol)
