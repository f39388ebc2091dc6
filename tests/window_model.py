# SPDX-License-Identifier: MIT
"""A model with a small window, for tests of long work: it counts every request, refuses what is too
long, and otherwise calls a tool so many times before it answers.

    model = SmallModel(window=32768, rounds=200, call=lambda n: ("bash", {"command": "..."}))
    with Server(model) as server: ...
    model.requests, model.refused, model.summaries
"""
import json
import threading


class SmallModel:
    def __init__(self, window, rounds, call, bytes_per_token=4, names_window=True, reports_usage=True,
                 fails=None):
        self.window, self.rounds, self.call = window, rounds, call
        self.bytes_per_token, self.names_window = bytes_per_token, names_window
        self.reports_usage, self.fails = reports_usage, fails
        self.lock = threading.Lock()
        self.n_calls = 0
        self.sizes, self.refused, self.summaries, self.bodies = [], [], [], []

    def size(self, body):
        """Tokens of what the model reads: texts, arguments and schemas, not the JSON around."""
        texts = []

        def walk(value):
            if isinstance(value, str):
                texts.append(value)
            elif isinstance(value, dict):
                for key, item in value.items():
                    texts.append(key)
                    walk(item)
            elif isinstance(value, list):
                for item in value:
                    walk(item)
        walk({k: body.get(k) for k in ("messages", "tools", "system", "input", "instructions")})
        return int(sum(len(t.encode()) for t in texts) / self.bytes_per_token)

    def __call__(self, body):
        with self.lock:
            size = self.size(body)
            self.bodies.append(body)
            self.sizes.append(size)
            if size > self.window:
                self.refused.append(size)
                return self.refusal(size)
            usage = {"prompt_tokens": size, "completion_tokens": 20, "total_tokens": size + 20}
            more = {"usage": usage, "piece": 4000} if self.reports_usage else {"piece": 4000}
            if not body.get("tools"):
                self.summaries.append((self.n_calls, size))
                if self.fails:
                    return self.fails
                return {"text": "## Goal\nGo on with the work.\n## Next Steps\ncall again", **more}
            if self.n_calls >= self.rounds:
                return {"text": "All done.", **more}
            self.n_calls += 1
            name, arguments = self.call(self.n_calls)
            return {"tool_calls": [{"id": f"c{self.n_calls}", "name": name,
                                    "arguments": json.dumps(arguments)}], **more}

    def refusal(self, size):
        words = (f"This model's maximum context length is {self.window} tokens. However, your "
                 f"messages resulted in {size} tokens." if self.names_window
                 else "Please reduce the length of the messages.")
        return {"status": 400, "body": {"error": {"message": words, "type": "invalid_request_error",
                                                  "code": "context_length_exceeded"}}}
