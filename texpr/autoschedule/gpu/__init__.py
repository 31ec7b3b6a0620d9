"""Default schedules for GPUs."""
