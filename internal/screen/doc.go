// Package screen draws what a person sees at a terminal: lines of text that fit a width.
//
// It knows no record of leslie's but the words of its statuses: what a thread or a run looks like is
// in cmd/leslie/internal/page and internal/tui.
//
// Everything here is a pure function of records, a width, whether there are colours, and
// the time: no terminal, no environment, no clock. So a test can draw it, and every
// interface draws it alike. Whatever it draws is safe to print: characters that a
// terminal would act on are made visible.
package screen
