"""Groups of verbs of which one is meant when none is named: `unmask faq DIR QUESTION` is `unmask faq ask …`."""

from typing import Any

from typer.core import TyperGroup


def with_default(verb: str) -> type[TyperGroup]:
    """A group whose words, where they begin with no verb of it, are those of one verb.

    >>> with_default("ask").__name__
    'AskByDefault'
    """

    class ByDefault(TyperGroup):
        def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
            # here and not later: the group has no flags of its own but help, so others are the verb's
            named = args[0] in {*self.commands, *ctx.help_option_names} if args else self.no_args_is_help
            return super().parse_args(ctx, args if named else [verb, *args])

    ByDefault.__name__ = f"{verb.capitalize()}ByDefault"
    return ByDefault
