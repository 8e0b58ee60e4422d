# SPDX-License-Identifier: Apache-2.0
"""How rows of published measurements become commands, and answers become kinds; one file per source."""
