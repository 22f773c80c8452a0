package inbox

import "github.com/parley-mcp/parley/form"

// Schema reads the form of a question of mode form. It errs where the server's
// schema cannot be read: such a question can only be declined or cancelled.
func (q *Question) Schema() (*form.Schema, error) { return schema(q.Params) }
