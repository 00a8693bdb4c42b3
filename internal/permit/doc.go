// Package permit decides what an agent may do: a call of a tool is allowed or denied by
// rules, or a person is asked.
//
// A rule names a tool, and after it in parentheses what of it: Bash(git diff:*),
// Edit(./src/**), Read, mcp__github__create_issue, *. Rules that deny come first, then
// those that ask, then those that allow; a call that none of them matches has the
// default. What a rule cannot see, it never allows: a command line with a substitution,
// a subshell or a redirection into a file is asked about unless a rule allows every
// command.
//
// What belongs here: parsing and matching of rules. The package opens no files and
// starts nothing; a caller resolves links, and what an agent does without asking is not
// seen at all.
package permit
