// Package config shows and changes the configuration: the user's own file and the
// project's, and which projects are trusted. Package app reads it.
package config
