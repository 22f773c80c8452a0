package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/packages"

	"github.com/parley-mcp/parley/lint"
	"github.com/parley-mcp/parley/lint/vet"
)

// lintPackages runs the check of Go source over packages, tests included. Each
// file with findings gets a report; without any, the patterns get one.
func lintPackages(ctx context.Context, patterns []string) ([]lint.File, error) {
	pkgs, err := packages.Load(&packages.Config{Context: ctx, Mode: packages.LoadAllSyntax | packages.NeedModule, Tests: true}, patterns...)
	if err != nil {
		return nil, usageError("is this a Go module?", "loading packages: %w", err)
	}
	if len(pkgs) == 0 {
		return nil, usageError("", "no packages match")
	}
	var broken error
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		if len(p.Errors) > 0 && broken == nil {
			e := p.Errors[0]
			broken = usageError("the packages have to exist and compile", "%s", strings.TrimPrefix(e.Error(), "-: "))
		}
	})
	if broken != nil {
		return nil, broken
	}
	graph, err := checker.Analyze([]*analysis.Analyzer{vet.Analyzer}, pkgs, nil)
	if err != nil {
		return nil, err
	}
	reports := map[string]*lint.Report{}
	var failed error
	for _, act := range graph.Roots {
		if act.Err != nil {
			failed = errors.Join(failed, act.Err)
		}
		for _, d := range act.Diagnostics {
			pos := act.Package.Fset.Position(d.Pos)
			name := relative(pos.Filename)
			if reports[name] == nil {
				reports[name] = &lint.Report{Kind: lint.KindSource, Findings: []lint.Finding{}}
			}
			f := lint.NewSourceFinding(d.Category, pos.Line, pos.Column, d.Message)
			// A package and its variant for tests have the same files.
			if !slices.Contains(reports[name].Findings, f) {
				reports[name].Findings = append(reports[name].Findings, f)
			}
		}
	}
	var files []lint.File
	for name, r := range reports {
		slices.SortFunc(r.Findings, func(a, b lint.Finding) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column, cmp.Compare(a.Code, b.Code))
		})
		files = append(files, lint.File{Name: name, Report: r})
	}
	slices.SortFunc(files, func(a, b lint.File) int { return cmp.Compare(a.Name, b.Name) })
	if len(files) == 0 {
		for _, p := range patterns {
			files = append(files, lint.File{Name: p, Report: &lint.Report{Kind: lint.KindSource, Findings: []lint.Finding{}}})
		}
	}
	return files, failed
}
