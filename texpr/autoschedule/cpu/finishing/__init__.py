"""Last choices for CPUs: non-temporal stores, prefetches, interleaved stores."""
