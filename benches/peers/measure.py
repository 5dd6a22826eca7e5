"""Runs the contenders by turns, and prints what they cost: see `run`.

    measure.py PROGRAMS SERVER FOLDER PODS ROUNDS [yes]     with `yes` as quickly as it can be done

PROGRAMS has the contenders and `load`; SERVER is tests/real/controlplane/server; FOLDER is that of a server
without pods. CPU is user and system time of the whole process, as the kernel's clock of it says.
"""

import os, random, select, shutil, signal, statistics, subprocess, sys, time, traceback

programs, server, folder, pods, rounds = *sys.argv[1:4], *map(int, sys.argv[4:6])
here = os.path.dirname(os.path.abspath(__file__))
kubeconfig = f"{folder}/kubeconfig"
quick = sys.argv[6:] == ["yes"]
LIMIT = 900

# What was measured, by name and contender: one figure a round.
figures = {}


def note(name, contender, value):
    print(f"{name} {contender} {value:.3f}", file=sys.stderr, flush=True)
    figures.setdefault((name, contender), []).append(value)


def cpu(pid):
    # What clock_getcpuclockid(3) gives: threads that have ended count too.
    return time.clock_gettime(~pid << 3 | 2)


def settle(pid, least):
    """Until a process has done next to nothing for a while."""
    used, since, start = cpu(pid), time.monotonic(), time.monotonic()
    while time.monotonic() - since < (0.5 if quick else 2) and time.monotonic() - start < LIMIT:
        time.sleep(0.1)
        if cpu(pid) > used + least:
            used, since = cpu(pid), time.monotonic()


class Contender:
    """A running program, and what it has cost so far."""

    def __init__(self, program, *mode, config=kubeconfig):
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            [f"{programs}/{program}", *mode],
            env={**os.environ, "KUBECONFIG": config},
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def line(self, word):
        """Waits for a line that begins with a word, and gives the rest of it."""
        ready, _, _ = select.select([self.process.stdout], [], [], LIMIT)
        line = self.process.stdout.readline() if ready else ""
        assert line.startswith(word), f"{self.process.args} said {line!r} and not {word!r}"
        return line[len(word):].strip()

    def wall(self):
        return time.monotonic() - self.started

    def cpu(self):
        return cpu(self.process.pid)

    def memory(self, field):
        """VmRSS or VmHWM, in MB."""
        with open(f"/proc/{self.process.pid}/status") as file:
            line = next(line for line in file if line.startswith(field + ":"))
        return int(line.split()[1]) * 1024 / 1e6

    def forget_peak(self):
        with open(f"/proc/{self.process.pid}/clear_refs", "w") as file:
            file.write("5")

    def ask(self, question, answer):
        self.process.stdin.write(question + "\n")
        return self.line(answer)

    def events(self):
        return int(self.ask("count", "events"))

    def wait_for_events(self, count):
        start = time.monotonic()
        while (seen := self.events()) < count:
            assert time.monotonic() - start < LIMIT, f"{self.process.args}: {seen} of {count} events"
            time.sleep(0.05)

    def settle(self):
        settle(self.process.pid, 0.005)


def load(*arguments):
    environment = {**os.environ, "KUBECONFIG": kubeconfig}
    subprocess.run([f"{programs}/load", *map(str, arguments)], check=True, env=environment)


stamp = iter(range(1_000_000_000))
# How many pods are changed for an event of each.
touched = pods // 2 if quick else pods


def touch(count=touched):
    load("touch", 0, count, next(stamp))
    # Or etcd is full before the end.
    subprocess.run([server, "compact", folder], check=True)


def server_process():
    with open(f"{folder}/apiserver.pid") as file:
        return int(file.read())


def let_server_settle():
    """It goes on collecting its garbage, next to which everybody is slow."""
    settle(server_process(), 0.5)


# Their events cost what those of another contender do, or are nobody's question.
ONLY_SYNC = {"kinformer compressed", "kinformer keep", "kube-rs", "client-go without managedFields",
             "client-go lean", "kube-rs without managedFields", "kube-rs lean"}


# Every pod is changed for them; for the others half of the pods, which takes the server long enough.
EVERY_POD = {"kinformer", "client-go"}


