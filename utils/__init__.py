"""The helpers that the lessons share. Each module can be read on its own.

static: one vector per word. models, contextual: one vector per word and sentence. corpora: text.
geometry: measures, as pure functions of arrays. download, plotting, checks: the rest.
"""

__version__ = "0.1.0"
