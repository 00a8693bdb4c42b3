// Package toolcmd has the commands that other programs call: the MCP server and the hooks of
// agents.
package toolcmd
