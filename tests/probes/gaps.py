#!/usr/bin/env python3
"""Asks a running service the yes/no questions of GAP 1 to 13: "yes" is the safe answer.

The questions are the same for each service; how it is spoken to is its dialect's to know. Nothing but
the standard library is used, and nothing but the given address is spoken to.

    gaps.py http://127.0.0.1:7420 tidegate --token FILE --work DIR
    gaps.py http://127.0.0.1:7777 mlua-swarm --work DIR

DIR is a folder that the service may work in. `--only 3,8` asks some of them. GAP 1 is asked where a
credential's time can be chosen, else with `--patient SECONDS`, which is how long it lives.
"""

import argparse
import importlib
import json
import time

# Far longer than what is asked for takes.
PATIENCE_S = 30


def step(name):
    return ("step", name, "do it")


def gap1(service, patient_s):
    life_s = service.shortest_life_s or patient_s
    if not life_s:
        return None, "not asked: a credential's time can't be chosen, and --patient was not given"
    service.launch([step("a")], {"a": {"life_s": life_s}})
    worker = service.claim("a")
    time.sleep(life_s + 1)
    fetched = service.prompt(worker)[0]
    submitted = service.submit(worker, b"late")
    seen = f"{life_s} s later: prompt {fetched}, submit {submitted}"
    return fetched >= 400 and submitted >= 400, seen


def gap2(service, _patient_s):
    service.launch([step("a")], {"a": {}})
    worker = service.claim("a")
    forged = service.forged(worker)
    staged = service.stage(forged, "part", b"forged")
    submitted = service.submit(forged, b"forged")
    service.finish(worker)
    return staged >= 400 and submitted >= 400, f"artifact {staged}, submit {submitted}"


def gap3(service, _patient_s):
    run = service.launch([step("a"), step("b")], {"a": {}, "b": {}})
    first = service.claim("a")
    service.complete(first, b"first")
    second = service.claim("b")
    fetched = service.prompt(first)[0]
    staged = service.stage(first, "late", b"late")
    submitted = service.submit(first, b"late")
    pointed = service.pointed(second, "a")
    service.complete(second, b"done")
    value = service.result(run)["a"]
    seen = (
        f"prompt {fetched}, artifact {staged}, submit of another body {submitted}; "
        f"the pointer serves {short(pointed)}, the flow has {short(value)}"
    )
    return min(fetched, staged, submitted) >= 400 and b"late" not in (pointed or b""), seen


def gap4(service, _patient_s):
    ask = lambda fields: service.request("GET", service.PROMPT, fields)[0]
    service.launch([step("a")], {"a": {}})
    worker = service.claim("a")
    unknown = service.unknown()
    classes = {
        "no credential": ask({}),
        "another scheme": ask({"Authorization": "Basic YTpi"}),
        "malformed": ask({"Authorization": "Bearer ???"}),
        "unknown": ask({"Authorization": f"Bearer {unknown}"}),
    }
    guesses = [ask({"Authorization": f"Bearer {service.unknown()}"}) for _ in range(200)]
    still = service.prompt(worker)[0]
    service.finish(worker)
    said = ", ".join(f"{name} {status}" for name, status in classes.items())
    held = guesses.index(429) if 429 in guesses else None
    throttled = "never" if held is None else f"after {held} guesses"
    seen = f"{said}; throttled {throttled} of 200; a good credential then {still}"
    return set(classes.values()) == {401} and held is not None and still == 200, seen


def gap5(service, _patient_s):
    run = service.launch([step("a")], {"a": {}})
    worker = service.claim("a")
    text = " \tkept \r\n\n"
    not_text = service.stage(worker, "bytes", b"a\xffb")
    service.stage(worker, "part", text.encode())
    service.complete(worker, text.encode())
    value = service.result(run)["a"]
    out, part = value["out"], value["parts"]["part"]
    kept = value["parts"].get("bytes")
    seen = f"body {short(out)}, part {short(part)}; bytes that are no text {not_text}"
    seen += f", kept as {short(kept)}" if kept is not None else ""
    return (out, part) == (text, text) and not_text >= 400, seen


def gap6(service, _patient_s):
    run = service.launch([step("a")], {"a": {}})
    worker = service.claim("a")
    status = service.complete(worker, b"skipped", "verdict=skip")
    context = service.result(run)
    seen = f"submit {status}; the flow has {short(context)}"
    return status < 300 and "a" not in context, seen


def gap7(service, _patient_s):
    service.launch([step("a"), step("b")], {"a": {}, "b": {}})
    first = service.claim("a")
    for text in (b"# old", b"# new"):
        service.stage(first, "plan.md", text)
    service.complete(first, b"done")
    second = service.claim("b")
    pointed = service.pointed(second, "plan.md")
    service.complete(second, b"done")
    return pointed == b"# new", f"the pointer of the part serves {short(pointed)}"


