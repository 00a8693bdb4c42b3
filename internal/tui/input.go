package tui

import (
	"slices"
	"strings"
	"unicode"

	tea "charm.land/bubbletea/v2"

	"leslie/internal/screen"
)

// input is a line to type into. The library that goes with bubbletea has one, too, but it
// looks for the system's clipboard programs whenever any command starts: 24 system calls.
type input struct {
	prompt string
	text   []rune
	at     int // the cursor is in front of this character
}

func (in *input) value() string { return string(in.text) }

func (in *input) set(text string) { in.text, in.at = []rune(text), len([]rune(text)) }

// put inserts a text at the cursor. What a terminal acts on becomes a space.
func (in *input) put(text string) {
	clean := []rune(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text))
	in.text = slices.Insert(in.text, in.at, clean...)
	in.at += len(clean)
}

// complete types a word: the rest of it, if it has been begun.
func (in *input) complete(word string) {
	before := string(in.text[:in.at])
	begun := before[strings.LastIndexAny(before, " =,")+1:]
	switch {
	case word == "":
	case strings.HasPrefix(word, begun):
		in.put(strings.TrimPrefix(word, begun) + " ")
	default:
		in.put(" " + word + " ")
	}
}

// update handles a key or a paste.
func (in *input) update(msg tea.Msg) {
	switch msg := msg.(type) {
	case tea.PasteMsg:
		in.put(msg.Content)
	case tea.KeyPressMsg:
		in.key(msg.String(), msg.Text)
	}
}

func (in *input) key(key, text string) {
	drop := func(from, to int) {
		in.text = slices.Delete(in.text, from, to)
		in.at = from
	}
	switch key {
	case "left", "ctrl+b":
		in.at = max(in.at-1, 0)
	case "right", "ctrl+f":
		in.at = min(in.at+1, len(in.text))
	case "home", "ctrl+a":
		in.at = 0
	case "end", "ctrl+e":
		in.at = len(in.text)
	case "backspace", "ctrl+h":
		drop(max(in.at-1, 0), in.at)
	case "delete", "ctrl+d":
		drop(in.at, min(in.at+1, len(in.text)))
	case "ctrl+u":
		drop(0, in.at)
	case "ctrl+k":
		drop(in.at, len(in.text))
	case "ctrl+w", "alt+backspace":
		from := in.at
		for from > 0 && in.text[from-1] == ' ' {
			from--
		}
		for from > 0 && in.text[from-1] != ' ' {
			from--
		}
		drop(from, in.at)
	default:
		in.put(text)
	}
}

// draw draws the line in at most width cells, with its cursor.
func (in *input) draw(width int) string {
	shown, under, after := in.text[:in.at], " ", ""
	if in.at < len(in.text) {
		under, after = string(in.text[in.at]), string(in.text[in.at+1:])
	}
	room := max(width-screen.Width(in.prompt)-2, 1)
	for screen.Width(string(shown)) > room { // what was typed last stays in sight
		shown = shown[1:]
	}
	before := string(shown)
	after = screen.Cut(after, max(room-screen.Width(before), 0))
	return in.prompt + before + "\x1b[7m" + under + "\x1b[0m" + after
}
