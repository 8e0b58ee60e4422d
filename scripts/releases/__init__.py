# SPDX-License-Identifier: Apache-2.0
"""What scripts/upstream.py does: releases of packages, their sources, the ledger of what is transcribed, and recordings."""
