"""Sleeps in a loop that looks for something, in a loop that does a piece of work each time, or for
ever in a lock: as the argument says."""

import sys
import threading
import time

ROUNDS = 150


def look():
    began = time.monotonic()
    while time.monotonic() < began + ROUNDS * 0.01:
        # Nothing yet.
        time.sleep(0.01)


def work():
    for _ in range(ROUNDS):
        time.sleep(0.01)


def stand():
    lock = threading.Lock()
    lock.acquire()
    lock.acquire()


thread = threading.Thread(target={"look": look, "work": work, "stand": stand}[sys.argv[1]])
thread.start()
thread.join()
