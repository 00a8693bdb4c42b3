//go:build unix

package lab

import (
	"os"
	"strings"
)

// Healthy runs doctor, and returns what it finds, or "".
func (p *Project) Healthy() string {
	var data struct{ Healthy bool }
	o := p.Call("doctor")
	if o.Into(&data); !o.OK() || !data.Healthy {
		return "doctor: " + o.Text()
	}
	return ""
}

// Leftovers returns the temporary files in a store's folder.
func Leftovers(folder string) (problems []string) {
	entries, err := os.ReadDir(folder)
	if err != nil {
		return []string{err.Error()}
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") || strings.HasPrefix(e.Name(), ".thread_relations") || strings.Contains(e.Name(), "set-aside") {
			problems = append(problems, e.Name()+" is left in the store's folder")
		}
	}
	staging, _ := os.ReadDir(folder + "/tmp") // it need not exist
	for _, e := range staging {
		problems = append(problems, "tmp/"+e.Name()+" is left")
	}
	return problems
}
