//go:build !linux

package cluster

import "errors"

func makeDisk(string) error   { return errors.New("disks of their own need Linux") }
func mountDisk(string) error  { return errors.New("disks of their own need Linux") }
func cutDisk(string) error    { return errors.New("disks of their own need Linux") }
func removeDisk(string) error { return nil }
