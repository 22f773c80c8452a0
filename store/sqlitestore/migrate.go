package sqlitestore

import "embed"

// Migrations are numbered from 1 without gaps and only ever added to, so that a
// version and the next one can share a file.
//
//go:embed migrations/*.sql
var migrations embed.FS
