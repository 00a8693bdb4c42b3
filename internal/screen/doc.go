// Package screen draws what a person sees at a terminal: lines of text that fit a width.
//
// Everything here is a pure function of records, a width, whether there are colours, and
// the time: no terminal, no environment, no clock. So a test can draw it, and every
// interface draws it alike. Whatever it draws is safe to print: characters that a
// terminal would act on are made visible.
package screen