def gap8(service, _patient_s):
    lanes = ("lanes", "pages", ["left", "right"], "lane")
    service.launch([lanes, step("b")], {"lane": {}, "b": {}})
    for _ in range(2):
        worker = service.claim("lane")
        prompt = service.prompt(worker)[1]["prompt"]
        service.complete(worker, f"page {prompt}".encode())
    reader = service.claim("b")
    names = sorted(service.pointers(reader))
    served = b" ".join(service.pointed(reader, name) or b"" for name in names)
    service.complete(reader, b"done")
    has = [page in served for page in (b"page left", b"page right")]
    return all(has), f"pointers {names}; {sum(has)} of 2 pages can be fetched"


def gap9(service, _patient_s):
    agents = {"a": {"ctx": {"submit_format": "json"}, "life_s": service.shortest_life_s}}
    run = service.launch([step("a")], agents)
    worker = service.claim("a")
    refused = service.submit(worker, b"no JSON")
    service.give_up(worker)
    state, context = service.end(run)
    seen = f"submit {refused}; the attempt then ends and the run has {state}"
    seen += f" with {short(context)}" if state == service.DONE else ""
    return refused == 422 and state != service.DONE, seen


def gap10(service, _patient_s):
    contract = {"channel": "body", "values": ["PASS"]}
    service.launch([step("s")], {"s": {"verdict": contract}})
    bound = service.claim("s")
    service.launch([step("s")], {"s": {}})
    free = service.claim("s")
    status = service.complete(free, b"anything")
    service.complete(bound, b"PASS")
    return status < 300, f"the agent without a contract submits {status}"


def gap11(service, _patient_s):
    service.launch([step("a"), step("b")], {"a": {}, "b": {}})
    first = service.claim("a")
    service.stage(first, "a.md", b"the part")
    service.complete(first, b"the final body")
    second = service.claim("b")
    served = [service.pointed(second, name) for name in service.pointers(second)]
    files = [text for name, text in service.files() if name == "a.md"]
    service.complete(second, b"done")
    whole = any(text.rstrip().endswith(b"the final body") or b"the final body" in text
                for text in files)
    kept = b"the part" in served
    seen = f"the file a.md has the {'final body' if whole else 'part'}; "
    seen += "the part is served" if kept else f"served are {short(served)}"
    return whole and kept, seen


def gap12(service, _patient_s):
    ballast = "x" * 10_000
    lanes = ("lanes", "pages", list(range(20)), "lane")
    run = service.launch([lanes], {"lane": {}}, {"ballast": ballast})
    for _ in range(20):
        service.complete(service.claim("lane"), b"small")
    size = len(json.dumps(service.result(run)))
    seen = f"20 lanes of 5 bytes beside 10,000 bytes of context come to {size:,} bytes"
    return size < 2 * len(ballast), seen


def gap13(service, _patient_s):
    answers = []
    for fault in ("spin", "grow"):
        started = time.monotonic()
        run = service.launch([step("inside")], {"inside": {"inside": fault}}, wait=False)
        state, told = service.end(run, PATIENCE_S)
        elapsed = time.monotonic() - started
        ended = f"{state} after {elapsed:.0f} s ({short(told)})"
        answers.append((state is not None, f"{fault}: " + (ended if state else
                        f"no end within {PATIENCE_S} s")))
    return all(good for good, _ in answers), "; ".join(seen for _, seen in answers)


QUESTIONS = {
    1: ("does a handle end with its time?", gap1),
    2: ("is a forged or expired credential refused?", gap2),
    3: ("is a settled step's credential dead while the run goes on?", gap3),
    4: ("are bad credentials 401, and is guessing held up?", gap4),
    5: ("are bodies and parts kept byte for byte, or refused?", gap5),
    6: ("does a skipped step leave no output?", gap6),
    7: ("does a part's pointer serve what was staged last?", gap7),
    8: ("can each lane's output be fetched?", gap8),
    9: ("does a refused body stay without effect when the attempt ends?", gap9),
    10: ("does a blueprint's verdict contract bind itself alone?", gap10),
    11: ("can no part take the place of the step's own file, or be lost by it?", gap11),
    12: ("do lanes give their own outputs alone?", gap12),
    13: ("is a worker inside of the service bounded?", gap13),
}


def short(value):
    text = json.dumps(value) if isinstance(value, str) else repr(value)
    return text if len(text) <= 120 else f"{text[:100]}... ({len(text)} characters)"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base_url")
    parser.add_argument("dialect", choices=["tidegate", "mlua-swarm"])
    parser.add_argument("--token", help="the file of an operator's token")
    parser.add_argument("--work", required=True, help="a folder that the service may work in")
    parser.add_argument("--only", help="numbers of questions, with commas")
    parser.add_argument("--patient", type=int, help="seconds that a credential lives")
    options = parser.parse_args()
    dialect = importlib.import_module(options.dialect.replace("-", "_"))
    service = dialect.Service(options.base_url, options.token, options.work)
    wanted = [int(number) for number in options.only.split(",")] if options.only else QUESTIONS
    for number in wanted:
        question, ask = QUESTIONS[number]
        try:
            answer, seen = ask(service, options.patient)
        except Exception as error:  # What went wrong is what was seen.
            answer, seen = None, f"the probe broke off: {type(error).__name__}: {short(str(error))}"
        word = {True: "yes", False: "no", None: "?"}[answer]
        print(f"| {number} | {question} | {word} | {seen} |", flush=True)


if __name__ == "__main__":
    main()
