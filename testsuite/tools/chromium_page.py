#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0-or-later
"""Opens a page of `smarket simulate --report` in a headless Chromium, as its debugging pipe allows, and checks it.

usage: chromium_page.py PAGE FOLDER

Writes screen.png, print.png and print.pdf into FOLDER. Prints each fault; exits 1 when there is one.
"""
import base64
import itertools
import json
import os
import subprocess
import sys
import tempfile
import time

PATIENCE = 60  # seconds for an answer


class Browser:
    """Messages end with a zero byte; Chromium reads its descriptor 3 and writes to 4."""

    def __init__(self, folder):
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()
        command = ["chromium", "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                   "--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe",
                   "--user-data-dir=" + folder, "--window-size=1280,900", "about:blank"]

        def arrange():
            spare = [os.dup2(fd, 20 + i) for i, fd in enumerate((to_read, to_write))]
            os.dup2(spare[0], 3)
            os.dup2(spare[1], 4)

        self.process = subprocess.Popen(command, close_fds=False, preexec_fn=arrange,
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.rest, self.events, self.numbers, self.session = b"", [], itertools.count(1), None

    def receive(self):
        while b"\0" not in self.rest:
            piece = os.read(self.from_browser, 1 << 16)
            if not piece:
                raise SystemExit("chromium ended")
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def ask(self, method, **parameters):
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.receive()
            if answer.get("id") == number:
                if "error" in answer:
                    raise SystemExit(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path):
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.ask(domain + ".enable")
        self.ask("Page.navigate", url="file://" + os.path.abspath(path))
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression):
        result = self.ask("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise SystemExit(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def wait_for(self, expression):
        end = time.monotonic() + PATIENCE
        while not self.evaluate(expression):
            if time.monotonic() > end:
                raise SystemExit("never true: " + expression)
            time.sleep(0.05)

    def press(self, key):
        for kind in ("keyDown", "keyUp"):
            text = {"text": key} if len(key) == 1 and kind == "keyDown" else {}
            code = {"windowsVirtualKeyCode": 9} if key == "Tab" else {}
            self.ask("Input.dispatchKeyEvent", type=kind, key=key, **text, **code)

    def screenshot(self, path):
        size = self.ask("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": min(size["height"], 6000), "scale": 1}
        shot = self.ask("Page.captureScreenshot", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(shot["data"]))

    def close(self):
        self.process.terminate()
        self.process.wait()


# How many different colours a canvas has: an empty one has a single one.
COLOURS = """(canvas) => { const pixels = new Uint32Array(canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data.buffer);
  return new Set(pixels).size; }"""


def check_drawing(browser, expect):
    colours = browser.evaluate(f"[...document.querySelectorAll('.chart canvas')].map({COLOURS})")
    charts = browser.evaluate("document.querySelectorAll('#charts figure').length")
    expect(len(colours) == charts + 1 and charts >= 2, f"{charts} charts and a plan, but {len(colours)} canvases")
    expect(all(number > 10 for number in colours), f"a chart is empty: colours of the canvases {colours}")
    expect(browser.evaluate("[...document.querySelectorAll('section:not(#bills)')].every((each) => each.querySelector('table, .chart'))"),
           "a section is empty")


def check_keyboard(browser, expect):
    reached = set()
    for _ in range(60):
        browser.press("Tab")
        reached.add(browser.evaluate("(document.activeElement.closest('figure') || document.activeElement).id || "
                                     "document.activeElement.closest('[id]')?.id"))
    for part in ("account", "mechanisms", "chart-busy", "plan-chart", "zoom-in"):
        expect(part in reached, f"the Tab key does not reach {part}: {sorted(filter(None, reached))}")
    browser.evaluate("document.querySelector('#plan-chart .chart').focus()")
    before = browser.evaluate("document.getElementById('plan-job').textContent")
    summary = browser.evaluate("document.querySelector('#plan-details summary').textContent")
    browser.press("ArrowDown")
    first = browser.evaluate("document.getElementById('plan-job').textContent")
    browser.press("ArrowDown")
    second = browser.evaluate("document.getElementById('plan-job').textContent")
    expect(before != first != second and first.startswith("Job "), f"the down key selects no job: {first}, {second}")
    for _ in range(4):
        browser.press("+")
    zoomed = browser.evaluate("document.querySelector('#plan-details summary').textContent")
    browser.press("Home")
    expect(browser.evaluate("document.querySelector('#plan-details summary').textContent") == summary, "Home does not show all")
    return zoomed != summary


def check_filters(browser, expect):
    """The first account alone: fewer jobs, and all figures follow."""
    jobs = "document.querySelector('#served-table tbody td:nth-child(3)').textContent"
    all_jobs = browser.evaluate(jobs)
    browser.evaluate("{ const box = document.getElementById('account'); box.value = '0'; box.dispatchEvent(new Event('change')); }")
    expect(browser.evaluate(jobs) != all_jobs, "the filter of accounts changes nothing")
    expect(browser.evaluate("document.querySelectorAll('#waited-table tbody tr').length") == 1, "other accounts are left in the table of waits")
    browser.evaluate("document.querySelector('#filters button[type=reset]').click()")
    browser.wait_for(f"{jobs} === {json.dumps(all_jobs)}")
    boxes = browser.evaluate("document.querySelectorAll('#mechanisms input').length")
    browser.evaluate("document.querySelector('#mechanisms input').click()")
    rows = browser.evaluate("document.querySelectorAll('#served-table tbody tr').length")
    expect(rows == max(1, boxes - 1), f"{rows} mechanisms are left of {boxes}")
    browser.evaluate("document.querySelector('#filters button[type=reset]').click()")
    browser.wait_for(f"document.querySelectorAll('#served-table tbody tr').length === {boxes}")


def check_print(browser, expect, folder):
    pdf = base64.b64decode(browser.ask("Page.printToPDF", printBackground=False)["data"])
    with open(os.path.join(folder, "print.pdf"), "wb") as file:
        file.write(pdf)
    expect(pdf.startswith(b"%PDF") and len(pdf) > 20000, "nothing is printed")
    browser.ask("Emulation.setEmulatedMedia", media="print")
    hidden = browser.evaluate("['#filters', '.tools', '.skip'].every((each) => getComputedStyle(document.querySelector(each)).display === 'none')")
    expect(hidden, "what cannot be used on paper is printed")
    browser.evaluate("dispatchEvent(new Event('beforeprint'))")
    expect(browser.evaluate("[...document.querySelectorAll('details')].every((each) => each.open)"), "a table stays closed in print")
    expect(browser.evaluate("[...document.querySelectorAll('.chart canvas')].every((each) => each.clientWidth <= 660)"), "a chart is wider than a sheet")
    browser.screenshot(os.path.join(folder, "print.png"))
    browser.evaluate("dispatchEvent(new Event('afterprint'))")
    browser.ask("Emulation.setEmulatedMedia", media="")


def check_events(browser, expect):
    for event in browser.events:
        method, parameters = event["method"], event.get("params", {})
        if method == "Runtime.exceptionThrown" or method == "Log.entryAdded" or method == "Runtime.consoleAPICalled":
            expect(False, f"{method}: {json.dumps(parameters)[:300]}")
        if method == "Network.requestWillBeSent":
            url = parameters["request"]["url"]
            expect(url.startswith(("file://", "about:", "data:")), f"a request over the network: {url}")


def main():
    page, folder = sys.argv[1:]
    faults = []

    def expect(is_so, fault):
        if not is_so:
            faults.append(fault)

    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        browser = Browser(profile)
        try:
            browser.open(page)
            browser.screenshot(os.path.join(folder, "screen.png"))
            check_drawing(browser, expect)
            check_keyboard(browser, expect)
            check_filters(browser, expect)
            check_print(browser, expect, folder)
            expect(browser.evaluate("window.stolen === undefined"), "text of the log ran as a script")
            expect(browser.evaluate("document.querySelectorAll('main b, main img, main script, li script').length") == 0, "text of the log became elements")
            check_events(browser, expect)
        finally:
            browser.close()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
