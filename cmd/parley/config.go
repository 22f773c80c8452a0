package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// configUsage is the help of --config, which every subcommand has.
const configUsage = "YAML `FILE` with a key for each flag"

// maxConfig bounds the configuration file, in bytes.
const maxConfig = 1 << 20

// parse fills fs from the arguments, then from variables PARLEY_FLAG, then from
// the file that --config names: what is set first wins.
func parse(fs *flag.FlagSet, args []string, env *environment) error {
	config := fs.String("config", "", configUsage)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return err
		}
		return usageError("`parley help "+strings.TrimPrefix(fs.Name(), "parley ")+"` lists the flags", "%w", err)
	}
	set := map[string]bool{}
	fs.Visit(func(f *flag.Flag) { set[f.Name] = true })

	var bad error
	fs.VisitAll(func(f *flag.Flag) {
		name := variable(f.Name)
		value, ok := env.lookup(name)
		if !ok || set[f.Name] || bad != nil {
			return
		}
		if err := fs.Set(f.Name, value); err != nil {
			bad = usageError("", "variable %s: %w", name, err)
		}
		set[f.Name] = true
	})
	if bad != nil || *config == "" {
		return bad
	}
	values, err := readConfig(*config)
	if err != nil {
		return err
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if key == "config" || fs.Lookup(key) == nil {
			return usageError("its keys are the flags of `parley help "+strings.TrimPrefix(fs.Name(), "parley ")+"`",
				"%s: there is no setting %q", *config, key)
		}
		if set[key] {
			continue
		}
		if err := fs.Set(key, values[key]); err != nil {
			return usageError("", "%s: %s: %w", *config, key, err)
		}
	}
	return nil
}

// variable is the environment variable of a flag.
func variable(name string) string {
	return "PARLEY_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

func readConfig(path string) (map[string]string, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, usageError("", "reading the configuration: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxConfig+1))
	if err != nil {
		return nil, usageError("", "reading the configuration: %w", err)
	}
	if len(b) > maxConfig {
		return nil, usageError("", "%s is larger than %d bytes", path, maxConfig)
	}
	var doc map[string]yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		return nil, usageError("", "%s: %w", path, err)
	}
	values := map[string]string{}
	for key, node := range doc {
		if node.Kind != yaml.ScalarNode {
			return nil, usageError("", "%s, line %d: %s must be one value", path, node.Line, key)
		}
		values[key] = node.Value
	}
	return values, nil
}

// noArgs refuses words after the flags, which are most often a forgotten "--".
func noArgs(env *environment) error {
	if len(env.args) > 0 {
		return usageError("flags begin with --", "unexpected argument %q", env.args[0])
	}
	return nil
}

var versionCommand = command{
	name: "version", short: "print the version",
	long: "Prints the version of this binary.",
	setup: func(*flag.FlagSet) func(context.Context, *environment) error {
		return func(_ context.Context, env *environment) error {
			_, err := fmt.Fprintln(env.stdout, "parley", version)
			return err
		}
	},
}
