#!/usr/bin/python3
"""Takes the pictures of docs/notebooks.md in a real session: Jupyter Notebook in
headless Chromium, with the kernel running every cell.

    notebooks/screenshots.py PREFIX     # the kernel is in PREFIX, see install.sh

Needs Debian's jupyter-notebook and chromium.
"""
import asyncio
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from tornado.websocket import websocket_connect

HERE = Path(__file__).resolve().parent
TARGET = HERE.parent / "docs" / "figures" / "notebooks"
SERVER, DEVTOOLS = 18899, 19333  # ports
WIDTH = 1000  # of the page, in pixels

# Name of the picture: notebook, and text of the cell or cells that it shows.
CELLS = {
    "training": ("01-first-gcn", ["run.Live = Display", "run.Summary()"]),
    "errors": ("02-why-debias", ["notebook.Draw(curves)"]),
    "comparison": ("05-the-papers-comparison", ["comparison.Sheet()", "comparison.Chart()"]),
}

READY = """!!(window.Jupyter && Jupyter.notebook && Jupyter.notebook._fully_loaded &&
    Jupyter.notebook.kernel && Jupyter.notebook.kernel.is_connected())"""
BUSY = "Jupyter.notebook.get_cells().some(c => c.element.hasClass('running'))"
FAILED = "Jupyter.notebook.element.find('.output_error').text()"
PLACE = """(texts => {
    const cells = Jupyter.notebook.get_cells().filter(c => c.cell_type === 'code' && texts.some(t => c.get_text().includes(t)));
    const boxes = cells.map(c => c.element[0].getBoundingClientRect());
    return JSON.stringify([cells.length, Math.min(...boxes.map(b => b.left)), Math.min(...boxes.map(b => b.top)),
        Math.max(...boxes.map(b => b.right)), Math.max(...boxes.map(b => b.bottom))]);
})"""


class Page:
    """A tab of the browser, driven over the DevTools protocol."""

    async def open(self, address):
        request = urllib.request.Request(f"http://127.0.0.1:{DEVTOOLS}/json/new?about:blank", method="PUT")
        tab = json.load(urllib.request.urlopen(request))
        self.socket = await websocket_connect(tab["webSocketDebuggerUrl"], max_message_size=1 << 28)
        self.calls = 0
        await self.size(900)
        await self.call("Page.navigate", url=address)
        await self.until(READY, 60)

    async def call(self, method, **params):
        self.calls += 1
        await self.socket.write_message(json.dumps({"id": self.calls, "method": method, "params": params}))
        while True:
            message = json.loads(await self.socket.read_message())
            if message.get("id") == self.calls:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]

    async def js(self, code):
        result = await self.call("Runtime.evaluate", expression=code, returnByValue=True)
        if "exceptionDetails" in result:
            raise RuntimeError(result["exceptionDetails"]["exception"]["description"])
        return result["result"].get("value")

    async def until(self, condition, seconds):
        for _ in range(int(seconds * 5)):
            if await self.js(condition):
                return
            await asyncio.sleep(0.2)
        raise TimeoutError(condition)

    async def size(self, height):
        await self.call("Emulation.setDeviceMetricsOverride", width=WIDTH, height=height, deviceScaleFactor=1, mobile=False)

    async def run_all(self):
        await self.js("Jupyter.notebook.execute_all_cells(); 1")
        await self.until(f"!{BUSY}", 240)
        if failed := await self.js(FAILED):
            raise RuntimeError(failed)

    async def unroll(self):
        """Makes the window as long as the notebook."""
        await self.js("Jupyter.notebook.get_cells().forEach(c => c.unselect()); 1")
        await self.size(int(await self.js("document.getElementById('notebook').scrollHeight")) + 200)
        await asyncio.sleep(1)

    async def picture(self, name, left, top, right, bottom):
        clip = dict(x=left, y=top, width=right - left, height=bottom - top, scale=1)
        result = await self.call("Page.captureScreenshot", format="png", clip=clip)
        (TARGET / f"{name}.png").write_bytes(base64.b64decode(result["data"]))

    async def cells(self, name, texts):
        found, *box = json.loads(await self.js(f"{PLACE}({json.dumps(texts)})"))
        if found != len(texts):
            raise RuntimeError(f"{name}: {found} cells for {texts}")
        await self.picture(name, *box)

    async def close(self):
        await self.js("Jupyter.notebook.session.delete(); 1")
        await asyncio.sleep(0.5)
        self.socket.close()


async def interrupted():
    """Presses the stop button during a training."""
    page = Page()
    await page.open(f"http://127.0.0.1:{SERVER}/notebooks/01-first-gcn.ipynb")
    await page.js("""Jupyter.notebook.get_cells().forEach(c => c.set_text(c.get_text().replace('MaxBatches: 300', 'MaxBatches: 100000, Patience: train.Unlimited')));
        const fit = Jupyter.notebook.get_cells().findIndex(c => c.get_text().startsWith('run.Live = Display'));
        Jupyter.notebook.execute_cells(Array.from(Array(fit + 2).keys())); 1""")
    await page.until("Jupyter.notebook.element.find('.output_svg').text().includes('batch ')", 60)
    await asyncio.sleep(2)
    await page.js("document.querySelector('[data-jupyter-action=\"jupyter-notebook:interrupt-kernel\"]').click(); 1")
    await page.until(f"!{BUSY}", 10)
    await page.unroll()
    await page.cells("interrupted", ["run.Live = Display", "run.Summary()"])
    await page.close()


async def shoot():
    TARGET.mkdir(parents=True, exist_ok=True)
    for notebook in sorted({notebook for notebook, _ in CELLS.values()}):
        page = Page()
        await page.open(f"http://127.0.0.1:{SERVER}/notebooks/{notebook}.ipynb")
        await page.run_all()
        if notebook.startswith("01"):
            await page.js("document.getElementById('site').scrollTop = 0; 1")
            await page.picture("page", 0, 0, WIDTH, 900)
        await page.unroll()
        for name, (of, texts) in CELLS.items():
            if of == notebook:
                await page.cells(name, texts)
        await page.close()
    await interrupted()


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: notebooks/screenshots.py PREFIX")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        for notebook in HERE.glob("*.ipynb"):
            shutil.copy(notebook, folder)
        environment = dict(os.environ, JUPYTER_PATH=sys.argv[1], HOME=folder)
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        programs = [
            ["jupyter", "notebook", "--allow-root", "--no-browser", "--ip=127.0.0.1", f"--port={SERVER}", "--port-retries=0",
             "--NotebookApp.token=", "--NotebookApp.password=", f"--notebook-dir={folder}"],
            ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", f"--remote-debugging-port={DEVTOOLS}",
             "--remote-allow-origins=*", f"--user-data-dir={folder}/chromium", "about:blank"],
        ]
        running = [subprocess.Popen(program, env=environment, **quiet) for program in programs]
        try:
            for address in (f"http://127.0.0.1:{SERVER}/api", f"http://127.0.0.1:{DEVTOOLS}/json/version"):
                wait_for(address)
            asyncio.run(shoot())
        finally:
            for program in running:
                program.terminate()
                program.wait()


def wait_for(address):
    for _ in range(100):
        try:
            urllib.request.urlopen(address).read()
            return
        except OSError:
            time.sleep(0.3)
    sys.exit(f"nothing answers at {address}")


if __name__ == "__main__":
    main()
