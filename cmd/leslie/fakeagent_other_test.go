//go:build windows

package main

func fakeAgent() { panic("the fake agent needs signals") }
