# SPDX-License-Identifier: LGPL-3.0-or-later
xec_fuzzer(descriptor SOURCES descriptor_fuzz.cc DEPS placement)
