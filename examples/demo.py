"""The main job from end to end: operators as text, scheduled and timed beside NumPy; then two
networks trained on digits.
"""

from __future__ import annotations

import digits
import kernels

if __name__ == "__main__":
    kernels.main()
    digits.main()
