"""Tidegate's dialect: runs are launched and claimed over HTTP, and a submit completes its attempt."""

import json
import secrets
import time
import urllib.parse

from speaking import Speaking


class Service(Speaking):
    PROMPT = "/v1/worker/prompt"
    DONE = "completed"
    shortest_life_s = 2

    def __init__(self, base_url, token, work):
        super().__init__(base_url, work)
        with open(token, encoding="utf-8") as file:
            self.operator = file.read().strip()

    def ask(self, method, path, document=None, bearer=None, body=b""):
        fields = {"Authorization": f"Bearer {bearer or self.operator}"}
        if document is not None:
            fields["Content-Type"] = "application/json"
            body = json.dumps(document).encode()
        return self.request(method, path, fields, body)

    def launch(self, nodes, agents, init=None, wait=True):
        launch = {
            "blueprint": {
                "id": "probe",
                "flow": {"seq": [self.node(node, agents) for node in nodes]},
                "result": {"$path": "$"},
                "agents": {name: self.agent(agent) for name, agent in agents.items()},
            },
            "init_ctx": init or {},
            "work_dir": str(self.work),
        }
        status, text = self.ask("POST", "/v1/flows", launch)
        assert status == 202, (status, text)
        return json.loads(text)["run"]

    def node(self, node, agents):
        kind, name, *rest = node
        if kind == "lanes":
            items, agent = rest
            body = {"step": {"name": agent, "agent": agent, "in": {"$path": "$.item"}}}
            return {"fanout": {
                "name": name, "items": {"$lit": items}, "bind": "item", "body": body,
            }}
        fault = agents[name].get("inside")
        prompt = {"$lit": {"do": fault}} if fault else rest[0]
        return {"step": {"name": name, "agent": name, "in": prompt}}

    def agent(self, agent):
        shown = {key: agent[key] for key in ("ctx", "verdict") if key in agent}
        if agent.get("life_s"):
            shown["ttl_ms"] = agent["life_s"] * 1000
        if agent.get("inside"):
            shown["worker"] = "probe"
        return shown

    def claim(self, agent):
        status, text = self.ask("POST", f"/v1/dispatch/claim?agent={agent}&wait_ms=30000")
        assert status == 200, (status, text)
        return json.loads(text)["handle"]

    def forged(self, handle):
        """A credential of the same shape; its bearer knows all but the last eight characters."""
        return handle[:-8] + self.unknown()[-8:]

    def unknown(self):
        return f"wh-{secrets.token_urlsafe(16)}"

    def prompt(self, handle):
        status, text = self.ask("GET", self.PROMPT, bearer=handle)
        return status, json.loads(text)

    def stage(self, handle, name, content):
        name = urllib.parse.quote(name, safe="")
        path = f"/v1/worker/artifact?name={name}"
        return self.ask("POST", path, bearer=handle, body=content)[0]

    def submit(self, handle, content, query=""):
        path = "/v1/worker/submit" + (f"?{query}" if query else "")
        return self.ask("POST", path, bearer=handle, body=content)[0]

    def complete(self, handle, content, query=""):
        return self.submit(handle, content, query)

    def finish(self, handle):
        self.submit(handle, b"done")

    def give_up(self, _handle):
        """The attempt ends when its time is over."""

    def pointers(self, handle):
        steps = self.prompt(handle)[1]["context"].get("steps", [])
        return {step["name"]: step["content_url"] for step in steps}

    def pointed(self, handle, name):
        """What the pointer of a step serves, or that of a part of any step."""
        found = [url for at, url in self.pointers(handle).items()
                 if at == name or at.endswith(f"/{name}")]
        if not found:
            return None
        status, text = self.ask("GET", found[0], bearer=handle)
        return text if status == 200 else None

    def end(self, run, patience_s=60):
        until = time.monotonic() + patience_s
        while time.monotonic() < until:
            view = json.loads(self.ask("GET", f"/v1/runs/{run}")[1])
            if view["status"] != "running":
                return view["status"], view.get("result", view.get("error"))
            time.sleep(0.05)
        return None, None

    def result(self, run):
        status, result = self.end(run)
        assert status == self.DONE, (status, result)
        return result
