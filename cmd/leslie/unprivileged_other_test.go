//go:build !unix

package main

func asNobody() { panic("permission bits bind nobody here") }
