//go:build !unix

package main

import "errors"

// errPlatform is the answer of subcommands that need a data directory of their own:
// its secrets are kept by the owner and mode of a file, its lock by flock. Those
// that need none, such as lint, run everywhere.
var errPlatform = errors.New("parley runs on Linux and macOS")

func lockData(string) (release func(), err error) { return nil, errPlatform }

func inUse(string) (bool, error) { return false, errPlatform }

func waitFile(string) (release func(), err error) { return nil, errPlatform }

func names(string) (int, error) { return 0, errPlatform }

func lockFile(_, _, _, _ string) (release func(), err error) { return nil, errPlatform }
