"""Default schedules of derivatives."""
