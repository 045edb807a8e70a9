/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages on a terminal: from the upper left corner, each line cut to the width
 * and cleared to its end, so that nothing flickers or scrolls.
 */
#include "app/ctl/page.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { COLUMNS = 80, LINES = 24 };

static void to_terminal(const char *text, bool first)
{
	struct winsize w = { 0 };
	int columns = COLUMNS, left = LINES;

	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) && w.ws_col && w.ws_row) {
		columns = w.ws_col;
		left = w.ws_row;
	}
	(void)fputs(first ? "\033[2J\033[H" : "\033[H", stdout);
	while (*text && --left > 0) { /* the last line is the cursor's */
		int n = (int)strcspn(text, "\n");

		(void)printf("%.*s\033[K\n", n < columns ? n : columns, text);
		text += n;
		text += *text == '\n';
	}
	(void)fputs("\033[J", stdout);
}

int ctl_page(const char *text, bool first)
{
	if (isatty(STDOUT_FILENO))
		to_terminal(text, first);
	else
		(void)printf("%s%s", first ? "" : "\n", text);
	return fflush(stdout) || ferror(stdout) ? -errno : 0;
}
