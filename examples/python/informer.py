#!/usr/bin/env python3
"""Pods of a cluster from Python, with nothing but ctypes: a callback for every change, and a lister.

    LIBKINFORMER=libkinformer.so python3 informer.py

Uses kubeconfig or the pod's own configuration; with --demo the embedded API server, if the library has one.
"""
import ctypes
import ctypes.util
import json
import os
import sys
import threading

lib = ctypes.CDLL(os.environ.get("LIBKINFORMER") or ctypes.util.find_library("kinformer") or "libkinformer.so")
EVENT = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)
TEXT = ("error_message", "object_json", "object_key", "event_key", "text_data", "version")
HANDLE = ("list_at", "event_object", "event_old")
for name in TEXT:
    getattr(lib, f"kinf_{name}").restype = ctypes.c_char_p
for name in HANDLE:
    getattr(lib, f"kinf_{name}").restype = ctypes.c_void_p
lib.kinf_list_count.restype = ctypes.c_size_t
lib.kinf_list_at.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
NAMES = {1: "added", 2: "updated", 3: "deleted", 4: "synced"}


class KinfError(Exception):
    pass


def text(value):
    """A string as the two arguments that the library takes."""
    data = value.encode()
    return ctypes.c_char_p(data), ctypes.c_size_t(len(data))


def call(name, *arguments, gives=True):
    """Calls a function whose last arguments are what it gives, and the error."""
    given, error = ctypes.c_void_p(), ctypes.c_void_p()
    outputs = [ctypes.byref(given)] if gives else []
    if getattr(lib, f"kinf_{name}")(*arguments, *outputs, ctypes.byref(error)) != 0:
        message = lib.kinf_error_message(error, None).decode()
        lib.kinf_error_free(error)
        raise KinfError(f"{name}: {message}")
    return given


def main():
    server = None
    if "--demo" in sys.argv:
        server = call("test_server_start", ctypes.c_bool(True))
        config = call("test_server_config", server)
    else:
        config = call("config_infer")
    client = call("client_new", config)
    factory = call("factory_new", client, None)
    pods = call("factory_informer_for", factory, *text(""), *text("v1"), *text("pods"), None)

    seen = threading.Semaphore(0)

    @EVENT  # kept in a variable for as long as the library may call it
    def on_event(_user, event):
        event = ctypes.c_void_p(event)
        print(NAMES[lib.kinf_event_get_type(event)], lib.kinf_event_key(event, None).decode(), flush=True)
        seen.release()

    call("informer_on_event", pods, on_event, None, None, ctypes.c_int64(-1), None, gives=False)
    call("factory_start", factory, gives=False)
    call("factory_wait_for_sync", factory, ctypes.c_int64(30000), gives=False)

    found = call("informer_list", pods, None, ctypes.c_size_t(0), None, ctypes.c_size_t(0))
    for at in range(lib.kinf_list_count(found)):
        pod = ctypes.c_void_p(lib.kinf_list_at(found, at))
        body = json.loads(lib.kinf_object_json(pod, None))
        print("pod", lib.kinf_object_key(pod, None).decode(), "on", body["spec"].get("nodeName"))
        seen.acquire()
    lib.kinf_list_free(found)

    call("factory_shutdown", factory, ctypes.c_int64(-1), gives=False)  # no callback runs after this
    print("kinformer", lib.kinf_version().decode(), "is done")
    lib.kinf_informer_free(pods)
    lib.kinf_factory_free(factory)
    lib.kinf_client_free(client)
    lib.kinf_config_free(config)
    if server:
        lib.kinf_test_server_free(server)


if __name__ == "__main__":
    main()
