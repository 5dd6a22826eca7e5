#!/usr/bin/env python3
"""Writes a C program that calls every function of the header with bad arguments, one at a time.

For each function: NULL for each pointer; for each text NULL with a length, bytes that are not UTF-8, no
bytes, and lengths beyond reason. All other arguments are good. What is required must be refused by
KINF_INVALID_ARGUMENT and a message that names it; nothing may crash; outputs must be clear.
"""
import re, sys

# Pointers that may be NULL, and texts that may be empty, by name or by function and name.
OPTIONAL = {
    "error", "length", "value_length", "user", "tag", "free_user", "free_item", "registration", "selection",
    "options", "known", "ns", "context", "labels", "fields", "group", "items",
    "kinf_client_create.object", "kinf_client_replace.object", "kinf_client_patch.object",
    "kinf_client_apply.object", "kinf_client_delete.object", "kinf_client_delete_with.object", "kinf_log_to_callback.callback",
    "kinf_config_set_proxy.url", "kinf_selection_set_namespace.name", "kinf_factory_options_set_name.name",
    "kinf_factory_options_set_namespace.name",
}
# Texts that may be empty but not NULL.
MAY_BE_EMPTY = {
    "kinf_config_set_basic_auth.password", "kinf_config_set_cluster.name", "pointer", "value", "key",
}
NO_EMPTY = {"kinf_informer_add_index.pointer", "kinf_informer_get.key", "kinf_object_label.key", "kinf_object_annotation.key"}
# Bytes, whatever they are: judged by what they should be.
BYTES = {"pem", "certificate"}
# With good arguments these end what the others need.
ENDING = re.compile(r"_free$|_stop$|_close$|_shutdown$|_stop_informer$|_drop_connections$|_compact$|_fail$")
TEXTS = {
    "url": "http://127.0.0.1:1", "path": "/readyz", "text": "{}", "json": '{"metadata":{"name":"x"}}',
    "pointer": "/metadata/name", "key": "default/x", "name": "pods", "kind": "Pod", "plural": "pods",
    "version": "v1", "group": "", "labels": "app=web", "fields": "metadata.name=x", "value": "x",
    "index": "namespace", "ns": "default", "context": "", "token": "t", "field_manager": "c",
    "user": "u", "password": "p",
}


def prototypes(header):
    header = re.sub(r"/\*.*?\*/|//[^\n]*", "", header, flags=re.S)
    header = re.sub(r"^\s*#.*$", "", header, flags=re.M)
    header = re.sub(r"static inline.*?\}", "", header, flags=re.S)
    for result, name, parameters in re.findall(
        r"^((?:const )?\w+ \*?)\s*(kinf_\w+)\(([^;]*?)\);", header, flags=re.M | re.S
    ):
        parsed = []
        for parameter in re.sub(r"\s+", " ", parameters).split(","):
            parameter = parameter.strip()
            if parameter != "void":
                kind, pname = re.match(r"(.*?)(\w+)$", parameter).groups()
                parsed.append((kind.strip(), pname))
        yield result.strip(), name, parsed


