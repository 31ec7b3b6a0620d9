"""Sphinx makes the site from the Markdown of this folder and the stored notebooks: `make docs`."""

from importlib.metadata import version as version_of

project = "texpr"
author = "The texpr authors"
copyright = author
release = version = version_of("texpr")

extensions = ["myst_nb", "sphinx_copybutton", "sphinx_design"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # outputs are those of `make notebooks`
nb_merge_streams = True
suppress_warnings = ["mystnb.unknown_mime_type"]
exclude_patterns = ["tutorials/*.py", "**/.ipynb_checkpoints"]

html_theme = "furo"
html_title = "texpr"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"


def setup(app) -> None:
    """Add the names of blocks that are no languages: whole texts of errors and outputs of commands."""
    from pygments.lexers.special import TextLexer

    for name in ("error", "output"):
        app.add_lexer(name, TextLexer)
