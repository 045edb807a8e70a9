# SPDX-License-Identifier: Apache-2.0
"""The man page of codec-report, from the same texts as --help."""
import re


def escape(text):
    """Text that troff takes literally."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^([.'])", r"\\&\1", text, flags=re.MULTILINE)


def _option(action):
    names = [f"\\fB{escape(name)}\\fR" for name in action.option_strings]
    head = ", ".join(names) or f"\\fI{escape(action.metavar)}\\fR"
    if action.option_strings and action.nargs != 0:
        word = action.metavar or "|".join(action.choices)
        head += f" \\fI{escape(word)}\\fR"
    return f".TP\n{head}\n{escape(action.help)}\n"


def page(parser, actions, summary, version, sections):
    """The page as text. sections: [(title, text as it is)]."""
    name = parser.prog
    return "".join([
        f'.TH {name.upper()} 1 "" "codec\\-runner {version}" '
        '"User Commands"\n',
        f".SH NAME\n{escape(name)} \\- {escape(summary)}\n",
        f".SH SYNOPSIS\n.B {escape(name)}\n",
        "[\\fIOPTION\\fR]... \\fIRUN\\fR...\n",
        ".SH DESCRIPTION\n",
        "".join(f".PP\n{escape(p.strip())}\n"
                for p in parser.description.split("\n\n")),
        ".SH OPTIONS\n", *[_option(action) for action in actions],
        *[f".SH {title.upper()}\n.PP\n.nf\n{escape(text.rstrip())}\n.fi\n"
          for title, text in sections],
        ".SH SEE ALSO\n",
        ".BR codec\\-runner (1),\n.BR codec\\-feeder (1)\n",
    ])
