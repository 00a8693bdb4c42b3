package app

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"

	"leslie/internal/permit"
)

// This file finds the commands that build and test a project.

// BuildRules returns rules for the commands that usually build and test what is in a folder, as its files show.
func BuildRules(root string) (rules []string) {
	has := func(names ...string) bool {
		return slices.ContainsFunc(names, func(name string) bool { return Exists(filepath.Join(root, name)) })
	}
	bash := func(commands ...string) {
		for _, c := range commands {
			rules = append(rules, permit.Bash+"("+c+")")
		}
	}
	if has("go.mod", "go.work") {
		bash("go build:*", "go test:*", "go vet:*", "gofmt:*")
	}
	if has("Cargo.toml") {
		bash("cargo build:*", "cargo test:*", "cargo check:*", "cargo clippy:*", "cargo fmt:*")
	}
	if scripts := npmScripts(filepath.Join(root, "package.json")); scripts != nil {
		runner := "npm"
		switch {
		case has("pnpm-lock.yaml"):
			runner = "pnpm"
		case has("yarn.lock"):
			runner = "yarn"
		}
		for _, name := range []string{"build", "check", "format", "lint", "test", "typecheck"} {
			if scripts[name] != "" {
				bash(runner + " run " + name + ":*")
			}
		}
		if scripts["test"] != "" {
			bash(runner + " test:*")
		}
	}
	if has("pyproject.toml", "setup.py", "pytest.ini", "tox.ini") {
		bash("pytest:*", "python -m pytest:*", "python3 -m pytest:*")
	}
	if has("pom.xml") {
		bash("mvn test:*", "mvn -q test:*")
	}
	if has("gradlew") {
		bash("./gradlew build:*", "./gradlew test:*")
	}
	for _, target := range makeTargets(filepath.Join(root, "Makefile")) {
		bash(target)
	}
	return rules
}

// npmScripts are the scripts of a package, nil without one.
func npmScripts(path string) map[string]string {
	data, err := os.ReadFile(path)
	var p struct{ Scripts map[string]string }
	if err != nil || json.Unmarshal(data, &p) != nil {
		return nil
	}
	return p.Scripts
}

// makeTargets are the lines that make the usual targets of a Makefile.
func makeTargets(path string) (lines []string) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil
	}
	lines = []string{"make"}
	for _, name := range []string{"build", "check", "fmt", "lint", "test"} {
		if regexp.MustCompile(`(?m)^` + name + `[ \t]*:([^=]|$)`).Match(data) {
			lines = append(lines, "make "+name)
		}
	}
	return lines
}
