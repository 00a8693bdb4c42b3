// Empty is the floor under every program that Go makes: it does nothing. What
// leslie costs beyond it when it answers nothing is leslie's own.
package main

func main() {}
