"""Ctrl-C that waits. Each test is a script in a process of its own."""

from __future__ import annotations

from tests.runtime.native.test_interrupt import run as run_script


def run(script):
    run_script(
        f"from random import uniform\nfrom texpr.runtime.call.signal_guard import "
        f"deferred_interrupts\n{script}"
    )


def test_a_block_is_run_to_its_end_and_interrupted_then():
    run("""
steps = []
try:
    with deferred_interrupts:
        signal.raise_signal(signal.SIGINT)
        for k in range(100_000):
            steps.append(k)
    steps.append("behind")
except KeyboardInterrupt:
    assert len(steps) == 100_000
    with deferred_interrupts:
        print("ok")
""")


def test_the_end_of_an_inner_block_is_not_enough():
    run("""
steps = []
try:
    with deferred_interrupts:
        with deferred_interrupts:
            signal.raise_signal(signal.SIGINT)
        steps.append(1)
except KeyboardInterrupt:
    assert steps == [1]
    print("ok")
""")


def test_an_exception_ends_a_block_too():
    run("""
try:
    with deferred_interrupts:
        signal.raise_signal(signal.SIGINT)
        raise ValueError
except KeyboardInterrupt as error:
    assert isinstance(error.__context__, ValueError)
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("ok")
""")


def test_kernels_in_a_block_are_not_interrupted():
    run("""
for symbol in ("slow", "slow_parallel"):
    kernel = slow(symbol)
    pressed = press(0.05)
    results = []
    try:
        with deferred_interrupts:
            results.append(kernel(np.int64(3_000_000), X))
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        assert delay(pressed) > 0.02 and results == [2], (delay(pressed), results)
print("ok")
""")


def test_the_flag_goes_down_for_a_block_and_up_again():
    """The main thread's kernel is interrupted once no other thread holds, whether Ctrl-C came
    before the block or in it.
    """
    run("""
kernel = slow("slow_parallel")
for wait in (0.05, 0.15):
    ended = []
    def hold():
        time.sleep(0.1)
        with deferred_interrupts:
            assert kernel(np.int64(1_000_000), X) == 2
            time.sleep(0.2)
            ended.append(time.perf_counter())
    other = threading.Thread(target=hold)
    other.start()
    pressed = press(wait)
    try:
        kernel(FOREVER, X)
        sys.exit("not interrupted")
    except KeyboardInterrupt:
        assert delay(pressed + ended) < 10, delay(pressed + ended)
    other.join()
print("ok")
""")


def test_who_sleeps_meanwhile_is_woken():
    run("""
held = threading.Event()
def hold():
    with deferred_interrupts:
        held.set()
        time.sleep(0.3)
other = threading.Thread(target=hold)
other.start()
held.wait()
pressed = press(0.1)
try:
    time.sleep(10)
except KeyboardInterrupt:
    assert 0.1 < delay(pressed) < 8, delay(pressed)
    print("ok")
""")


def test_a_handler_that_does_not_raise_is_called_once():
    run("""
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(time.perf_counter()))
with deferred_interrupts:
    signal.raise_signal(signal.SIGINT)
    middle = time.perf_counter()
end = time.perf_counter()
assert len(seen) == 1 and seen[0] > middle, seen
print("ok")
""")


def test_a_handler_that_was_installed_a_moment_before_waits():
    run("""
steps = []
for k in range(20):
    with deferred_interrupts:
        pass
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with deferred_interrupts:
            signal.raise_signal(signal.SIGINT)
            steps.append(k)
    except KeyboardInterrupt:
        continue
assert len(steps) == 20, steps
print("ok")
""")


def test_no_exception_of_another_signal_passes_by_an_end():
    """Else a block would be held that nobody runs, and Ctrl-C would wait for ever."""
    run("""
class Alarm(Exception):
    pass
def alarm(*_):
    raise Alarm
signal.signal(signal.SIGALRM, alarm)
with deferred_interrupts:
    pass
for _ in range(300):
    try:
        signal.setitimer(signal.ITIMER_REAL, uniform(2e-5, 3e-4))
        while True:
            with deferred_interrupts:
                pass
    except Alarm:
        pass
    try:
        signal.raise_signal(signal.SIGINT)
        sys.exit("Ctrl-C waits")
    except KeyboardInterrupt:
        pass
print("ok")
""")


def test_an_ignored_signal_stays_ignored():
    run("""
signal.signal(signal.SIGINT, signal.SIG_IGN)
with deferred_interrupts:
    signal.raise_signal(signal.SIGINT)
print("ok")
""")


def test_nothing_is_held_in_a_forked_child():
    run("""
with deferred_interrupts:
    child = os.fork()
    if child == 0:
        try:
            signal.raise_signal(signal.SIGINT)
            os._exit(1)
        except KeyboardInterrupt:
            os._exit(0)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
print("ok")
""")


def test_many_signals_among_many_blocks_lose_nothing():
    run("""
kernel = slow("slow_parallel")
seen = []
signal.signal(signal.SIGINT, lambda *_: seen.append(1))
ends = time.perf_counter() + 1.5
def hold():
    while time.perf_counter() < ends:
        with deferred_interrupts:
            assert kernel(np.int64(300), X) == 2
others = [threading.Thread(target=hold) for _ in range(3)]
for other in others:
    other.start()
press(0.002, 200)
while time.perf_counter() < ends:
    assert kernel(np.int64(2000), X) == 2
for other in others:
    other.join()
assert seen
before = len(seen)
signal.raise_signal(signal.SIGINT)
assert len(seen) == before + 1
print("ok")
""")
