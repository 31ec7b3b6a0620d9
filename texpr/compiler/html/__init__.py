"""Schedules as HTML: loop nests as nested boxes with a slider over the steps, equations beside
them, code below each other.

Everything is one self-contained text without outside resources, escaped, so that it shows in a
notebook cell and in a file alike. `nest_boxes` draws a kernel, `highlight` marks words by
Pygments, `document` puts panes together; the style and the few lines of script lie beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from texpr.support.late import offer_late

if TYPE_CHECKING:
    from texpr.compiler.html.document import Pane, fragment, page
    from texpr.compiler.html.highlight import highlighted
    from texpr.compiler.html.nest_boxes import equations_html, nest_html
    from texpr.compiler.html.stages import stages_html

__all__ = ["Pane", "highlighted", "equations_html", "fragment", "nest_html", "page", "stages_html"]

offer_late(__name__)
