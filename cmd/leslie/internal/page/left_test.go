package page_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"leslie/cmd/leslie/internal/page"
	"leslie/internal/app"
)

func TestWhatIsLeftHereIsSaidWithTheLineThatHandsItOn(t *testing.T) {
	t.Parallel()
	left := app.CodeLeft{ThreadID: "health", Branch: "leslie/health", Machine: "tower-1", Worktree: "/w"}
	for want, change := range map[string]func(*app.CodeLeft){
		"1 commit on leslie/health, which tower-1 does not have (leslie publish health)":                                               func(l *app.CodeLeft) { l.Commits = 1 },
		"2 files not committed in /w, which tower-1 does not have (commit there, then leslie publish health)":                          func(l *app.CodeLeft) { l.Files = 2 },
		"2 files not committed in /w, which tower-1 does not have (leslie code setup health makes it the thread's, then commit there)": func(l *app.CodeLeft) { l.Files, l.Free = 2, true },
		"1 commit on leslie/health and 1 file not committed in /w, which tower-1 does not have (commit there, then leslie publish health)": func(l *app.CodeLeft) {
			l.Commits, l.Files, l.Free = 1, 1, true
		},
		"1 commit on leslie/health, which tower-1 has beside its branch (there: leslie status health, then git merge leslie/machines/x/leslie/health in its worktree)": func(l *app.CodeLeft) {
			l.Commits, l.Beside = 1, "leslie/machines/x/leslie/health"
		},
		"1 commit on leslie/health, which tower-1 has beside its branch, and 1 file not committed in /w (commit there, then leslie publish health; there: leslie status health, then git merge leslie/machines/x/leslie/health in its worktree)": func(l *app.CodeLeft) {
			l.Commits, l.Files, l.Beside = 1, 1, "leslie/machines/x/leslie/health"
		},
		"1 commit on leslie/health, which did not land (git merge leslie/health, on main)": func(l *app.CodeLeft) { l.Commits, l.LandedOn = 1, "main" },
		"1 commit on leslie/health, and whether it landed shows once main here has the landing (git pull, once it is pushed)": func(l *app.CodeLeft) {
			l.Commits, l.LandedOn, l.Unpulled = 1, "main", true
		},
		"1 commit on leslie/health, which tower-1 does not have (git push origin leslie/health; code.travel is off)": func(l *app.CodeLeft) { l.Commits, l.Stays = 1, true },
	} {
		l := left
		change(&l)
		assert.Equal(t, want, page.LeftText(l, l.Worktree))
	}
}
