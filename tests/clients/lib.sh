# Shared by the shell parts of tests/clients. A check is one line: "ok   WHAT" or "FAIL WHAT".

work=${CLIENTS_WORK:?set by tests/clients/run: a scratch folder}

ok() { echo "ok   $*"; }
fail() { echo "FAIL $*"; }

# same WHAT EXPECTED ACTUAL
same() {
    if [ "$2" == "$3" ]; then ok "$1: $(one_line "$2")"; else fail "$1"; difference "$2" "$3"; fi
}

# has WHAT PATTERN TEXT: some line of TEXT matches the extended regular expression.
has() {
    if grep -Eq -- "$2" <<<"$3"; then ok "$1: /$2/"; else fail "$1: no line matches /$2/ in"; indent "$3"; fi
}

# fails WHAT PATTERN COMMAND...: the command fails and says PATTERN.
fails() {
    local what=$1 pattern=$2 out
    shift 2
    if out=$("$@" 2>&1); then fail "$what: succeeded with: $(one_line "$out")"; else has "$what" "$pattern" "$out"; fi
}

# eventually SECONDS COMMAND...: retries until the command succeeds.
eventually() {
    local end=$((SECONDS + $1))
    shift
    until "$@" >/dev/null 2>&1; do
        [ $SECONDS -lt $end ] || return 1
        sleep 0.1
    done
}

one_line() { local text=${1//$'\n'/ | }; echo "${text:0:160}"; }
indent() { sed 's/^/         /' <<<"$1"; }
difference() { diff <(echo "$1") <(echo "$2") | sed -n '/^[<>]/s/^/         /p' | head -20; }
