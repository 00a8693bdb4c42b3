// Package artifacts lists the artifacts of threads, keeps them in checkpoints, and shares them
// between threads by references.
package artifacts
