"""Why did it say that? Which words decided, how far that explanation can be trusted, and what each head looks at.

The door is `unmask.explain.explaining.explain(model, text, pair=None, *, method="ig", target=None)`, which gives an
`Explanation` with `to_dict()`, `in_colour()` for terminals and `_repr_html_()` for notebooks; the page of one is
`unmask.explain.page.explanation_page`. The name `unmask.explain` itself is this room's.
"""
