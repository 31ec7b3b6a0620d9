"""The command line: looking at programs on their way to machine code."""
