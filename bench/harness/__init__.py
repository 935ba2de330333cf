# SPDX-License-Identifier: LGPL-3.0-or-later
"""The harness of ./dev bench: subjects, meters, clients, results. What is measured with them lies in ../workloads."""
