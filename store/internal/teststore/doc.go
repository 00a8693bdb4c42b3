// Package teststore has what the tests of the store and of the packages above it share: making a
// store, operations that leave a trace, and looks at what is there. Only tests import it.
package teststore