def sync(program, mode, name):
    """The first sync, then changes."""
    let_server_settle()
    server_before = cpu(server_process())
    with Contender(program, mode) as it:
        assert int(it.line("synced")) == pods
        note("wall", name, it.wall())
        note("cpu", name, it.cpu())
        note("server_cpu", name, cpu(server_process()) - server_before)
        it.settle()
        note("rss", name, it.memory("VmRSS"))
        note("peak", name, it.memory("VmHWM"))
        if name in ONLY_SYNC:
            return
        before, seen = it.cpu(), it.events()
        count = touched if name in EVERY_POD else pods // 2
        touch(count)
        it.wait_for_events(seen + count * (10 if mode.endswith("10") else 1))
        note("event_ms", name, (it.cpu() - before) * 1000 / count)
        if program == "client-go":
            # What is left if everything is collected and given back, which Go does by and by.
            note("heap", name, int(it.ask("free", "heap")) / 1e6)
            note("rss_freed", name, it.memory("VmRSS"))


def replayer(*arguments):
    environment = {**os.environ, "KUBECONFIG": kubeconfig}
    return [sys.executable, f"{here}/replay.py", *map(str, arguments)], environment


def record(how, into, count, *more):
    os.makedirs(into)
    command, environment = replayer(how, kubeconfig, into, count, *more)
    subprocess.run(command, check=True, env=environment)


class Replay:
    """A server that sends what was recorded."""

    def __init__(self, recorded, times):
        command, environment = replayer("serve", recorded, times)
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)
        port = self.process.stdout.readline().strip()
        self.config = f"{folder}/kubeconfig-{port}"
        with open(self.config, "w") as file:
            file.write(f"""apiVersion: v1
kind: Config
current-context: replay
contexts: [{{name: replay, context: {{cluster: replay, user: nobody}}}}]
clusters: [{{name: replay, cluster: {{server: "http://127.0.0.1:{port}"}}}}]
users: [{{name: nobody, user: {{}}}}]
""")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def fill(before, count):
    """So many pods, of which there are some. Not more at a time than there is memory for what the server keeps of it."""
    for first in range(before, count, 20_000):
        if first > before:
            renew()
        load("create", first, min(first + 20_000, count))


def scale(sizes):
    """What a sync costs, of lists that the server has sent when it had so many pods: replayed, since a server that
    encodes many objects next door makes everybody slow."""
    recorded = {count: f"{folder}/list-{count}" for count in sizes}
    for before, count in zip([0, *sizes], sizes):
        fill(before, count)
        record("list", recorded[count], count)
    if sizes[-1] > pods:
        start_over()
        fill(0, pods)
    let_server_settle()
    for count in sizes * (2 if quick else 9):
        with Replay(recorded[count], 0) as server:
            # A processor that has rested is slow at first, which would count as the cost of few objects.
            with Contender("kinformer", "sync", config=server.config) as it:
                it.line("synced")
            with Contender("kinformer", "sync", config=server.config) as it:
                assert int(it.line("synced")) == count
                note(f"scale_cpu_{count}", "kinformer", it.cpu())
                it.settle()
                note(f"scale_rss_{count}", "kinformer", it.memory("VmRSS"))
    for each in recorded.values():
        shutil.rmtree(each)


def start_over():
    """A server that has nothing, and has never had anything."""
    subprocess.run([server, "stop", folder], check=True)
    shutil.rmtree(f"{folder}/etcd")
    restart()


def renew():
    """A server that has what it had, but no history, which takes gigabytes after so many changes."""
    subprocess.run([server, "kill", folder], check=True)
    restart()


def restart():
    """Starts the server again; its port may be somebody else's for a moment."""
    for _ in range(10):
        if subprocess.run([server, "start", folder]).returncode == 0:
            return
        time.sleep(2)
    sys.exit("the server does not start again")


def relist():
    """A relist, with changes that were missed."""
    with Contender("kinformer", "sync") as it:
        it.line("synced")
        it.settle()
        steady = it.memory("VmRSS")
        it.forget_peak()
        it.process.send_signal(signal.SIGSTOP)
        # Its connection ends before the changes, or they might wait for it there; and what has them in its memory
        # ends after them.
        renew()
        touch()
        renew()
        it.process.send_signal(signal.SIGCONT)
        it.wait_for_events(2 * pods)
        it.settle()
        note("relist_peak", "kinformer", it.memory("VmHWM") / steady)
        lists = int(it.ask("lists", "lists"))
        assert lists == 2, f"{lists} lists: it was not a relist"


def churn(rounds_of_changes):
    """Change upon change."""
    with Contender("kinformer", "sync") as it:
        it.line("synced")
        it.settle()
        steady = it.memory("VmRSS")
        for _ in range(rounds_of_changes):
            seen = it.events()
            touch()
            it.wait_for_events(seen + touched)
        it.settle()
        note("churn_rss", "kinformer", it.memory("VmRSS") / steady)


def startup(program):
    with Contender(program, "first", "startup") as it:
        it.line("first")
        note("startup_ms", program, it.wall() * 1000)


