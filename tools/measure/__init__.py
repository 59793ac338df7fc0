# SPDX-License-Identifier: Apache-2.0
"""What the measuring scripts share: facts about a run, the benchmark shapes, the sweeps, and what follows from measurements."""
