package store

import (
	"context"
)

type Finding struct {
	Code       string `json:"code"`
	Path       string `json:"path"`
	Message    string `json:"message"`
	Repairable bool   `json:"repairable"`
}
type Diagnosis struct {
	Healthy  bool
	Findings []Finding
}
type Repair struct {
	Actions []string
	After   Diagnosis
}

func (s *Store) Diagnose(ctx context.Context) (Diagnosis, error)          { return Diagnosis{Healthy: true}, nil }
func (s *Store) Repair(ctx context.Context, call Call) (Repair, error) { return Repair{}, nil }
