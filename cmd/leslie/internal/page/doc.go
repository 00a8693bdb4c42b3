// Package page has what text answers are made of: lines, fields, tables and the text form of
// records that several commands show. What comes from outside is escaped, so that no title
// and no content can move a cursor, forge a line or speak with the terminal.
//
// How a table or a text fits a width is in internal/screen; here are the forms of leslie's records.
package page
