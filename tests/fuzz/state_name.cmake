# SPDX-License-Identifier: LGPL-3.0-or-later
xec_fuzzer(state_name SOURCES state_name_fuzz.cc DEPS protocol)
