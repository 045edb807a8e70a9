/* SPDX-License-Identifier: Apache-2.0 */
/*
 * codec-runner --supervise: a parent that holds the daemon's descriptors.
 */
#ifndef APP_RUNNER_SUPERVISE_H
#define APP_RUNNER_SUPERVISE_H

/**
 * Run the daemon with the options of @argv, and start it again each time that a
 * signal ends it or it misses its watchdog. Returns the exit code of the
 * daemon, 128 + the number of the signal that ended it while it was to end, or
 * 1 after a message. First thing in main().
 */
int supervise(char **argv);

#endif
