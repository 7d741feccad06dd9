"""The worker `{{name}}`: counts the words of its prompt, and stages what it has to say as the part
`count.txt`.
"""

import tidegate_plugin.worker as plugin
from tidegate_plugin.worker import Invocation, Refusal, stage


class Worker(plugin.Worker):
    def work(self, invocation: Invocation) -> dict[str, int]:
        words = len(invocation.prompt.split())
        if words == 0:
            raise Refusal("BLANK", "the prompt has no words")
        stage("count.txt", f"{words} words\n")
        return {"words": words}
