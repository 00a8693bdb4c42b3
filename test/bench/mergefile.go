package main

import (
	"fmt"
	"path/filepath"
)

// This file compares merge-file with git merge-file, on sources of 10,000 lines in
// which each side changed one line in a hundred, or in ten.

const mergeLines = 10_000

func measureMergeFile(b *bench) error {
	git := b.installed("git")
	if git == "" {
		return nil
	}
	t := b.report.table(fmt.Sprintf("merge-file, %s lines", grouped(mergeLines)), "")
	for _, every := range []int{100, 10} {
		files, err := b.sides(every)
		if err != nil {
			return err
		}
		// A conflict would be an error (git's exit status is their number, leslie's is
		// 13), but the sides change different lines.
		got, err := b.alternate(2*b.runs, within,
			fixed("leslie", b.dir, append([]string{b.leslie, "merge-file"}, files...)...),
			fixed("git", b.dir, append([]string{git, "merge-file", "-p", "--diff3"}, files...)...))
		if err != nil {
			return err
		}
		name := fmt.Sprintf("merge-file, 1 line of %d changed", every)
		t.add(name, got["leslie"], "git merge-file", got["git"])
		b.report.target("`"+name[:10]+"`, "+name[12:], got["leslie"].wall().median/got["git"].wall().median, mergeLimit)
	}
	return nil
}

// sides writes the files ours, base and theirs.
func (b *bench) sides(every int) ([]string, error) {
	var files []string
	for side, name := range []string{"ours", "base", "theirs"} {
		file := filepath.Join(b.dir, fmt.Sprintf("%s-%d.txt", name, every))
		err := writeLines(file, mergeLines, func(n int) string {
			switch {
			case side == 0 && n%every == every/4, side == 2 && n%every == every/4+every/2:
				return fmt.Sprintf("\t%s changed this: %d", name, n)
			case n%9 == 0:
				return "}"
			case n%9 == 1:
				return ""
			case n%9 == 2:
				return "\treturn " + words()[n%len(words())]
			}
			return fmt.Sprintf("\tx := call(%d)", n)
		})
		if err != nil {
			return nil, err
		}
		files = append(files, file)
	}
	return files, nil
}
