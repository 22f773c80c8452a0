// Package notify holds one package for each way in which machines tell each
// other that something changed: pgnotify and natsnotify. The way inside of one
// process is [inbox.Local].
//
// What travels are hints. They may be lost, doubled, delayed and reordered, and
// nothing is wrong then: whoever gets one looks into the store, and everybody
// looks now and then without one.
package notify

import _ "github.com/parley-mcp/parley/inbox" // named above