class Function:
    def __init__(self, result, name, parameters):
        self.result, self.name, self.parameters = result, name, parameters
        names = [p for _, p in parameters]
        self.texts = {n for t, n in parameters if t == "const char *" and n + "_length" in names}

    def is_in(self, names, parameter):
        return parameter in names or f"{self.name}.{parameter}" in names

    def good(self, kind, name):
        if name.endswith("_length") and name[:-7] in self.texts:
            return f"strlen({self.good('const char *', name[:-7])})"
        if name in self.texts:
            return '"%s"' % TEXTS.get(name, "x").replace('"', '\\"')
        if kind.endswith("_callback"):
            return {"kinf_free_callback": "NULL", "kinf_item_free_callback": "NULL"}.get(kind, f"any_{kind}")
        handle = re.fullmatch(r"(const )?(kinf_\w+) \*", kind)
        if kind == "kinf_index_values *":
            return "NULL"
        if handle and handle[2] in ("kinf_value", "kinf_informer_status"):
            return f"&out_{handle[2]}"
        if handle:
            return f"good.{handle[2][5:]}"
        out = re.fullmatch(r"kinf_(\w+) \*\*", kind)
        if out:
            return f"&out_{'error' if name == 'error' else out[1]}"
        if name == "status_size":
            return "sizeof out_kinf_informer_status"
        return {
            "size_t *": "&out_size", "int64_t *": "&out_int", "double *": "&out_double", "bool *": "&out_bool",
            "const char **": "&out_chars", "void *": "good.item", "void *const *": "(void *const *)&good.item",
        }.get(kind, "1" if name == "items_count" else "0")

    def required(self, name):
        return not self.is_in(OPTIONAL, name)

    def call(self, bad, label, must_refuse):
        arguments = [bad.get(n, self.good(t, n)) for t, n in self.parameters]
        call = f"{self.name}({', '.join(arguments)})"
        wrong = next(iter(bad))
        if self.result == "kinf_status" and "error" in [n for _, n in self.parameters]:
            named = f'"{wrong}"' if must_refuse else "NULL"
            return f'    clear(); judge({call}, {named}, "{self.name}: {label}");'
        return f'    clear(); (void){call}; survived("{self.name}: {label}");'

    def calls(self):
        ending = ENDING.search(self.name)
        for position, (kind, name) in enumerate(self.parameters):
            pointer = kind.endswith("*") or kind.endswith("_callback")
            # What ends something is called on nothing but NULL.
            if not pointer or (ending and position > 0):
                continue
            refused = self.required(name) and name not in ("error",) and not kind == "kinf_index_values *"
            if name in self.texts:
                length = name + "_length"
                yield self.call({name: "NULL", length: "5"}, f"{name} is NULL, with a length", True)
                yield self.call({name: "NULL", length: "0"}, f"{name} is NULL", refused)
                if not self.is_in(BYTES, name):
                    yield self.call({name: '"a\\xFFz"', length: "3"}, f"{name} is not UTF-8", True)
                for huge in ("SIZE_MAX", "SIZE_MAX / 2", "(size_t)1 << 31"):
                    yield self.call({name: '"a"', length: huge}, f"{name} is huge: {huge}", True)
                empty_ok = self.is_in(MAY_BE_EMPTY, name) and not self.is_in(NO_EMPTY, name)
                if not self.is_in(BYTES, name):
                    yield self.call({name: '""', length: "0"}, f"{name} is empty", refused and not empty_ok)
            else:
                yield self.call({name: "NULL"}, f"{name} is NULL", refused or kind == "kinf_index_values *")
        if self.parameters:
            nulls = {n: "NULL" for t, n in self.parameters if t.endswith("*") or t.endswith("_callback")}
            if nulls:
                arguments = [nulls.get(n, "0") for t, n in self.parameters]
                yield f'    clear(); (void){self.name}({", ".join(arguments)}); survived("{self.name}: all NULL");'


functions = [Function(*p) for p in prototypes(open(sys.argv[1]).read())]
outs = sorted({m[1] for f in functions for t, _ in f.parameters if (m := re.fullmatch(r"kinf_(\w+) \*\*", t))} - {"error"})
print("/* Written by nulls.py. */\n#include \"fixture.h\"\n")
for out in outs:
    print(f"static kinf_{out} *out_{out};")
print("void clear_outputs(void)\n{")
for out in outs:
    print(f"    kinf_{out}_free(out_{out});\n    out_{out} = NULL;")
print("}\n\nbool outputs_are_clear(void)\n{\n    return " + " && ".join(f"!out_{out}" for out in outs) + ";\n}\n")
for function in functions:
    calls = list(function.calls())
    if calls:
        print(f"static void test_{function.name}(void)\n{{\n" + "\n".join(calls) + "\n}\n")
print("unsigned test_all(void)\n{")
tested = [f for f in functions if list(f.calls())]
for function in tested:
    print(f"    test_{function.name}();")
print(f"    return {len(functions)};\n}}")
