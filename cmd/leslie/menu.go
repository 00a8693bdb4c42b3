package main

import (
	"slices"
	"strings"

	"leslie/internal/screen"
)

// This file asks a person to choose one of several words.

// menu is a question with choices.
type menu struct {
	question string // "" for none
	choices  []screen.Choice
	// also are further words that mean one of the choices.
	also map[string]string
	// refuse says why a word that is no choice cannot be one here, "" for a word that
	// means nothing; nil for none.
	refuse func(word string) string
}

// enoughOfID is how many characters of a thread's id mean it.
const enoughOfID = 3

// meant returns the words of the choices that an answer could mean: the one that it is,
// otherwise those that it begins.
func (m menu) meant(answer string) (words []string) {
	add := func(word string) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, c := range m.choices {
		if strings.EqualFold(c.Word, answer) || c.Key == answer {
			add(c.Word)
		}
	}
	for _, word := range sortedKeys(m.also) {
		if strings.EqualFold(word, answer) {
			add(m.also[word])
		}
	}
	if len(words) > 0 || answer == "" {
		return words
	}
	for _, c := range m.choices {
		enough := !c.ID || len(strings.TrimPrefix(answer, "thread-")) >= enoughOfID
		if enough && strings.HasPrefix(strings.ToLower(c.Word), answer) {
			add(c.Word)
		}
	}
	for _, word := range sortedKeys(m.also) {
		if strings.HasPrefix(strings.ToLower(word), answer) && len(strings.TrimPrefix(answer, "thread-")) >= enoughOfID {
			add(m.also[word])
		}
	}
	return words
}

// exactly reports whether an answer is a word or a key. One other letter means nothing: it
// begins words that are choices elsewhere (base, both, back).
func (m menu) exactly(answer string) bool {
	return m.also[answer] != "" || slices.ContainsFunc(m.choices, func(c screen.Choice) bool { return c.Key == answer || strings.EqualFold(c.Word, answer) })
}

// pick asks until the answer means one of the choices; ok is false as for line. "?"
// explains the choices; an empty line only asks again.
func (p *prompt) pick(m menu) (word string, ok bool) {
	view := screen.Menu{Question: m.question, Choices: m.choices, Width: p.width, Colours: p.coloured}
	for {
		answer, ok := p.line(strings.Join(view.Draw(), "\n"))
		if !ok {
			return "", false
		}
		words := m.meant(answer)
		switch {
		case answer == "":
		case answer == "?":
			p.draw(view.Explain())
		case len(words) == 1 && len(answer) == 1 && !m.exactly(answer):
			p.say("'%s' is not enough for %s: other words begin with it, too", answer, words[0])
		case len(words) == 1:
			return words[0], true
		case len(words) > 1:
			p.say("'%s' could mean %s", answer, strings.Join(words, " or "))
		default:
			why := ""
			if m.refuse != nil {
				why = m.refuse(answer)
			}
			if why == "" {
				why = "'" + answer + "' is none of these; ? explains them"
			}
			p.say("%s", why)
		}
	}
}

// draw writes lines of a drawing, which are safe to print.
func (p *prompt) draw(lines []string) {
	for _, line := range lines {
		p.say("%s", styled(line))
	}
}
