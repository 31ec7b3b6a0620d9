"""`python -m bench.gpu` (`make gpu`): is the operator library right on a GPU, and how fast are
kernels and training steps beside torch's?

Everything that runs on the device does so in processes of its own (`measure`), so that one that
fails or hangs costs its own line; what starts them and writes the report needs the standard library
alone. texpr itself needs numpy and llvmlite, and lark and islpy, which may be wheels in a folder.
"""
