package cli

import (
	"slices"
	"strings"

	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
	"leslie/internal/screen"
)

// This file asks a person to choose one of several words.

// Menu is a question with choices.
type Menu struct {
	Question string // "" for none
	Choices  []screen.Choice
	// Also are further words that mean one of the choices.
	Also map[string]string
	// Refuse says why a word that is no choice cannot be one here, "" for a word that
	// means nothing; nil for none.
	Refuse func(word string) string
}

// enoughOfID is how many characters of a thread's id mean it.
const enoughOfID = 3

// Meant returns the words of the choices that an answer could mean: the one that it is,
// otherwise those that it begins.
func (m Menu) Meant(answer string) (words []string) {
	add := func(word string) {
		if !slices.Contains(words, word) {
			words = append(words, word)
		}
	}
	for _, c := range m.Choices {
		if strings.EqualFold(c.Word, answer) || c.Key == answer {
			add(c.Word)
		}
	}
	for _, word := range app.SortedKeys(m.Also) {
		if strings.EqualFold(word, answer) {
			add(m.Also[word])
		}
	}
	if len(words) > 0 || answer == "" {
		return words
	}
	for _, c := range m.Choices {
		enough := !c.ID || len(strings.TrimPrefix(answer, "thread-")) >= enoughOfID
		if enough && strings.HasPrefix(strings.ToLower(c.Word), answer) {
			add(c.Word)
		}
	}
	for _, word := range app.SortedKeys(m.Also) {
		if strings.HasPrefix(strings.ToLower(word), answer) &&
			len(strings.TrimPrefix(answer, "thread-")) >= enoughOfID {
			add(m.Also[word])
		}
	}
	return words
}

// Exactly reports whether an answer is a word or a key. One other letter means nothing: it
// begins words that are choices elsewhere (base, both, back).
func (m Menu) Exactly(answer string) bool {
	return m.Also[answer] != "" || slices.ContainsFunc(m.Choices,
		func(c screen.Choice) bool { return c.Key == answer || strings.EqualFold(c.Word, answer) })
}

// Pick asks until the answer means one of the choices; ok is false as for line. "?"
// explains the choices; an empty line only asks again.
func (p *Prompt) Pick(m Menu) (word string, ok bool) {
	for {
		view := screen.Menu{Question: m.Question, Choices: m.Choices, Width: p.Width, Colours: p.Coloured}
		answer, ok := p.line(strings.Join(view.Draw(), "\n"))
		if !ok {
			return "", false
		}
		words := m.Meant(answer)
		switch {
		case answer == "":
		case answer == "?":
			p.Draw(view.Explain())
		case len(words) == 1 && len(answer) == 1 && !m.Exactly(answer):
			p.Say("'%s' is not enough for %s: other words begin with it, too", answer, words[0])
		case len(words) == 1:
			return words[0], true
		case len(words) > 1:
			p.Say("'%s' could mean %s", answer, strings.Join(words, " or "))
		default:
			why := ""
			if m.Refuse != nil {
				why = m.Refuse(answer)
			}
			if why == "" {
				why = "'" + answer + "' is none of these; ? explains them"
			}
			p.Say("%s", why)
		}
	}
}

// Draw writes lines of a drawing, which are safe to print.
func (p *Prompt) Draw(lines []string) {
	for _, line := range lines {
		p.Say("%s", page.Styled(line))
	}
}
