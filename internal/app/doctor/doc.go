// Package doctor checks a project and repairs it.
package doctor
