"""Default schedules: scripts of public steps, chosen by the nest and the machine. The steps
stand in `schedule.steps`.
"""
