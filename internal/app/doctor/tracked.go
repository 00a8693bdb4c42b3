package doctor

import (
	"leslie/internal/app"
	"leslie/internal/app/code"
	"leslie/store"
)

// trackedStore is a finding of doctor.
func trackedStore(c *app.Call) *Finding {
	w, tracked := code.StoreTracked(c)
	if !tracked {
		return nil
	}
	return &Finding{Code: string(w.Code), Path: store.Dir, Message: w.Message + ". " + w.Code.Entry().Hint}
}