def idle():
    sizes = []
    for informers in (10, *[60] * (4 if rounds > 2 else 2)):
        with Contender("kinformer", "idle", str(informers)) as it:
            it.line("synced")
            it.settle()
            sizes.append(it.memory("VmRSS"))
            # A server that still has 60 new watches to see to would have our processors.
            let_server_settle()
            it.process.stdin.close()
            stopped = float(it.line("stopped"))
            if informers == 60:
                note("stop60_ms", "kinformer", stopped)
                note("idle_mb", "kinformer", (sizes[-1] - sizes[0]) / 50)


def replay(program, mode, server, times, name):
    with Contender(program, mode, config=server.config) as it:
        it.line("synced")
        it.wait_for_events(pods * (times + 1))
        note("replay_cpu", name, it.cpu())


def replays():
    recorded = f"{folder}/recorded"
    record("record", recorded, pods, f"{programs}/load")
    let_server_settle()
    with Replay(recorded, 1) as once, Replay(recorded, 4) as often:
        for _ in range(rounds):
            for program, mode, name in (("kinformer", "sync", "kinformer"), ("kinformer", "typed", "kinformer typed"),
                                        ("client-go", "sync", "client-go"), ("kube-rs", "streaming", "kube-rs")):
                replay(program, mode, once, 1, f"{name} once")
                replay(program, mode, often, 4, name)
    shutil.rmtree(recorded)


def median(name, contender):
    return statistics.median(figures[name, contender])


def main(sizes):
    figures_wanted = [("kinformer", "sync", "kinformer"), ("kinformer", "typed", "kinformer typed"),
                      ("client-go", "sync", "client-go"),
                      ("kube-rs", "sync", "kube-rs"), ("kube-rs", "streaming", "kube-rs streaming"),
                      ("kinformer", "handlers10", "kinformer 10"), ("client-go", "handlers10", "client-go 10")]
    # Of these no figure is wanted: in every second round.
    to_be_known = [("kinformer", "compressed", "kinformer compressed"), ("kinformer", "keep", "kinformer keep"),
                   ("kinformer", "typed10", "kinformer typed 10"),
                   ("client-go", "pruned", "client-go without managedFields"), ("client-go", "lean", "client-go lean"),
                   ("kube-rs", "pruned", "kube-rs without managedFields"), ("kube-rs", "lean", "kube-rs lean")]
    scale(sizes)
    replays()
    for _ in range(1 if quick else 2):
        relist()
    churn(2 if quick else 10)
    load("map", "startup")
    for number in range(rounds):
        print(f"round {number + 1} of {rounds}", file=sys.stderr, flush=True)
        renew()
        # In another order in each round, the same in each run: what one leaves behind on the server, others find.
        contenders = figures_wanted + to_be_known * (number % 2 == 0 and not quick)
        random.Random(number).shuffle(contenders)
        for contender in contenders:
            sync(*contender)
        let_server_settle()
        for _ in range(4):
            for program in ("kinformer", "client-go", "kube-rs"):
                startup(program)
        idle()


