package replica

import (
	"encoding/json"
	"errors"
	"io/fs"
	"strings"

	"leslie/codes"
	"leslie/internal/fact"
	"leslie/store/internal/jsonl"
	"leslie/store/internal/saferoot"
	"leslie/store/internal/state"
)

// File says, in the store's folder, where the log is. It has no secret.
const File = state.RemoteFile

// Dir is the folder of what only this machine knows of the log and of its own copy.
const Dir = "remote"

// Remote says which log a project has.
type Remote struct {
	URL     string `json:"url"` // of one server or several, separated by commas
	Project string `json:"project"`
}

// Read reads which log the project at root has, nil if it has none. Errors: T502
// for a file that cannot be understood, T509.
func Read(root string) (*Remote, error) {
	disk := saferoot.Disk{Project: root}
	data, _, err := saferoot.ReadRegular(disk.Path(File))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	r, faults := Decode(data)
	var d saferoot.Damage
	switch {
	case errors.As(err, &d), err == nil && len(faults) > 0:
		reason := saferoot.Shown(File) + " does not say where the project's log is"
		for _, f := range faults {
			reason += "; " + strings.TrimSpace(f.Field+" "+f.Problem)
		}
		return nil, codes.ParseError.New(fact.Of("reason", reason), fact.Of("path", saferoot.Shown(File)), fact.Of("fields", faults)).
			WithHint(`Write the file again, with what leslie remote status on another machine shows behind "remote": {"url": "nats://HOST:PORT", "project": "proj-..."}`).
			WithNext("leslie help remote")
	case err != nil:
		return nil, disk.ReadFailed(err)
	}
	return &r, nil
}

// Fault is one fault of a file, with its key if it is of one.
type Fault struct {
	Field   string `json:"field,omitempty"`
	Problem string `json:"problem"`
}

// Decode reads File, or says all that is wrong with it.
func Decode(data []byte) (r Remote, faults []Fault) {
	var has map[string]any
	if err := json.Unmarshal(data, &has); err != nil {
		problem := "it is not valid JSON"
		if at := fact.Where(data, err); at != "" {
			problem += " (" + at + ")"
		}
		return r, []Fault{{Problem: problem}}
	}
	text := func(key string) string {
		value, _ := has[key].(string)
		if _, there := has[key]; !there {
			faults = append(faults, Fault{key, "is missing"})
		} else if value == "" {
			faults = append(faults, Fault{key, "must be a text"})
		}
		return value
	}
	return Remote{URL: text("url"), Project: text("project")}, faults
}

// Encode is the content of File.
func (r Remote) Encode() ([]byte, error) {
	data, err := jsonl.Marshal(r)
	return append(data, '\n'), err
}
