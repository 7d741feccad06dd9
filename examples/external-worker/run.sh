#!/bin/sh
# A worker in another process, as curl: what an operator and its workers send to `tidegate serve`.
#
#   tidegate serve --work-root "$PWD" &
#   examples/external-worker/run.sh http://127.0.0.1:7420 TOKEN_FILE "$PWD"
#
# TOKEN_FILE is the file that the service names when it starts; the last argument is a folder that it
# may work in. Needs curl and jq.
set -eu

base=$1
token=$(cat "$2")
work_dir=$3
here=$(dirname "$0")

# The operator's side: start a run, hand out its steps, look at it.
operator() {
    method=$1
    path=$2
    shift 2
    curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $token" "$@" "$base$path"
}

# The worker's side knows nothing but a handle and where the service is.
worker() {
    method=$1
    path=$2
    shift 2
    curl -sS --fail-with-body -X "$method" -H "Authorization: Bearer $handle" "$@" "$base$path"
}

# Takes the next dispatch to an agent. The prompt never passes through here.
claim() {
    handle=$(operator POST "/v1/dispatch/claim?agent=$1&wait_ms=10000" | jq -re .handle)
}

launch=$(jq --arg dir "$work_dir" '. + {work_dir: $dir}' "$here/blueprint.json")
run=$(operator POST /v1/flows -H 'Content-Type: application/json' -d "$launch" | jq -re .run)

# The planner: fetches its prompt, stages a part, submits. It never names a path.
claim planner
goal=$(worker GET /v1/worker/prompt | jq -re .prompt)
printf '# Plan\n\nThe goal: %s\n' "$goal" |
    worker POST '/v1/worker/artifact?name=plan.md' --data-binary @-
worker POST /v1/worker/submit --data-binary 'One page for each reader.'

# The splitter: reads the files that the service made of it, and submits JSON.
claim splitter
payload=$(worker GET /v1/worker/prompt)
for pointer in draft draft/plan.md; do
    file=$(printf '%s' "$payload" | jq -re --arg name "$pointer" \
        '.context.steps[] | select(.name == $name) | .file_path')
    echo "--- $pointer"
    cat "$work_dir/$file"
    echo
done
worker POST /v1/worker/submit --data-binary '{"lanes": ["children", "pilots"]}'

# The writers: one for each lane.
for lane in first second; do
    claim writer
    reader=$(worker GET /v1/worker/prompt | jq -re .prompt)
    printf 'A page for %s.' "$reader" | worker POST /v1/worker/submit --data-binary @-
done

# The run ends by itself.
until operator GET "/v1/runs/$run" | jq -e '.status != "running"' >/dev/null; do
    sleep 0.1
done
operator GET "/v1/runs/$run" | jq -c '{status, result}'
