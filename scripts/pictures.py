"""Takes the picture of the README, the page of the schedule that stands there: by Chromium.

python scripts/pictures.py [--browser chromium]
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "_static" / "schedule.png"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZES = ("N=4096", "D=1024")
WINDOW = "1920,780"


def readme_schedule() -> tuple[str, str]:
    """The operator and the steps of the README, by running its blocks."""
    names: dict[str, object] = {}
    for block in BLOCK.findall((ROOT / "README.md").read_text(encoding="utf-8")):
        exec(block, names)
    return str(names["rms_norm"]), names["s"].script()  # type: ignore[attr-defined]


def main() -> None:
    """Write the picture."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--browser", default="chromium")
    browser = parser.parse_args().browser
    text, script = readme_schedule()
    with tempfile.TemporaryDirectory() as folder:
        source, steps, page = (Path(folder) / name for name in ("rms_norm.tx", "steps.txt", "page.html"))
        source.write_text(text, encoding="utf-8")
        steps.write_text(script, encoding="utf-8")
        view = ["view", str(source), "--script", str(steps), "-o", str(page), *SIZES]
        subprocess.run([sys.executable, "-m", "texpr", *view], check=True)
        look = ["--headless", "--no-sandbox", "--hide-scrollbars", f"--window-size={WINDOW}"]
        subprocess.run([browser, *look, f"--screenshot={PICTURE}", page.as_uri()], check=True)


if __name__ == "__main__":
    main()
