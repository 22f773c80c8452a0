package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/parley-mcp/parley/policy/rules"
)

// policyEvery is how often a running host looks at its policy's file.
const policyEvery = 5 * time.Second

// openPolicy reads the policy that --policy names; nil without one: then the
// host's own default holds.
func openPolicy(file string) (*rules.Live, error) {
	if file == "" {
		return nil, nil
	}
	live, err := rules.Open(file)
	if err != nil {
		return nil, policyError(err)
	}
	return live, nil
}

// following returns work with the policy's file followed beside it, at the given
// interval.
func following(live *rules.Live, every time.Duration, log *slog.Logger, work func(context.Context) error) func(context.Context) error {
	if live == nil {
		return work
	}
	return func(ctx context.Context) error {
		watching, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			live.Watch(watching, every, func(now *rules.Rules, err error) { policyNews(log, now, err) })
		}()
		defer func() { stop(); <-ended }()
		return work(ctx)
	}
}

// policyNews says which policy is in force.
func policyNews(log *slog.Logger, now *rules.Rules, err error) {
	if err != nil {
		log.Error("the policy's file cannot be used; the policy from before stays in force", "err", err, "digest", now.Digest())
		return
	}
	calls, questions := now.Len()
	log.Info("policy in force", "digest", now.Digest(), "calls", calls, "questions", questions)
}
