// Package screencmd has leslie tui, the screen that a person keeps open.
package screencmd
