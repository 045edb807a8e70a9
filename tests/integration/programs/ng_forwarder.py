# SPDX-License-Identifier: Apache-2.0
"""Between a proxy and its node: datagrams both ways, but for the first reply to
each request, which is lost."""
import select
import socket
import threading


class Forwarder:
    """At .url, until it ends. asked: how often each cookie has been sent;
    replies: what the node has said to it, lost ones too."""

    def __init__(self, node):
        self.front, self.back = (socket.socket(
            socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
        self.front.bind(("127.0.0.1", 0))
        self.back.connect(("127.0.0.1", node))
        self.url = "udp:127.0.0.1:{}".format(self.front.getsockname()[1])
        self.asked, self.replies, self.from_key = {}, {}, {}
        self.done = threading.Event()
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self):
        while not self.done.is_set():
            for s in select.select([self.front, self.back], [], [], .05)[0]:
                data, sender = s.recvfrom(65536)
                cookie = data.split(b" ", 1)[0]
                if s is self.front:
                    self._ask(cookie, data, sender)
                else:
                    self._reply(cookie, data)

    def _ask(self, cookie, data, sender):
        self.asked[cookie] = self.asked.get(cookie, 0) + 1
        self.from_key[cookie] = sender
        self.back.send(data)

    def _reply(self, cookie, data):
        before = self.replies.setdefault(cookie, [])
        before.append(data)
        if len(before) > 1:
            self.front.sendto(data, self.from_key[cookie])

    def end(self):
        self.done.set()
        self.thread.join()
        self.front.close()
        self.back.close()
