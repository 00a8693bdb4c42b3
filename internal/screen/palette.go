package screen

// The colours of a terminal, as parameters of SGR. They are of the part of the table of 256
// colours that is the same everywhere: the first sixteen are every terminal's own, and as
// terminals come, green and cyan on white have a contrast of 2.0 to 3.4, red on black 2.4 to
// 3.6. Dim, as an attribute, is between hardly different and hardly readable. These five are
// those of the fixed ones with a contrast of 4.5 (WCAG AA for text) on white and on black as
// well, so that nothing depends on the background, which most terminals do not tell.
const (
	SGRRed     = "38;5;131"
	SGRGreen   = "38;5;29"
	SGRMagenta = "38;5;163"
	SGRBlue    = "38;5;63"
	SGRGrey    = "38;5;243"
)
