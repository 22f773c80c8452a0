// Package examples holds whole programs that use Parley as another module would,
// and the test that the guides in docs show exactly their code.
package examples
