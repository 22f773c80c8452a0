package host

import "github.com/parley-mcp/parley/internal/settings"

// A VariableError says that a value of the servers file names a variable that
// is not set, or is not written as ${NAME} or ${NAME:-default}.
type VariableError = settings.VariableError
