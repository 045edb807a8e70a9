/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages on a terminal: from the upper left corner, each line cut to the width
 * and cleared to its end, so that nothing flickers or scrolls.
 */
#include "app/ctl/page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cli.h"

enum { COLUMNS = 80, LINES = 24 };

bool ctl_page_size(unsigned *lines, unsigned *columns)
{
	struct winsize w = { 0 };
	bool is = isatty(STDOUT_FILENO) == 1;

	*lines = LINES;
	*columns = COLUMNS;
	if (is && !ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col &&
	    w.ws_row) {
		*lines = w.ws_row;
		*columns = w.ws_col;
	}
	return is;
}

static const char *look_of(char mark)
{
	static const char *const looks[] = { [CTL_HEAD] = "\033[7m",
					     [CTL_BAD] = "\033[31m",
					     [CTL_WARN] = "\033[33m" };
	const char *no_color = getenv("NO_COLOR");

	return no_color && *no_color ? "" : looks[(unsigned)mark];
}

static bool is_mark(char c)
{
	return c >= CTL_HEAD && c <= CTL_WARN;
}

static void to_terminal(const char *text, bool first)
{
	unsigned left, columns;

	(void)ctl_page_size(&left, &columns);
	(void)fputs(first ? "\033[2J\033[H" : "\033[H", stdout);
	while (*text && --left > 0) { /* the last line is the cursor's */
		const char *look = is_mark(*text) ? look_of(*text++) : "";
		int n = (int)strcspn(text, "\n");

		(void)printf("%s%.*s%s\033[K\n", look,
			     n < (int)columns ? n : (int)columns, text,
			     *look ? "\033[0m" : "");
		text += n;
		text += *text == '\n';
	}
	(void)fputs("\033[J", stdout);
}

static void to_file(const char *text, bool first)
{
	if (!first)
		(void)fputc('\n', stdout);
	for (; *text; text++)
		if (!is_mark(*text))
			(void)fputc(*text, stdout);
}

int ctl_page(const char *text, bool first)
{
	if (isatty(STDOUT_FILENO))
		to_terminal(text, first);
	else
		to_file(text, first);
	return cli_written();
}
