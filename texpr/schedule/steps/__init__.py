"""The steps of schedules, by kind, a file each. Default choices of steps stand in
`autoschedule`.
"""
