"""Examples of the communicator, on a world of one."""

from __future__ import annotations

SETUP = "from texpr import distributed as dist\ncomm = dist.Communicator()\nbuffer = np.float32([1.0, 2.0])"
CLASSES = {
    "dist.Communicator": (
        SETUP,
        {
            "is_main": "comm.is_main",
            "reduce_into": "comm.reduce_into(buffer)\nbuffer",
            "agree": 'comm.agree("step", 3)',
            "silent_ranks": "comm.silent_ranks()",
            "watch": 'comm.check_others(comm.watch(), "allreduce")',
            "check_others": 'comm.check_others(comm.watch(), "allreduce")',
            "thread": "comm.thread.submit(buffer).wait()",
            "give_up": """\
class Told(dist.Communicator):
    def give_up(self, what):
        print(f"{what} never ended")
Told().give_up("an allreduce")""",
            "exchange_headers": 'comm.exchange_headers(b"f32 2", "allreduce", 1.0)',
            "reduce_buffer": 'comm.reduce_buffer(buffer, "sum")\nbuffer',
            "broadcast_buffer": "comm.broadcast_buffer(buffer, 0)\nbuffer",
            "gather_buffers": "comm.gather_buffers(buffer, [2])",
            "exchange_pieces": "comm.exchange_pieces(buffer, [2])",
        },
    )
}
