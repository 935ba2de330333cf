// SPDX-License-Identifier: LGPL-3.0-or-later
// Precompiled headers belong to a target, and a target has a source.
