package vault

// GrantID is the id of a grant, which grants nothing.
type GrantID string
