"""Worker processes: compilers and measurements that may end without ending the caller."""
