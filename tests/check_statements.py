#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The statements about providers: `check_coverage.py providers`."""
import sys

import check_coverage

if __name__ == "__main__":
    sys.argv[1:1] = ["providers"]
    sys.exit(check_coverage.main())
