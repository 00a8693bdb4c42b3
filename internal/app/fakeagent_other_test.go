//go:build windows

package app

func fakeAgent() {}
