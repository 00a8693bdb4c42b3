//go:build windows

package runs

func fakeAgent() {}
