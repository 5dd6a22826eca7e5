"""A server that sends a recorded watch as fast as it is read.

    replay.py list KUBECONFIG FOLDER POD_COUNT          records a streamed list of all pods, as JSON
    replay.py record KUBECONFIG FOLDER POD_COUNT LOAD   as JSON and as protobuf, and two changes of every pod
    replay.py serve FOLDER TIMES                        prints its port

The changes are sent by turns, TIMES all in all. A client that lists first is sent the list of the recording.
"""

import http.client, json, os, re, signal, socket, ssl, subprocess, sys, threading

PROTOBUF = "application/vnd.kubernetes.protobuf"
WATCH = "/api/v1/pods?watch=1&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"


def connect(kubeconfig):
    text = open(kubeconfig).read()
    host, port = re.search(r"https://([^:]+):(\d+)", text).groups()
    token = re.search(r"token: *([^\s},]+)", text).group(1)
    connection = http.client.HTTPSConnection(host, int(port), context=ssl._create_unverified_context())
    return connection, {"Authorization": f"Bearer {token}"}


def ask(kubeconfig, path, accept):
    connection, headers = connect(kubeconfig)
    connection.request("GET", path, headers={**headers, "Accept": accept})
    return connection.getresponse()


def frames(response, kind):
    """The frames of a watch: lines of JSON, or protobuf with its length in front."""
    while True:
        if kind == "json":
            frame = response.readline()
        else:
            length = response.read(4)
            frame = length + response.read(int.from_bytes(length, "big"))
        if not frame:
            return
        yield frame


JSON = ("json", "application/json")


def record_list(kubeconfig, folder, count):
    write(f"{folder}/start.json", streamed_list(kubeconfig, *JSON, count))


def record(kubeconfig, folder, count, load):
    for kind, accept in [JSON, ("protobuf", PROTOBUF)]:
        body = ask(kubeconfig, "/api/v1/pods", accept).read()
        write(f"{folder}/list.{kind}", [body])
        if kind == "json":
            describe(body)
    kinds = [JSON, ("protobuf", PROTOBUF + ";stream=watch")]
    for kind, accept in kinds:
        write(f"{folder}/start.{kind}", streamed_list(kubeconfig, kind, accept, count))
    for turn in range(2):
        subprocess.run([load, "touch", "0", str(count), f"recorded-{turn}"], check=True)
        # As another streamed list tells them, since a server ends watches that are not read fast enough.
        for kind, accept in kinds:
            *pods, _end = streamed_list(kubeconfig, kind, accept, count)
            write(f"{folder}/changes{turn}.{kind}", [as_change(frame, kind) for frame in pods])


def describe(body):
    pods = json.loads(body)["items"]
    managed = sum(len(json.dumps(pod["metadata"]["managedFields"], separators=(",", ":"))) for pod in pods)
    print(f"a pod: {len(body) / len(pods):,.0f} bytes of JSON, {100 * managed / len(body):.0f} % of it managed fields",
          flush=True)


def streamed_list(kubeconfig, kind, accept, count):
    """The frames of all pods and the bookmark that ends them."""
    watch = frames(ask(kubeconfig, WATCH, accept), kind)
    told = [next(watch) for _ in range(count + 1)]
    assert b"initial-events-end" in told[-1], told[-1][:300]
    return told


def as_change(frame, kind):
    """A frame that tells of a pod, as one that tells of a change of it."""
    if kind == "json":
        assert frame.startswith(b'{"type":"ADDED",'), frame[:40]
        return frame.replace(b"ADDED", b"MODIFIED", 1)
    # Field 1, a string of five bytes.
    assert frame[4:11] == b"\x0a\x05ADDED", frame[:40]
    event = b"\x0a\x08MODIFIED" + frame[11:]
    return len(event).to_bytes(4, "big") + event


def write(path, pieces):
    with open(path, "wb") as file:
        file.writelines(pieces)


def answer(connection, recorded, times):
    reader = connection.makefile("rb")
    while True:
        request = reader.readline().decode()
        if not request:
            return
        accept = ""
        while (line := reader.readline()) not in (b"\r\n", b""):
            if line.lower().startswith(b"accept:"):
                accept = line.decode()
        kind = "protobuf" if PROTOBUF in accept else "json"
        path = request.split(" ")[1]
        content = PROTOBUF if kind == "protobuf" else "application/json"
        if "watch=" in path:
            if kind == "protobuf":
                content += ";stream=watch"
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nConnection: close\r\n\r\n".encode())
            if "sendInitialEvents=true" in path:
                connection.sendall(recorded["start." + kind])
            for turn in range(times):
                connection.sendall(recorded[f"changes{turn % 2}.{kind}"])
            threading.Event().wait()
        if not path.startswith("/api/v1/pods"):
            # Its version, for example: the list goes on as a stream, as it does for the others.
            connection.sendall(b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n")
            continue
        body = recorded["list." + kind]
        head = f"HTTP/1.1 200 OK\r\nContent-Type: {content}\r\nContent-Length: {len(body)}\r\n\r\n"
        connection.sendall(head.encode() + body)


def serve(folder, times):
    recorded = {name: open(f"{folder}/{name}", "rb").read() for name in os.listdir(folder) if "." in name}
    listener = socket.create_server(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)

    def alone(connection):
        try:
            answer(connection, recorded, times)
        except OSError:
            pass  # It has had enough.

    while True:
        connection, _ = listener.accept()
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4 << 20)
        threading.Thread(target=alone, args=[connection], daemon=True).start()


# Whoever started this ends it.
signal.signal(signal.SIGINT, signal.SIG_IGN)
match sys.argv[1:]:
    case ["list", kubeconfig, folder, count]:
        record_list(kubeconfig, folder, int(count))
    case ["record", kubeconfig, folder, count, load]:
        record(kubeconfig, folder, int(count), load)
    case ["serve", folder, times]:
        serve(folder, int(times))
    case _:
        sys.exit(__doc__)
