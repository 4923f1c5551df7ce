"""Obeys the commands of doc.go with the Lock of redis-py: driver.py URL"""

import json
import os
import platform
import sys
import threading
import time

import redis

client = redis.Redis.from_url(sys.argv[1])
held = {}
said = threading.Lock()


def take(name, lease, wait, token=None):
    lock = client.lock(name, timeout=lease / 1000 or None, sleep=0.1, thread_local=False)
    # It asks again only if the pause between two questions is over before its wait is.
    return lock if lock.acquire(blocking=wait > 0, blocking_timeout=wait / 1000 if wait else None, token=token) else None


def lock(name, lease, wait, token=None):
    if token is not None:
        text, times = token.split("*")
        token = bytes.fromhex(text) * int(times)
    taken = take(name, int(lease), int(wait), token)
    if taken:
        held[name] = taken
    return "true" if taken else "false"


def extend(name):
    held[name].extend(held[name].timeout, replace_ttl=True)


def unlock(name):
    held.pop(name).release()


def contend(name, callers, lasts, inside, lease):
    counts = {"sections": 0, "violations": 0, "maxWaitMs": 0}
    guard = threading.Lock()
    end = time.monotonic() + int(lasts) / 1000

    def call():
        while (began := time.monotonic()) < end:
            mine = take(name, int(lease), max(1, int((end - began) * 1000)))
            waited = time.monotonic() - began
            with guard:
                counts["maxWaitMs"] = max(counts["maxWaitMs"], int(waited * 1000))
            if not mine:
                return
            alone = client.incr("inside:" + name) == 1
            time.sleep(int(inside) / 1000)
            mine.extend(int(lease) / 1000, replace_ttl=True)
            client.decr("inside:" + name)
            mine.release()
            with guard:
                counts["sections"] += 1
                counts["violations"] += not alone

    all = [threading.Thread(target=call) for _ in range(int(callers))]
    for thread in all:
        thread.start()
    for thread in all:
        thread.join()
    return " ".join(f"{key}={value}" for key, value in counts.items())


def bench(kind, mode, callers, seconds, inside="0"):
    """As fast as so many threads can. The answer is that of bench/redisson, with the time that each pair took, in nanoseconds."""
    pairs, took, guard = [0] * int(callers), [], threading.Lock()
    begin, cpu = time.monotonic(), time.process_time_ns()
    end = begin + float(seconds)

    def call(thread):
        name, mine = "bench:hot" if mode == "hot" else f"bench:{os.getpid()}:{thread}", []
        while (began := time.monotonic()) < end:
            lock = client.lock(name, timeout=30)
            if lock.acquire(blocking_timeout=end - began):
                time.sleep(int(inside) / 1000)
                lock.release()
                pairs[thread] += 1
            mine.append(int((time.monotonic() - began) * 1e9))
        with guard:
            took.extend(mine)

    threads = [threading.Thread(target=call, args=[thread]) for thread in range(int(callers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    used = {"cpu_ns": time.process_time_ns() - cpu}
    return json.dumps({"Seconds": time.monotonic() - begin, "Pairs": sum(pairs), "CallerPairs": pairs, "Took": took, "Usage": used})


def obey(number, verb, *words):
    try:
        answer = f"ok {verbs[verb](*words) or ''}".rstrip()
    except Exception as error:
        answer = f"err {type(error).__name__} {error}".replace("\n", " ")
    with said:
        print(number, answer, flush=True)


verbs = {"lock": lock, "extend": extend, "unlock": unlock, "contend": contend, "bench": bench}
client.ping()
print(f"ready redis-py {redis.__version__}, Python {platform.python_version()}", flush=True)
for line in sys.stdin:
    threading.Thread(target=obey, args=line.split(), daemon=True).start()
