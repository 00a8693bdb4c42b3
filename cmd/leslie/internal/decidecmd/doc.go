// Package decidecmd has the commands with which people decide: approvals and questions, and
// how they are asked at the terminal.
package decidecmd