def report(sizes):
    print(f"{'figure':15} {'contender':31} {'median':>10} {'least':>10} {'most':>10} {'of':>4}")
    for (name, contender), values in sorted(figures.items()):
        print(f"{name:15} {contender:31} {statistics.median(values):10.2f} {min(values):10.2f} {max(values):10.2f}"
              f" {len(values):4}")

    ours, go = "kinformer", "client-go"

    def replayed(program):
        """Events a second of CPU: what three replays more cost."""
        return 3 * pods / (median("replay_cpu", program) - median("replay_cpu", f"{program} once"))

    def spread(figure, of=statistics.median):
        """Cost for each object after the first, at the size where it is most by that where it is least."""
        measured = [size for size in sizes if (f"{figure}_{size}", ours) in figures]
        first, *cost = [of(figures[f"{figure}_{size}", ours]) for size in measured]
        each = [(cost - first) / (size - 1) for cost, size in zip(cost, measured[1:])]
        return max(each) / min(each)

    def kube(figure):
        """Of its two ways to list the better one."""
        return min(median(figure, "kube-rs"), median(figure, "kube-rs streaming"))

    typed, typed10 = "kinformer typed", "kinformer typed 10"
    pruned = " without managedFields"
    # Each by itself: a run that was ended before its end has some of them.
    most = [
        ("sync_cpu", go, lambda: median("cpu", ours) / median("cpu", go), 0.35),
        ("sync_cpu_typed", go, lambda: median("cpu", typed) / median("cpu", go), None),
        ("sync_cpu_kube", "kube-rs", lambda: median("cpu", ours) / kube("cpu"), 0.25),
        ("sync_cpu_lean", go, lambda: median("cpu", ours) / median("cpu", "client-go lean"), None),
        ("sync_cpu_lean", "kube-rs", lambda: median("cpu", ours) / median("cpu", "kube-rs lean"), None),
        ("sync_cpu_typed", "kube-rs", lambda: median("cpu", typed) / kube("cpu"), None),
        ("sync_cpu_typed10", go, lambda: median("cpu", typed10) / median("cpu", "client-go 10"), None),
        ("sync_wall", go, lambda: median("wall", ours) / median("wall", go), 1.0),
        ("sync_wall_compressed", go, lambda: median("wall", "kinformer compressed") / median("wall", go), None),
        ("sync_server_cpu", go, lambda: median("server_cpu", ours) / median("server_cpu", go), None),
        ("sync_server_cpu", "kube-rs", lambda: median("server_cpu", ours) / kube("server_cpu"), None),
        ("rss", go, lambda: median("rss", ours) / median("rss", go), 0.25),
        ("rss_freed", go, lambda: median("rss", ours) / median("rss_freed", go), None),
        ("rss_kube", "kube-rs", lambda: median("rss", ours) / kube("rss"), 0.08),
        ("rss_lean", go, lambda: median("rss", ours) / median("rss", "client-go lean"), None),
        ("rss_lean", "kube-rs", lambda: median("rss", ours) / median("rss", "kube-rs lean"), None),
        ("rss_pruned", go, lambda: median("rss", ours) / median("rss", go + pruned), None),
        ("rss_pruned", "kube-rs", lambda: median("rss", ours) / median("rss", "kube-rs" + pruned), None),
        ("rss_typed", go, lambda: median("rss", "kinformer typed") / median("rss", go), 0.30),
        ("rss_keep", go, lambda: median("rss", "kinformer keep") / median("rss", go), None),
        ("peak", "-", lambda: median("peak", ours) / median("rss", ours), 1.05),
        ("relist_peak", "-", lambda: median("relist_peak", ours), 1.10),
        ("event_cpu", go, lambda: median("event_ms", ours) / median("event_ms", go), 0.25),
        ("event_cpu_typed", go, lambda: median("event_ms", typed) / median("event_ms", go), None),
        ("churn_rss", "-", lambda: median("churn_rss", ours), 1.10),
        ("handlers10", go, lambda: median("event_ms", "kinformer 10") / median("event_ms", "client-go 10"), 0.25),
        ("handlers10_typed", go, lambda: median("event_ms", typed10) / median("event_ms", "client-go 10"), None),
        ("stop60", "-", lambda: max(figures["stop60_ms", ours]), 10),
        ("idle", "-", lambda: median("idle_mb", ours), 1),
        ("scale_cpu", "-", lambda: spread("scale_cpu", min), 1.15),
        ("scale_rss", "-", lambda: spread("scale_rss"), 1.15),
        ("startup", go, lambda: median("startup_ms", ours) / median("startup_ms", go), 0.5),
        ("startup", "kube-rs", lambda: median("startup_ms", ours) / median("startup_ms", "kube-rs"), 0.5),
    ]
    least = [(name, peer, lambda whose=whose, peer=peer: replayed(whose) / replayed(peer), target)
             for name, whose, target in (("replay", ours, 4), ("replay_typed", typed, None))
             for peer in (go, "kube-rs")]
    for program in (ours, typed, go, "kube-rs"):
        if ("replay_cpu", program) in figures:
            print(f"replay: {program}: {replayed(program):,.0f} events a second of CPU")
    for figures_of, met in ((most, lambda value, target: value <= target), (least, lambda value, target: value >= target)):
        for name, peer, ratio, target in figures_of:
            try:
                value = ratio()
            except (KeyError, ValueError):
                print(f"ratio {name} {peer} - {target or '-'} missing")
                continue
            verdict = "-" if target is None else "ok" if met(value, target) else "short"
            print(f"ratio {name} {peer} {value:.3f} {target or '-'} {verdict}")


# One, so that starting and reading the program is not counted as the cost of objects.
sizes = [1, pods // 2, pods] if quick else [1, pods // 10, pods, pods * 5]
# Also where whoever started it had signals ignored, as shells do in the background.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.default_int_handler)
try:
    main(sizes)
except KeyboardInterrupt:
    print("This run was ended before its end; what there is:")
except Exception:
    # An hour of figures is not to be lost with the last of them.
    traceback.print_exc()
    print("This run failed; what there is:")
report(sizes)
