"""Threads that wait for three things in Python functions which all use the same native functions.

  ask     holds `line` while it sleeps; the other threads wait for `line` in `ask`
  rest    sleeps without a lock
  fetch   waits for a queue that another thread fills slowly
"""
import queue
import threading
import time

ROUNDS = 60
line = threading.Lock()
answers = queue.Queue()


def ask():
    with line:
        time.sleep(0.02)


def rest():
    time.sleep(1.5)


def fetch():
    return answers.get()


def asks():
    for _ in range(ROUNDS // 3):
        ask()


def fetches():
    for _ in range(3):
        fetch()


threads = [threading.Thread(target=asks) for _ in range(3)]
threads += [threading.Thread(target=rest), threading.Thread(target=fetches)]
for thread in threads:
    thread.start()
for answer in range(3):
    time.sleep(0.4)
    answers.put(answer)
for thread in threads:
    thread.join()
