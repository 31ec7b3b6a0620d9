"""Default schedules for CPUs."""
